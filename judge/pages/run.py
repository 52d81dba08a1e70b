"""The page of a run: what it shows first, the columns of its list, and its studies in packets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge import prompts
from judge.files import cannot_write, check_writable, write_html
from judge.pages.bundle import PACKET, as_json, page_file, site_index
from judge.prompts import official
from judge.rubrics.contract import Facet, Measure, Rubric
from judge.rubrics.questions import split_answers
from judge.run_files.summary import RunSummary
from judge.running.folder import RunFolder
from judge.running.records import study_of
from judge.stats.statistic import Statistic
from judge.stats.summary import FIXED, codes, estimate_of, fields_of, worst_order
from judge.studies.study_set import JudgeContext
from judge.study.view import cell, study_view
from judge.tables.kinds import figure_kind, printed
from judge.tables.run import run_document
from judge.text import group_value
from judge.types import JudgeError, Message, UnparsedError

if TYPE_CHECKING:
    import pandas as pd

    from judge.prompts import Prompt

# How such a file, and the index of a folder of pages, begin, so that they are known again.
MARK = "<!doctype html><!-- judge audit -->"
INDEX = "<!doctype html><!-- judge page -->"
# A field with more values, or longer ones, is filtered by typing, not by choosing.
_MAX_CHOICES, _MAX_CHOICE = 200, 100
# So many fields of values this short are in the list of studies.
_FEW_FIELDS, _SHORT = 3, 40


def page(run: RunFolder) -> Iterator[str]:
    """Yield the page of `run` as one file; raises ValueError where its table does not fit."""
    document = run_document(run.summary(), run.rubric)
    return page_file(MARK, "run", document.title, _pieces(run))


def _pieces(run: RunFolder) -> Iterator[tuple[str, bytes]]:
    table = run.table()
    questions_of = AskedQuestions(run)
    yield "overview", as_json(overview(run, table))
    yield "index", as_json(index(table, run.rubric))
    # The records of a large run do not fit into memory together.
    records = iter(run.records())
    packet = list(islice(records, PACKET))
    number = 0
    n_written = 0
    while packet:
        views = [study_view(record, run.rubric) for record in packet]
        yield f"packet-{number}", as_json(views)
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
            prompt = _prompt_with(asked.digest, (asked.name, given))
            if prompt is not None:
                self._prompts[prompt.asks] = prompt
            else:
                self.missing = (
                    f"The prompt {asked} is not here: the run keeps its digest only."
                )

    def about(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return `messages`, each with `step`, `role` and `text`, and `missing`."""
        if self.missing:
            return {"messages": [], "missing": self.missing}
        messages = []
        try:
            for step, asked in self._asked(record):
                for message in asked:
                    shown = {
                        "step": step,
                        "role": message.role,
                        "text": message.content,
                    }
                    messages.append(shown)
        except (JudgeError, UnparsedError, KeyError) as error:
            why = f"The question cannot be made again: {error}."
            return {"messages": [], "missing": why}
        return {"messages": messages, "missing": ""}

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


def _prompt_with(digest: str, sources: Iterable[str]) -> Prompt | None:
    """Return the prompt of a digest, from the first of the sources that has it."""
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
    return None


def overview(run: RunFolder, table: pd.DataFrame) -> dict[str, Any]:
    """Return what a page shows of a run before its studies, in JSON's types.

    `table` is the run's own, of which the page shows the columns.
    """
    summary = run.summary()
    rubric = run.rubric
    shown = rubric.shown("groups")
    document = run_document(summary, rubric)
    declaration = {
        "name": rubric.name,
        **declared(rubric),
        "scores": [_measure(measure) for measure in rubric.with_role("score")],
        "checks": [_measure(measure) for measure in rubric.with_role("check")],
    }
    rates = [_rates(summary, statistic) for statistic in shown if statistic.is_share]
    return {
        "title": document.title,
        "rubric": declaration,
        "judge": summary.judge.model_dump(),
        "prompt": summary.prompt,
        "signature": summary.signature,
        "n_studies": summary.n_studies,
        "n_scored": summary.n_scored,
        "has_prompt": bool(run.manifest.prompts),
        "headline": [_tile(summary, statistic) for statistic in shown],
        "facts": [{"name": name, "value": value} for name, value in document.head],
        "tables": [printed.plain() for printed in document.tables],
        "figures": {"rates": rates, "tally": _tally(summary, rubric)},
        "columns": _columns(table, rubric),
        "filters": _filters(table, rubric),
    }


