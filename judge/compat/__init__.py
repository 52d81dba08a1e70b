"""Stands in for other packages: their calls, this program's judges."""
