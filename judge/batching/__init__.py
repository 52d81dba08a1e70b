"""Questions asked in batches: a day's patience for half the price.

What a provider's batches look like is in `openai_form` alone. `ledger` remembers what was asked
in which batch, so that nothing is asked twice whatever happens to the process.
"""

MOST_REQUESTS = 50_000
"""The most questions that OpenAI takes in a batch."""
