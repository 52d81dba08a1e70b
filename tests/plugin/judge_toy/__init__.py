"""A toy rubric, judge and metric for `judge`."""
