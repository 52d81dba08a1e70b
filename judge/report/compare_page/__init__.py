"""A comparison as a page: the leaderboard, the tests, and the studies behind every number."""

from judge.report.page import FRONTEND

__all__ = ["FRONTEND"]
