"""What radiologists wrote about reports, read from files as they are published, as runs."""
