"""A run: every study of a set judged, read, scored and written down."""
