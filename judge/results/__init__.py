"""Results in Python: what is computed below, as objects that print themselves."""
