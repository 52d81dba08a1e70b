"""Candidates made out of references, with a known truth for each: how a judge is put to the test.

No code that compares reports is used here. The words of findings are data of its own
(`vocabulary.yaml`), many of which the built-in judge knows too.
"""
