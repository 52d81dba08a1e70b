"""From an old judge to a new one: a part of the studies judged again, the rest restated."""
