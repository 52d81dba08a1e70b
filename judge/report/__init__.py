"""How a summary and a study look: on a terminal, in Markdown, as CSV."""
