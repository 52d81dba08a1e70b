"""A comparison as a page: the leaderboard, the tests, and the studies behind every cell.

`wanted` says which studies' records to fetch, `page` makes the file of them; `page_data`
gives the same data in pieces, for a server.
"""

from __future__ import annotations

from judge.report.compare_page.choice import MOST_RECORDS, wanted
from judge.report.compare_page.figure import PageFigure
from judge.report.compare_page.file import page, page_data

__all__ = ["MOST_RECORDS", "PageFigure", "page", "page_data", "wanted"]
