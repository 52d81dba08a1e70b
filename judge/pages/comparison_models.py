"""The data of a comparison's page: each figure with its text, and every order of models."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from judge.pages.models import ListColumn, PageModel, PrintedTable
from judge.pages.study import Findings


class TextSteps(PageModel):
    """The texts of the numbers of a range.

    A number is written as the text whose place is that of the largest of `starts` that is not
    above it.
    """

    starts: list[float]
    texts: list[str]


class ComparedMetric(PageModel):
    """A column of the leaderboard.

    `heading` stands above it, and `direction` says which of its figures are better, with `arrow` as
    its sign; models that it ranks are in this `order` of their figures. `study_label` names the
    value of a study. Of two values of a study the larger is better where `sign` is 1, the smaller
    where it is -1; `ahead` writes by how much. `marks` is the place of the rubric whose errors are
    marked in the reports, null for none.
    """

    name: str
    label: str
    heading: str
    direction: str
    arrow: str
    order: Literal["ascending", "descending"]
    study_label: str
    rubric: int | None
    sign: int
    ahead: TextSteps
    marks: int | None


class ComparedRubric(PageModel):
    """A rubric of the comparison: its name, and its title where there are several."""

    name: str
    title: str
    metrics: list[int] = Field(
        description="The metrics whose values are shown beside a study's errors, by their places."
    )


class ComparedRun(PageModel):
    """A run of the comparison, and the places of its model and its rubric."""

    run: str
    model: int
    rubric: int


class GroupHead(PageModel):
    """A group of studies: its name, and the name with the number of its studies.

    `orders` has for each metric the models by rank, the best first.
    """

    name: str
    label: str
    orders: list[list[int]]


class ComparisonWords(PageModel):
    """What the page says of two models, A and B."""

    alone: str = Field(description="The choice of no model B.")
    ahead: str
    equal: str
    behind: str
    scored: str
    not_scored: str
    state: str = Field(description="The name of the filter by these.")
    ahead_by: str = Field(description="The heading of the differences.")
    biggest_first: str
    best_first: str
    missing: str = Field(description="What stands in the place of a value.")
    no_reports: str = Field(description="Why a study has no reports in a file.")
    is_here: str = Field(description="The name of the filter by what a file holds.")
    yes: str
    no: str
    open_run: str


class ComparisonOverview(PageModel):
    """A comparison without its groups and its studies.

    `ranked_by` is the place of the metric that models are ranked by at first. `footer` says which
    reports a file holds; it is empty where it holds all.
    """

    title: str
    notes: list[str]
    signature: str
    footer: str
    models: list[str]
    runs: list[ComparedRun]
    metrics: list[ComparedMetric]
    ranked_by: int
    groups: list[GroupHead]
    rubrics: list[ComparedRubric]
    correlations: list[PrintedTable]
    about_correlations: str
    words: ComparisonWords


class BoardCell(PageModel):
    """A model's figure; `label` says all of it, `n` on how many studies it rests if not on all."""

    text: str
    interval: str
    n: str
    label: str
    is_scored: bool


class BoardRow(PageModel):
    """A row of the leaderboard: a model's place, its rank and the interval of that.

    `differs` says that the model differs significantly from the next; else it is empty.
    """

    model: int
    rank: str
    interval: str
    differs: str


class GroupRanking(PageModel):
    """The models ranked by a metric, and the tests of each model against the others.

    `tests` has a table for each model, in the order of the models; null without tests.
    """

    rows: list[BoardRow]
    tests: list[PrintedTable | None]


class ComparisonGroup(PageModel):
    """A group of studies, such as all, or those of a class.

    `rows` are its studies by their places in the list of studies. `cells` has for each metric the
    figures of the models, `rankings` for each metric the models by rank. `about` explains the
    leaderboard, `about_tests` how was tested, `no_tests` why a model has no test, and
    `about_errors` the tables of errors.
    """

    name: str
    rows: list[int]
    has_intervals: bool = Field(description="Whether ranks have intervals.")
    cells: list[list[BoardCell]]
    rankings: list[GroupRanking]
    errors: list[PrintedTable]
    about: str
    about_tests: str
    no_tests: str
    about_errors: str


class ComparedStudies(PageModel):
    """The studies of a comparison, in columns of ids and of fields.

    `filters` are the fields with few enough values to choose from. `packets` has for each study the
    number of the packet that holds its reports in a file, -1 for none; null in the service.
    """

    study_id: list[str]
    fields: list[ListColumn]
    filters: list[str]
    packets: list[int] | None


class ModelValues(PageModel):
    """The value of each study by each metric, for one model."""

    columns: list[ListColumn]


class ComparedFindings(PageModel):
    """What was said of one model's report of a study, by one rubric."""

    model: int
    rubric: int
    findings: Findings


class ComparedStudy(PageModel):
    """The reports of a study, and what was said of them, by model and rubric."""

    studies: list[ComparedFindings]


class ComparedPacket(PageModel):
    """The reports of some studies; `rows` are their places in the list of studies."""

    rows: list[int]
    studies: list[ComparedStudy]


class FigureText(PageModel):
    """The title of a drawn figure, and what it shows."""

    title: str
    caption: str


class DrawnFigureTexts(PageModel):
    """The figures of a comparison, in order; `missing` says why there are none."""

    figures: list[FigureText]
    missing: str
