"""Sets of studies: pure functions of additive per-study counts.

A set is the table of studies, a DataFrame with one row a study (`table`); everything
about it (`table.summarise`) is computed from its columns alone, so no judge is asked again.
"""
