"""Judges against readers: what a judge's numbers are worth."""
