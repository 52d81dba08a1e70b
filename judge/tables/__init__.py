"""Tables of results: on a terminal, as Markdown, LaTeX, CSV and JSON."""
