"""Judges beside readers as a page: the tables, every count, and the studies behind."""
