"""Questions asked in batches: a day's patience for half the price."""

MOST_REQUESTS = 50_000
"""The most questions that OpenAI takes in a batch."""
