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
from judge.manifest import RunSummary
from judge.pages.bundle import PACKET, as_json, page_file, site_index
from judge.prompts import official
from judge.rubrics.contract import Measure, Rubric
from judge.rubrics.questions import split_answers
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
MARK, INDEX = (
    "<!doctype html><!-- judge audit -->",
    "<!doctype html><!-- judge page -->",
)
# A field with more values, or longer ones, is filtered by typing, not by choosing.
_MAX_CHOICES, _MAX_CHOICE = 200, 100
# So many fields of values this short are in the list of studies.
_FEW_FIELDS, _SHORT = 3, 40


def page(run: RunFolder) -> Iterator[str]:
    """Yield the page of `run` as one file; raises ValueError where its table does not fit."""
    return page_file(
        MARK, "run", run_document(run.summary(), run.rubric).title, _pieces(run)
    )


def _pieces(run: RunFolder) -> Iterator[tuple[str, bytes]]:
    table, questions_of = run.table(), AskedQuestions(run)
    yield "overview", as_json(overview(run, table))
    yield "index", as_json(index(table, run.rubric))
    records, n_written = iter(run.records()), 0
    while packet := list(islice(records, PACKET)):
        place = n_written // PACKET
        yield (
            f"packet-{place}",
            as_json([study_view(record, run.rubric) for record in packet]),
        )
        if run.manifest.prompts:
            yield (
                f"asked-{place}",
                as_json([questions_of.about(record) for record in packet]),
            )
        n_written += len(packet)
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
            for source in (asked.name, given):
                # The run may come from elsewhere: a pipe that it names is not waited for. A folder
                # that has a built-in prompt's name does not hide the prompt.
                is_built_in = source in (*prompts.names(), *official.recipes())
                if (
                    not is_built_in
                    and os.path.lexists(source)
                    and not os.path.isfile(source)  # noqa: PTH113
                ):
                    continue
                with suppress(JudgeError):
                    prompt = prompts.load(source, os.environ)
                    if prompt.digest == asked.digest:
                        self._prompts[prompt.asks] = prompt
                        break
            else:
                self.missing = (
                    f"The prompt {asked} is not here: the run keeps its digest only."
                )

    def about(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return `messages`, each with `step`, `role` and `text`, and `missing`."""
        if self.missing:
            return {"messages": [], "missing": self.missing}
        try:
            messages = [
                {"step": step, "role": message.role, "text": message.content}
                for step, asked in self._asked(record)
                for message in asked
            ]
        except (JudgeError, UnparsedError, KeyError) as error:
            return {
                "messages": [],
                "missing": f"The question cannot be made again: {error}.",
            }
        return {"messages": messages, "missing": ""}

    def _asked(
        self, record: Mapping[str, Any]
    ) -> Iterator[tuple[str, Sequence[Message]]]:
        # With the context and the prior report that the judge was shown.
        study, manifest = study_of(record), self._run.manifest
        shown = JudgeContext(manifest.shown_context, manifest.shown_prior)
        context = shown.read(study.fields)
        study = replace(study, context=context["context"], prior=context["prior"])
        steps = self._run.rubric.steps
        if steps is None:
            (prompt,) = self._prompts.values()
            yield "", prompt.about(study)
            return
        answers = split_answers(record["answer"]["text"]) if record["answer"] else {}
        known: dict[str, str] = {}
        while now := steps.coming(study, known):
            for step in now:
                yield step.name, self._prompts[step.asks].about(step.study)
            if any(step.name not in answers for step in now):
                return
            known |= {step.name: answers[step.name] for step in now}


def overview(run: RunFolder, table: pd.DataFrame) -> dict[str, Any]:
    """Return what a page shows of a run before its studies, in JSON's types.

    `table` is the run's own, of which the page shows the columns.
    """
    summary, rubric = run.summary(), run.rubric
    shown, document = rubric.shown("groups"), run_document(summary, rubric)
    return {
        "title": document.title,
        "rubric": {
            "name": rubric.name,
            **declared(rubric),
            "scores": [_measure(measure) for measure in rubric.with_role("score")],
            "checks": [_measure(measure) for measure in rubric.with_role("check")],
        },
        "judge": summary.judge.model_dump(),
        "prompt": summary.prompt,
        "signature": summary.signature,
        "n_studies": summary.n_studies,
        "n_scored": summary.n_scored,
        "has_prompt": bool(run.manifest.prompts),
        "headline": [_tile(summary, statistic) for statistic in shown],
        "facts": [{"name": name, "value": value} for name, value in document.head],
        "tables": [printed.plain() for printed in document.tables],
        "figures": {
            "rates": [_rates(summary, s) for s in shown if s.is_share],
            "tally": _tally(summary, rubric),
        },
        "columns": _columns(table, rubric),
        "filters": _filters(table, rubric),
    }


def index(table: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    """Return the columns of the list of studies by name, and the rows, the worst study first."""
    measures = [measure.name for measure in rubric.measures if measure.role != "check"]
    names = [
        "study_id",
        "study_class",
        "outcome",
        "reason",
        *measures,
        *field_names(table, rubric),
    ]
    columns: dict[str, Any] = {
        name: [*map(cell, table[name].tolist())] for name in names
    }
    if rubric.codes:
        columns[rubric.codes.plural] = list(codes(table, rubric))
    return {"order": worst_order(table, rubric), "columns": columns, "packet": PACKET}


def field_names(table: pd.DataFrame, rubric: Rubric) -> list[str]:
    """Return the columns of the table that are fields of the user's own, in order."""
    ours = {*FIXED, *(measure.name for measure in rubric.measures)}
    return [str(name) for name in table.columns if name not in ours]


def declared(rubric: Rubric) -> dict[str, Any]:
    """Return the words of a rubric that a page needs: its kinds, facets, labels and counts."""
    facets = [
        {name: getattr(facet, name) for name in ("name", "label", "plural")}
        | {
            "labels": [
                asdict(one) | {"text": facet.text(one.name)} for one in facet.labels
            ]
        }
        for facet in rubric.facets
    ]
    return {
        "title": rubric.title,
        "codes": rubric.codes and rubric.codes.name,
        "kinds": [asdict(kind) for kind in rubric.kinds],
        "facets": facets,
    }


def _measure(measure: Measure) -> dict[str, Any]:
    names = ("name", "label", "unit", "undefined")
    return {name: getattr(measure, name) for name in names}


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
    rows = []
    for block in summary.rates:
        key = block.group
        values = (group_value(key[name]) for name in by if name in key)
        rows.append((", ".join(values), block))
    return {
        **{name: getattr(statistic, name) for name in ("name", "label", "definition")},
        "rows": [
            {"group": group, **block.statistics[statistic.name].plain()}
            for group, block in (*rows, ("all", summary.everything))
        ],
    }


def _tally(summary: RunSummary, rubric: Rubric) -> dict[str, Any] | None:
    """Return a row a label of one facet, with its number of items by each label of another."""
    if (tally := rubric.tally) is None:
        return None
    columns, counts = [label.name for label in rubric.facet(tally.columns).labels], []
    for row in rubric.facet(tally.rows).labels:
        n: dict[str, int | None] = {}
        for column in columns:
            (measure,) = rubric.counting(
                tally.kind, {tally.rows: row.name, tally.columns: column}
            )
            n[column] = summary.totals[measure.name].n
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
    fields = field_names(table, rubric)
    short = [
        name for name in fields if table[name].astype(str).str.len().max() <= _SHORT
    ]
    columns = [("study_id", "study", "id"), ("study_class", "class", "class")]
    for role in ("score", "count"):
        columns += [(m.name, m.label, role) for m in rubric.with_role(role)]
    if rubric.codes:
        columns.append((rubric.codes.plural, rubric.codes.plural, "codes"))
    if table["outcome"].nunique() > 1:
        columns.append(("outcome", "outcome", "outcome"))
    columns += [(name, name, "field") for name in short[:_FEW_FIELDS]]
    tones = {}
    for measure in rubric.with_role("count"):
        labels = dict(measure.counts.labels) if measure.counts else {}
        if len(labels) == 1:
            ((facet, label),) = labels.items()
            tones[measure.name] = rubric.facet(facet)[label].tone
    return [
        {"name": name, "label": label, "kind": kind, "tone": tones.get(name)}
        for name, label, kind in columns
    ]


def _filters(table: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    """Return the choices of each filter; `counts` are the columns that count `labels` of facets."""
    counts = {m.name: dict(m.counts.labels) for m in rubric.measures if m.counts}
    facets = [facet.name for facet in (rubric.codes, rubric.grades) if facet]
    return {
        "labels": [
            name for name in facets if any(name in labels for labels in counts.values())
        ],
        "counts": [
            {"name": name, "labels": labels}
            for name, labels in counts.items()
            if labels
        ],
        "classes": _choices(table["study_class"]),
        "no_class": bool(table["study_class"].isna().any()),
        "outcomes": _choices(table["outcome"]) or [],
        "fields": [
            {"name": name, "values": _choices(table[name])}
            for name in field_names(table, rubric)
        ],
    }


def _choices(column: pd.Series[Any]) -> list[str] | None:
    """Return the values of a column as text, sorted; None for too many, or too long ones."""
    values = {str(value) for value in map(cell, column) if value is not None}
    if len(values) > _MAX_CHOICES or any(len(value) > _MAX_CHOICE for value in values):
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
    check_writable(index := out / "index.html", mark=INDEX)
    for name, run in opened.items():
        write_page(run, out / name)
    has_comparison = (out / "comparison.html").is_file()
    write_html(site_index(INDEX, opened, has_comparison=has_comparison), index, INDEX)
    return index
