"""The page of a run: what it shows first, the columns of its list, and its studies in packets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge import prompts
from judge.files import write_html
from judge.pages.bundle import MARK, PACKET, as_json, page_file
from judge.pages.models import (
    MISSING,
    NO_CLASS,
    STUDIES,
    Bar,
    BarPart,
    Bars,
    Choice,
    Fact,
    ItemCounts,
    LegendEntry,
    ListColumn,
    ListFilter,
    PageModel,
    PrintedTable,
    ShownCode,
    StudyList,
    Tile,
    Value,
    facts_of,
    interval_ends,
    list_column,
    range_filters,
    value_filter,
)
from judge.pages.study import AskedMessage, AskedQuestion, run_study
from judge.prompts import STRUCTURED, TEXT, official
from judge.prompts.shots import for_modality
from judge.rubrics.contract import Facet, Measure, Rubric, Tally, Tone
from judge.rubrics.questions import split_answers
from judge.run_files.summary import RunSummary
from judge.running.folder import RunFolder
from judge.running.records import study_of
from judge.stats.statistic import Statistic
from judge.stats.summary import FIXED, codes, estimate_of, fields_of, worst_order
from judge.studies.study_set import JudgeContext
from judge.study.view import cell, measure_text, search_text
from judge.tables.kinds import Kind, figure_kind, printed
from judge.tables.run import run_document
from judge.text import NOTHING, capital, group_value
from judge.types import JudgeError, Message, UnparsedError

if TYPE_CHECKING:
    import pandas as pd

    from judge.prompts import Prompt

# So many fields of values this short are in the list of studies.
_FEW_FIELDS, _SHORT = 3, 40


def page(run: RunFolder) -> Iterator[str]:
    """Yield the page of `run` as one file; raises ValueError where its table does not fit."""
    document = run_document(run.summary(), run.rubric)
    return page_file("run", document.title, _pieces(run))


def _pieces(run: RunFolder) -> Iterator[tuple[str, bytes]]:
    table = run.table()
    questions_of = AskedQuestions(run)
    yield "overview", as_json(overview(run))
    yield "studies", as_json(study_list(table, run.rubric))
    # The records of a large run do not fit into memory together.
    records = iter(run.records())
    packet = list(islice(records, PACKET))
    number = 0
    n_written = 0
    while packet:
        studies = [run_study(record, run.rubric) for record in packet]
        yield f"packet-{number}", as_json(studies)
        # Apart from the studies: a search unpacks the texts of all of them.
        texts = [search_text(record) for record in packet]
        yield f"search-{number}", as_json(texts)
        if run.manifest.prompts:
            asked = [questions_of.about(record) for record in packet]
            yield f"asked-{number}", as_json(asked)
        number += 1
        n_written += len(packet)
        packet = list(islice(records, PACKET))
    if n_written != len(table):
        raise ValueError(f"{n_written} records for a table of {len(table)} studies")


class AskedQuestions:
    """The messages of a run's first question about each study, or why they are `missing`."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._prompts: dict[str, Prompt] = {}
        self.missing = ""
        if run.combined is not None:
            self.missing = "This run has no prompt of its own."
            return
        if not run.manifest.prompts:
            self.missing = "The judge was asked with no prompt."
        settings = run.manifest.settings
        given = str(settings.prompt if settings else None)
        for asked in run.manifest.prompts:
            prompt = _prompt_with(asked.digest, (asked.name, given), run)
            if prompt is not None:
                self._prompts[prompt.asks] = prompt
            else:
                self.missing = (
                    f"The prompt {asked} is not here: the run keeps its digest only."
                )

    def about(self, record: Mapping[str, Any]) -> AskedQuestion:
        """Return the messages about the study of a record."""
        if self.missing:
            return AskedQuestion(messages=[], missing=self.missing)
        messages = []
        try:
            for step, asked in self._asked(record):
                for message in asked:
                    name = ": ".join(filter(None, (step, message.role)))
                    messages.append(AskedMessage(name=name, text=message.content))
        except (JudgeError, UnparsedError, KeyError) as error:
            why = f"The question cannot be made again: {error}."
            return AskedQuestion(messages=[], missing=why)
        return AskedQuestion(messages=messages, missing="")

    def _asked(
        self, record: Mapping[str, Any]
    ) -> Iterator[tuple[str, Sequence[Message]]]:
        # With the context and the prior report that the judge was shown.
        study = study_of(record)
        manifest = self._run.manifest
        shown = JudgeContext(manifest.shown_context, manifest.shown_prior)
        context = shown.read(study.fields)
        study = replace(study, context=context["context"], prior=context["prior"])
        steps = self._run.rubric.steps
        if steps is None:
            (prompt,) = self._prompts.values()
            yield "", prompt.about(study)
            return
        answers = {}
        if record["answer"]:
            answers = split_answers(record["answer"]["text"])
        known: dict[str, str] = {}
        coming = steps.coming(study, known)
        while coming:
            for step in coming:
                yield step.name, self._prompts[step.asks].about(step.study)
            # Later questions are about these answers: without one there are none.
            if any(step.name not in answers for step in coming):
                return
            known |= {step.name: answers[step.name] for step in coming}
            coming = steps.coming(study, known)


