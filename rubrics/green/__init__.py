"""GREEN."""
