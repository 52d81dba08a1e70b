"""One study as people see it: both reports with their marks, and what the judge wrote down."""