def _prompt_with(digest: str, sources: Iterable[str], run: RunFolder) -> Prompt | None:
    """Return the prompt of a digest, from the first of the sources that has it.

    A run that names a modality was asked with its examples.
    """
    built_in = (*prompts.names(), *official.recipes())
    for source in sources:
        # The run may come from elsewhere: a pipe that it names is not waited for. A folder
        # that has a built-in prompt's name does not hide the prompt.
        is_no_file = os.path.lexists(source) and not os.path.isfile(source)  # noqa: PTH113
        if is_no_file and source not in built_in:
            continue
        with suppress(JudgeError):
            prompt = prompts.load(source, os.environ)
            if prompt.digest == digest:
                return prompt
            for modality in run.manifest.modality:
                for reply in (STRUCTURED, TEXT):
                    shown = for_modality(prompt, run.rubric, reply, modality)
                    if shown.digest == digest:
                        return shown
    return None


class RunOverview(PageModel):
    """What the page of a run shows before its studies.

    `is_readable` says whether its studies can be read blind, `has_prompt` whether its judge was
    asked with a prompt.
    """

    title: str
    notes: list[str]
    signature: str
    rubric: str
    rubric_title: str
    judge: str
    prompt: str | None
    n_studies: int
    n_scored: int
    tiles: list[Tile]
    figures: list[Bars]
    facts: list[Fact]
    tables: list[PrintedTable]
    is_readable: bool
    has_prompt: bool


def overview(run: RunFolder) -> RunOverview:
    """Return what a page shows of a run before its studies."""
    summary = run.summary()
    rubric = run.rubric
    shown = rubric.shown("groups")
    document = run_document(summary, rubric)
    notes = []
    if summary.judge.note:
        notes.append(summary.judge.note)
    tiles = [_tile(summary, statistic) for statistic in shown]
    tiles.append(_scored_tile(summary))
    figures = [_rates(summary, statistic) for statistic in shown if statistic.is_share]
    if rubric.tally is not None:
        figures.append(_tally(summary, rubric, rubric.tally))
    return RunOverview(
        title=document.title,
        notes=notes,
        signature=summary.signature,
        rubric=rubric.name,
        rubric_title=rubric.title,
        judge=summary.judge.name,
        prompt=summary.prompt,
        n_studies=summary.n_studies,
        n_scored=summary.n_scored,
        tiles=tiles,
        figures=figures,
        facts=facts_of(document.head),
        tables=[PrintedTable.of(table) for table in document.tables],
        # Only a rubric with a table of items can be read on the blind page.
        is_readable=rubric.tally is not None,
        has_prompt=bool(run.manifest.prompts),
    )


def _tile(summary: RunSummary, statistic: Statistic) -> Tile:
    estimate = estimate_of(summary, statistic)
    text = printed(estimate, figure_kind(is_share=statistic.is_share))
    interval = text.ends(with_unit=True)
    more = ""
    if interval:
        more = f"95% CI {interval}"
    return Tile(label=statistic.label, text=text.figure, more=more)


def _scored_tile(summary: RunSummary) -> Tile:
    n_lost = summary.n_studies - summary.n_scored
    more = "all"
    if n_lost:
        more = f"of {summary.n_studies:,}; {n_lost:,} not scored"
    return Tile(label="scored studies", text=f"{summary.n_scored:,}", more=more)


def _rates(summary: RunSummary, statistic: Statistic) -> Bars:
    """Return the shares of studies by group."""
    by = fields_of(*summary.by)
    blocks = []
    for block in summary.rates:
        key = block.group
        values = [group_value(key[name]) for name in by if name in key]
        blocks.append((", ".join(values), block))
    blocks.append(("all", summary.everything))
    rows = []
    for group, block in blocks:
        estimate = estimate_of(block, statistic)
        text = printed(estimate, Kind.RATE)
        parts = []
        if estimate.value is not None:
            parts.append(BarPart(share=estimate.value, tone="notable"))
        low, high = interval_ends(estimate)
        bar = Bar(
            name=group,
            text=f"{text.figure} {text.brackets}".rstrip(),
            parts=parts,
            low=low,
            high=high,
        )
        rows.append(bar)
    note = "Share of scored studies with its 95% Wilson interval."
    if statistic.definition:
        note = f"{statistic.label}: {statistic.definition}. {note}"
    return Bars(
        title=f"Studies with {statistic.label}", note=note, legend=[], rows=rows
    )


