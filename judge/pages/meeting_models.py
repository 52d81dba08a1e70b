"""The data of the screen for a meeting: a model a row, all that is read as a text."""

from __future__ import annotations

from pydantic import Field

from judge.pages.models import BarPart, LegendEntry, PageModel


class MeetingRate(PageModel):
    """A model's rate for a group of studies: its text, and the ends of its interval as shares.

    `n` says of how many scored studies. `value` is null where no study of the group was scored.
    """

    group: str
    text: str
    interval: str
    n: str
    value: float | None
    low: float | None
    high: float | None


class MeetingErrors(PageModel):
    """A model's errors of a category: a bar of levels, and in words all that it shows.

    `texts` are the errors per study of the grave levels, where there are such, and of all. The
    parts are shares of the largest number of errors per study on the screen.
    """

    texts: list[str]
    title: str
    parts: list[BarPart]


class FrequentError(PageModel):
    """A kind of error that many studies have, with one of them and the address of that.

    `text` has the short name of the category, `title` all of it.
    """

    text: str
    title: str
    share: str
    interval: str
    study_id: str
    address: str


class MeetingRow(PageModel):
    """A model; `errors` has an entry for each category, then that of all errors."""

    model: str
    rank: str
    score: str
    interval: str
    n_scored: str
    rates: list[MeetingRate]
    errors: list[MeetingErrors]
    frequent: list[FrequentError]
    no_frequent: str = Field(
        description="Why there are no frequent errors; else empty."
    )


class MeetingCategory(PageModel):
    """A column of errors: its short name above it, and what that means."""

    short: str
    title: str


class MeetingRubric(PageModel):
    """The models by one rubric.

    `n_lines` is about how many lines it takes with all texts beside it, for print on one page.
    """

    name: str
    title: str
    caption: str
    rank_heading: str
    rates_heading: str
    errors_heading: str
    frequent_heading: str
    categories: list[MeetingCategory]
    legend: list[LegendEntry]
    rows: list[MeetingRow]
    about: list[str]
    n_lines: int


class Meeting(PageModel):
    """The screen: by each rubric, that of the ranking first."""

    title: str
    facts: str
    back: str
    print: str
    choice: str
    rubrics: list[MeetingRubric]
    missing: str = Field(description="Why there is no rubric; else empty.")
