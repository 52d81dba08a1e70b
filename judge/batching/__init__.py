"""Questions asked in batches: a day's patience for half the price."""
