"""The built-in judge."""
