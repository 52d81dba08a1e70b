"""Cache."""
