"""Gives every server GPT-4o's price, in each process that has this folder in its path.

No server on this machine has a price: what a budget does could not be seen otherwise.
"""

from judge.backends.connection import OPENAI_URL
from judge.running.progress import Prices

_dollars = Prices.dollars


def _as_gpt_4o(self, usage):
    self.model, self.base_url = "gpt-4o", OPENAI_URL
    return _dollars(self, usage)


Prices.dollars = _as_gpt_4o
