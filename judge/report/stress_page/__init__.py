"""A stress test as a page: the tables, and each pair with what was changed in it."""
