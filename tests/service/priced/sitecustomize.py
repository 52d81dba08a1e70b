"""Gives every server GPT-4o's price in each process that has this folder in its path."""

from judge.running.cost import Prices

_dollars = Prices.dollars


def _as_gpt_4o(self, usage):
    self.model, self.base_url = "gpt-4o", "https://api.openai.com/v1"
    return _dollars(self, usage)


Prices.dollars = _as_gpt_4o
