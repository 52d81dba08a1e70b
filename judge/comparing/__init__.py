"""Comparisons of the runs of several models on the same studies."""
