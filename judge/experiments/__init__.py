"""Experiments: a matrix of candidates, data sets, sections, rubrics and judges, as one file."""
