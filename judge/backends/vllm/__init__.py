"""Models that vLLM serves: a server of our own, kept for as long as a run needs it."""