def _tally(summary: RunSummary, rubric: Rubric, tally: Tally) -> Bars:
    """Return a row for each label of one facet, with its number of items by another's labels."""
    columns = rubric.facet(tally.columns)
    rows_facet = rubric.facet(tally.rows)
    counts: list[tuple[str, dict[str, int | None]]] = []
    for row in rows_facet.labels:
        n: dict[str, int | None] = {}
        for column in columns.labels:
            labels = {tally.rows: row.name, tally.columns: column.name}
            (measure,) = rubric.counting(tally.kind, labels)
            n[column.name] = summary.totals[measure.name].n
        # A category of another modality is shown where it was found.
        if row.modality is None or any(n.values()):
            counts.append((rows_facet.text(row.name), n))
    totals = [sum(value or 0 for value in n.values()) for _, n in counts]
    most = max(totals, default=0) or 1
    rows = []
    for name, n in counts:
        parts = []
        texts = []
        for column in columns.labels:
            value = n[column.name] or 0
            parts.append(BarPart(share=value / most, tone=column.tone))
            if value:
                texts.append(f"{column.label}: {value:,}")
        text = "; ".join(texts) or "0"
        if all(value is None for value in n.values()):
            text = NOTHING
        rows.append(Bar(name=name, text=text, parts=parts, low=None, high=None))
    legend = [
        LegendEntry(text=column.label, tone=column.tone) for column in columns.labels
    ]
    title = f"{tally.title} and {columns.label}"
    return Bars(title=title, note="", legend=legend, rows=rows)


def study_list(table: pd.DataFrame, rubric: Rubric) -> StudyList:
    """Return the columns of the list of studies and its filters, the worst study first."""
    class_column = _class_column(table)
    outcome_column = _outcome_column(table)
    columns = [
        list_column("study_id", "study", _cells(table, "study_id"), kind="id"),
        class_column,
    ]
    score_columns = []
    counts: dict[str, ListColumn] = {}
    for measure in rubric.measures:
        if measure.role == "check":
            continue
        column = _measure_column(table, measure, rubric)
        columns.append(column)
        counts[measure.name] = column
        if measure.role == "score":
            score_columns.append((measure, column))
    if rubric.codes is not None:
        columns.append(_codes_column(table, rubric, rubric.codes))
    columns.append(outcome_column)
    field_columns = _field_columns(table, rubric)
    columns += field_columns
    facets = _counted_facets(rubric)
    filters = [
        _class_filter(class_column),
        *(_facet_filter(facet) for facet in facets),
        _outcome_filter(table, outcome_column),
    ]
    for measure, column in score_columns:
        filters += range_filters(measure.name, measure.label, column)
    for column in field_columns:
        by_field = value_filter(column.name, column.label, column)
        if by_field.kind == "text":
            by_field = by_field.model_copy(update={"name": f"has.{column.label}"})
        filters.append(by_field)
    return StudyList(
        noun=STUDIES,
        order=worst_order(table, rubric),
        ordered="worst first",
        columns=columns,
        filters=filters,
        item_counts=_item_counts(facets, rubric),
        packet=PACKET,
    )


def _cells(table: pd.DataFrame, name: str) -> list[Value | None]:
    return [cell(value) for value in table[name].tolist()]


def _class_column(table: pd.DataFrame) -> ListColumn:
    return list_column(
        "study_class",
        "class",
        _cells(table, "study_class"),
        kind="class",
        missing=NO_CLASS,
    )


def _class_filter(column: ListColumn) -> ListFilter:
    by_class = value_filter("class", "Class", column, is_folded=False)
    if by_class.kind == "choice" and MISSING in column.codes:
        none = Choice(value="", text=NO_CLASS, codes=[MISSING])
        by_class = by_class.model_copy(update={"choices": [*by_class.choices, none]})
    return by_class


def _measure_column(
    table: pd.DataFrame, measure: Measure, rubric: Rubric
) -> ListColumn:
    name = f"measure.{measure.name}"
    values = _cells(table, measure.name)
    if measure.role == "score":
        text = partial(measure_text, measure=measure)
        return list_column(
            name, measure.label, values, kind="score", text=text, missing=NOTHING
        )
    return list_column(
        name,
        measure.label,
        values,
        kind="count",
        text="{:,}".format,
        tone=_tone(measure, rubric),
        is_shown=measure.role == "count",
        largest_first=True,
    )