def index(table: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    """Return the columns of the list of studies by name, and the rows, the worst study first."""
    measures = [measure.name for measure in rubric.measures if measure.role != "check"]
    names = ["study_id", "study_class", "outcome", "reason"]
    names += measures
    names += field_names(table, rubric)
    columns: dict[str, Any] = {}
    for name in names:
        values = table[name].tolist()
        columns[name] = list(map(cell, values))
    if rubric.codes:
        columns[rubric.codes.plural] = list(codes(table, rubric))
    return {"order": worst_order(table, rubric), "columns": columns, "packet": PACKET}


def field_names(table: pd.DataFrame, rubric: Rubric) -> list[str]:
    """Return the columns of the table that are fields of the user's own, in order."""
    ours = {*FIXED, *(measure.name for measure in rubric.measures)}
    return [str(name) for name in table.columns if name not in ours]


def declared(rubric: Rubric) -> dict[str, Any]:
    """Return the words of a rubric that a page needs: its kinds, facets, labels and counts."""
    codes_facet = None
    if rubric.codes is not None:
        codes_facet = rubric.codes.name
    return {
        "title": rubric.title,
        "codes": codes_facet,
        "kinds": [asdict(kind) for kind in rubric.kinds],
        "facets": [_declared_facet(facet) for facet in rubric.facets],
    }


def _declared_facet(facet: Facet) -> dict[str, Any]:
    labels = []
    for label in facet.labels:
        plain = asdict(label)
        plain["text"] = facet.text(label.name)
        labels.append(plain)
    return {
        "name": facet.name,
        "label": facet.label,
        "plural": facet.plural,
        "labels": labels,
    }


def _measure(measure: Measure) -> dict[str, Any]:
    return {
        "name": measure.name,
        "label": measure.label,
        "unit": measure.unit,
        "undefined": measure.undefined,
    }


def _tile(summary: RunSummary, statistic: Statistic) -> dict[str, str]:
    estimate = estimate_of(summary, statistic)
    text = printed(estimate, figure_kind(is_share=statistic.is_share))
    return {
        "label": statistic.label,
        "text": text.figure,
        "interval": text.ends(with_unit=True),
    }


def _rates(summary: RunSummary, statistic: Statistic) -> dict[str, Any]:
    by = fields_of(*summary.by)
    blocks = []
    for block in summary.rates:
        key = block.group
        values = [group_value(key[name]) for name in by if name in key]
        blocks.append((", ".join(values), block))
    blocks.append(("all", summary.everything))
    rows = []
    for group, block in blocks:
        figure = block.statistics[statistic.name]
        rows.append({"group": group, **figure.plain()})
    return {
        "name": statistic.name,
        "label": statistic.label,
        "definition": statistic.definition,
        "rows": rows,
    }


def _tally(summary: RunSummary, rubric: Rubric) -> dict[str, Any] | None:
    """Return a row a label of one facet, with its number of items by each label of another."""
    tally = rubric.tally
    if tally is None:
        return None
    columns = [label.name for label in rubric.facet(tally.columns).labels]
    counts = []
    for row in rubric.facet(tally.rows).labels:
        n: dict[str, int | None] = {}
        for column in columns:
            labels = {tally.rows: row.name, tally.columns: column}
            (measure,) = rubric.counting(tally.kind, labels)
            n[column] = summary.totals[measure.name].n
        # A category of another modality is shown where it was found.
        if row.modality is None or any(n.values()):
            counts.append({"name": row.name, "n": n})
    return {
        "title": tally.title,
        "rows": tally.rows,
        "columns": tally.columns,
        "counts": counts,
    }


def _columns(table: pd.DataFrame, rubric: Rubric) -> list[dict[str, Any]]:
    """Return the columns of the list of studies; of the fields the first few of short values."""
    columns = [
        _column("study_id", "study", "id"),
        _column("study_class", "class", "class"),
    ]
    for measure in rubric.with_role("score"):
        columns.append(_column(measure.name, measure.label, "score"))
    for measure in rubric.with_role("count"):
        column = _column(measure.name, measure.label, "count")
        column["tone"] = _tone(measure, rubric)
        columns.append(column)
    if rubric.codes:
        plural = rubric.codes.plural
        columns.append(_column(plural, plural, "codes"))
    if table["outcome"].nunique() > 1:
        columns.append(_column("outcome", "outcome", "outcome"))
    short = []
    for name in field_names(table, rubric):
        lengths = table[name].astype(str).str.len()
        if lengths.max() <= _SHORT:
            short.append(name)
    columns += [_column(name, name, "field") for name in short[:_FEW_FIELDS]]
    return columns


def _column(name: str, label: str, kind: str) -> dict[str, Any]:
    return {"name": name, "label": label, "kind": kind, "tone": None}


def _tone(measure: Measure, rubric: Rubric) -> str | None:
    """Return the tone of the one label that a measure counts; None where it counts others."""
    if measure.counts is None:
        return None
    labels = dict(measure.counts.labels)
    if len(labels) != 1:
        return None
    ((facet, label),) = labels.items()
    return rubric.facet(facet)[label].tone


def _filters(table: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    """Return the choices of each filter; `counts` are the columns that count `labels` of facets."""
    counts = []
    counted: set[str] = set()
    for measure in rubric.measures:
        if measure.counts and measure.counts.labels:
            labels = dict(measure.counts.labels)
            counts.append({"name": measure.name, "labels": labels})
            counted |= set(labels)
    names = [facet.name for facet in (rubric.codes, rubric.grades) if facet]
    fields = []
    for field in field_names(table, rubric):
        choices = _choices(table[field])
        fields.append({"name": field, "values": choices})
    study_class = table["study_class"]
    return {
        "labels": [name for name in names if name in counted],
        "counts": counts,
        "classes": _choices(study_class),
        "no_class": bool(study_class.isna().any()),
        "outcomes": _choices(table["outcome"]) or [],
        "fields": fields,
    }


def _choices(column: pd.Series[Any]) -> list[str] | None:
    """Return the values of a column as text, sorted; None for too many, or too long ones."""
    values = {str(value) for value in map(cell, column) if value is not None}
    is_long = any(len(value) > _MAX_CHOICE for value in values)
    if is_long or len(values) > _MAX_CHOICES:
        return None
    return sorted(values)


def write_page(run: RunFolder, path: Path) -> None:
    """Write the page of a run; raises `JudgeError` where its files do not fit together."""
    try:
        write_html(page(run), path, MARK)
    except (KeyError, ValueError) as error:
        why = (
            f"the files of {run.path} do not fit together ({error}): make the run again"
        )
        raise JudgeError(why) from error


def write_site(runs: Iterable[Path], out: Path) -> Path:
    """Write a page for each run, and the index of them, whose path is returned."""
    opened: dict[str, RunFolder] = {}
    for path in dict.fromkeys(path.resolve() for path in runs):
        name = f"{path.name}.html"
        if name in opened or name in ("index.html", "comparison.html"):
            raise JudgeError(
                f"{path} has no page of its own, {name}: rename the run's folder"
            )
        opened[name] = RunFolder.open(path)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(out, error) from error
    for name in opened:
        check_writable(out / name, mark=MARK)
    index = out / "index.html"
    check_writable(index, mark=INDEX)
    for name, run in opened.items():
        write_page(run, out / name)
    has_comparison = (out / "comparison.html").is_file()
    write_html(site_index(INDEX, opened, has_comparison=has_comparison), index, INDEX)
    return index
