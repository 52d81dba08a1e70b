"""Figures of a comparison or a validation, as Vega-Lite (extra `figures`).

`comparison` and `validation` choose the rows, `specs` draws them, `files` writes them.
"""
