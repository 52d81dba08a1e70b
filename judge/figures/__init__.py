"""Figures of a comparison, a validation or a stress test, as Vega-Lite (extra `figures`).

`comparison` and `judges` choose the rows, `specs` draws them, `files` writes them.
"""
