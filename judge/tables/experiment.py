"""The tables of an experiment: the price of each judge, and its leaderboards together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from judge.experiments.execution import JudgeForecast
from judge.experiments.leaderboards import ExperimentBoard
from judge.tables.comparison import as_data, comparison_document
from judge.tables.comparison import board as models_table
from judge.tables.document import Cell, Column, Document, Table
from judge.tables.kinds import Kind
from judge.text import counted

_UNKNOWN = "unknown"
_NAMES = (Column("data"), Column("section"), Column("judge"))


def price_document(
    forecasts: Sequence[JudgeForecast], *, n_finished: int, notes: Iterable[str] = ()
) -> Document:
    """Return what each judge would be asked, and the typical and the highest price."""
    columns = [
        Column("judge"),
        Column("runs", kind=Kind.COUNT),
        Column("studies", kind=Kind.COUNT),
        Column("requests", kind=Kind.COUNT),
        Column("cached", kind=Kind.COUNT),
        Column("typical"),
        Column("worst"),
    ]
    rows = [_price_row(forecast) for forecast in forecasts]
    if len(forecasts) > 1:
        rows.append(_price_row(_all_judges(forecasts)))
    facts = [("finished runs", f"{n_finished:,}")]
    n_runs = sum(forecast.n_runs for forecast in forecasts)
    facts.append(("runs to judge", f"{n_runs:,}"))
    for forecast in forecasts:
        for part in forecast.parts:
            if part.examples:
                facts.append(("examples", f"{forecast.judge}: {part.examples}"))
    note = (
        "requests that the cache does not answer; typical: answers as long as the newest in the "
        "cache, or as the built-in judge's to the example studies; worst: each answer at full "
        "length, and asked again"
    )
    further = sum(forecast.further for forecast in forecasts)
    if further:
        note += (
            f"; at most {further:,} further requests depend on the answers, and are in no number "
            "above"
        )
    table = Table("price", "What would be asked", columns, rows, note)
    return Document(facts=facts, notes=tuple(notes), tables=[table])


def price_sentence(forecast: JudgeForecast) -> str:
    """Return what a judge will be asked and what that may cost, as a sentence."""
    runs = counted(forecast.n_runs, "run", "runs")
    studies = counted(forecast.n_studies, "study", "studies")
    text = f"{forecast.judge}: {runs}, {studies}"
    if not forecast.parts:
        return f"{text}; it answers in this process, without requests"
    requests = counted(forecast.requests, "request", "requests")
    return (
        f"{text}, {requests} ({forecast.cached:,} cached), typical cost "
        f"{dollars(forecast.typical_dollars)}, worst {dollars(forecast.worst_dollars)}"
    )


def dollars(value: float | None) -> str:
    """Return US dollars as they are printed."""
    if value is None:
        return _UNKNOWN
    return f"${value:,.2f}"


def _price_row(forecast: JudgeForecast) -> tuple[Cell, ...]:
    typical = "free"
    worst = "free"
    if forecast.parts:
        typical = dollars(forecast.typical_dollars)
        worst = dollars(forecast.worst_dollars)
    return (
        forecast.judge,
        forecast.n_runs,
        forecast.n_studies,
        forecast.requests,
        forecast.cached,
        typical,
        worst,
    )


def _all_judges(forecasts: Sequence[JudgeForecast]) -> JudgeForecast:
    together = JudgeForecast(judge="all judges")
    for forecast in forecasts:
        together.n_runs += forecast.n_runs
        together.n_studies += forecast.n_studies
        together.parts += forecast.parts
    return together


def prices_as_data(forecasts: Iterable[JudgeForecast]) -> list[dict[str, Any]]:
    """Return the prices as JSON's types; dollars are null where they are unknown."""
    return [
        {
            "judge": forecast.judge,
            "n_runs": forecast.n_runs,
            "n_studies": forecast.n_studies,
            "requests": forecast.requests,
            "cached": forecast.cached,
            "further": forecast.further,
            "typical_dollars": forecast.typical_dollars,
            "worst_dollars": forecast.worst_dollars,
        }
        for forecast in forecasts
    ]


def board_document(board: ExperimentBoard) -> Document:
    """Return a leaderboard as it is printed; its first facts say what it is of."""
    document = comparison_document(board.comparison, board.compared)
    facts = [("judge", board.judge)]
    if board.data:
        facts.insert(0, ("data set", board.data))
    return replace(
        document,
        title=f"{document.title}: {board.title}",
        facts=(*facts, *document.facts),
    )


def boards_as_data(boards: Iterable[ExperimentBoard]) -> list[dict[str, Any]]:
    """Return leaderboards as JSON's types: each as of `judge compare`, and what it is of."""
    data = []
    for board in boards:
        runs = [run.described() for run in board.compared.runs]
        data.append(
            {
                "data": board.data,
                "section": board.section,
                "judge": board.judge,
                **as_data(board.comparison, runs),
            }
        )
    return data


def models_document(boards: Sequence[ExperimentBoard]) -> Document:
    """Return the models of all leaderboards, best first, as one table where that can be."""
    tables: dict[tuple[Column, ...], Table] = {}
    for board in boards:
        comparison = board.comparison
        table = models_table(comparison, 0, comparison.panel.metrics)
        known = tables.setdefault(tuple(table.columns), replace(table, rows=[]))
        rows = [(*_names(board), *row) for row in table.rows]
        tables[tuple(table.columns)] = replace(known, rows=[*known.rows, *rows])
    shown = [
        replace(
            table,
            title="Leaderboards of all studies",
            columns=[*_NAMES, *columns],
        )
        for columns, table in tables.items()
    ]
    signatures = [(board.title, board.comparison.signature) for board in boards]
    return Document(title="Experiment", tables=shown, signatures=tuple(signatures))


def boards_document(boards: Sequence[ExperimentBoard]) -> Document:
    """Return all tables of all leaderboards, for CSV and DataFrames.

    The first columns of each say what its rows are of, the last is the comparison's signature.
    """
    tables: list[Table] = []
    notes: dict[str, None] = {}
    for board in boards:
        document = comparison_document(board.comparison, board.compared, complete=True)
        tables += [_named(table, board) for table in document.tables]
        notes |= dict.fromkeys(document.notes)
    return Document(title="Leaderboards", notes=tuple(notes), tables=tables)


def _named(table: Table, board: ExperimentBoard) -> Table:
    columns = [*_NAMES, *table.columns, Column("signature")]
    signature = board.comparison.signature
    rows = [(*_names(board), *row, signature) for row in table.rows]
    return replace(table, columns=columns, rows=rows)


def _names(board: ExperimentBoard) -> tuple[str, str, str]:
    return (board.data, board.section, board.judge)
