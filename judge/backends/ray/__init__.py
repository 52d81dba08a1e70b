"""Models that vLLM serves on the nodes of a Ray cluster, one replica of the model an actor."""