def _tone(measure: Measure, rubric: Rubric) -> Tone | None:
    """Return the tone of the one label that a measure counts; None where it counts others."""
    if measure.counts is None:
        return None
    labels = dict(measure.counts.labels)
    if len(labels) != 1:
        return None
    ((facet, label),) = labels.items()
    return rubric.facet(facet)[label].tone


def _codes_column(table: pd.DataFrame, rubric: Rubric, facet: Facet) -> ListColumn:
    titles = {label.name: facet.text(label.name) for label in facet.labels}
    is_short = all(len(name) == 1 for name in titles)

    def parts(text: str) -> list[ShownCode]:
        # Codes of one letter are written without a space: `abd`.
        names = list(text) if is_short else text.split(", ")
        return [ShownCode(text=name, title=titles[name]) for name in names]

    return list_column(
        "codes",
        facet.plural,
        [text or None for text in codes(table, rubric)],
        kind="codes",
        parts=parts,
    )


def _outcome_column(table: pd.DataFrame) -> ListColumn:
    texts: list[Value | None] = []
    for outcome, reason in zip(table["outcome"], _cells(table, "reason"), strict=True):
        text = str(outcome)
        if reason:
            text = f"{outcome}: {reason}"
        texts.append(text)
    # Where all studies were scored the column says nothing.
    is_shown = bool((table["outcome"] != "scored").any())
    return list_column("outcome", "outcome", texts, kind="outcome", is_shown=is_shown)


def _outcome_filter(table: pd.DataFrame, column: ListColumn) -> ListFilter:
    choices = []
    for outcome in sorted({str(value) for value in table["outcome"]}):
        fitting = []
        for code, text in enumerate(column.texts):
            if text.partition(":")[0] == outcome:
                fitting.append(code)
        choices.append(Choice(value=outcome, text=outcome, codes=fitting))
    return ListFilter(
        name="outcome",
        label="Outcome",
        kind="choice",
        column=column.name,
        choices=choices,
        is_folded=False,
    )


def field_names(table: pd.DataFrame, rubric: Rubric) -> list[str]:
    """Return the columns of the table that are fields of the user's own, in order."""
    ours = {*FIXED, *(measure.name for measure in rubric.measures)}
    return [str(name) for name in table.columns if name not in ours]


def _field_columns(table: pd.DataFrame, rubric: Rubric) -> list[ListColumn]:
    """Return the user's fields; the first few of short values are shown."""
    columns = []
    n_shown = 0
    for name in field_names(table, rubric):
        values = _cells(table, name)
        is_short = all(len(str(value)) <= _SHORT for value in values)
        is_shown = is_short and n_shown < _FEW_FIELDS
        n_shown += is_shown
        column = list_column(
            f"field.{name}", name, values, kind="field", is_shown=is_shown
        )
        columns.append(column)
    return columns


def _counted_facets(rubric: Rubric) -> list[Facet]:
    """Return the facets by which the list is filtered: those whose labels measures count."""
    counted: set[str] = set()
    for measure in rubric.measures:
        if measure.counts is not None:
            counted |= set(measure.counts.labels)
    facets = [facet for facet in (rubric.codes, rubric.grades) if facet is not None]
    return [facet for facet in facets if facet.name in counted]


def _facet_filter(facet: Facet) -> ListFilter:
    choices = [
        Choice(value=label.name, text=facet.text(label.name), codes=[])
        for label in facet.labels
    ]
    return ListFilter(
        name=f"facet.{facet.name}",
        label=capital(facet.label),
        kind="items",
        column="",
        choices=choices,
        is_folded=False,
    )


def _item_counts(facets: Sequence[Facet], rubric: Rubric) -> list[ItemCounts]:
    """Return the columns that count the items with each combination of labels to filter by."""
    combinations: list[dict[str, str]] = [{}]
    for facet in facets:
        with_facet = []
        for labels in combinations:
            for label in facet.labels:
                with_facet.append({**labels, facet.name: label.name})
        combinations += with_facet
    found = []
    for labels in combinations[1:]:
        names: list[str] = []
        for kind in rubric.kinds:
            counting = rubric.counting(kind.name, labels)
            names += [f"measure.{measure.name}" for measure in counting]
        of_filters = {f"facet.{facet}": label for facet, label in labels.items()}
        found.append(ItemCounts(labels=of_filters, columns=names))
    return found


def write_page(run: RunFolder, path: Path) -> None:
    """Write the page of a run; raises `JudgeError` where its files do not fit together."""
    try:
        write_html(page(run), path, MARK)
    except (KeyError, ValueError) as error:
        why = (
            f"the files of {run.path} do not fit together ({error}): make the run again"
        )
        raise JudgeError(why) from error
