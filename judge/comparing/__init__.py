"""Runs of several models side by side: what they must share, and what is computed of them."""
