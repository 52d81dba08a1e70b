"""A monitor of drafts and signed reports: the feed, its runs, control charts, alarms."""
