"""The content of a pack's PDF, as blocks that evidence.typ sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from judge.pack import facts
from judge.pack.blocks import (
    Block,
    fact_rows,
    heading,
    paragraph,
    rows_block,
    table_block,
    verbatim,
)
from judge.pack.checklists import FilledChecklist
from judge.pack.comparison import PackedComparison, PackedFigure
from judge.pack.facts import NOT_APPLICABLE
from judge.pack.packed_run import PackedRun
from judge.rubrics.contract import Source
from judge.tables.citation import distinct
from judge.tables.document import Document
from judge.tables.run import named_judge, run_document
from judge.text import counted, group_value

_WHAT = (
    "This pack holds what the figures of the runs below rest on: how they were made, from "
    "what, and what they are. The zip has the same in files. To check it: judge runs verify "
    "evidence.zip. The check finds damage and mistakes; it is no proof against somebody who writes "
    "a pack of their own, so publish the SHA-256 of the zip with the figures."
)
_WITHOUT_REPORTS = (
    "Personal data: the pack holds the ids of studies, their classes, the fields that the rates "
    "are grouped by and the counts of errors. It holds no report and no text of an error. Names "
    "of files, models, readers and prompts are as they were given. Look whether ids or fields "
    "could name a patient before the pack leaves your institution."
)
_WITH_REPORTS = (
    "Personal data: THIS PACK HOLDS REPORTS OF PATIENTS, those of the sample, with the texts of "
    "their errors, as they were written and not de-identified. It also holds the ids of all "
    "studies, their classes, the fields that the rates are grouped by and the counts of errors."
)
_SAMPLE = (
    "Drawn at random within each outcome and study class, at least two studies of each where there "
    "are as many. A share of the sample is no share of all studies: weight each stratum by its "
    "size. The categories are those of the table of errors. The last two columns are for the "
    "auditor."
)


def blocks_of(
    runs: Sequence[PackedRun],
    comparison: PackedComparison,
    checklists: Mapping[str, Sequence[FilledChecklist]],
    files: Mapping[str, str],
    images: Mapping[str, PackedFigure],
    *,
    with_reports: bool,
) -> list[Block]:
    """Return the whole PDF.

    `checklists` are those of each run by its name in the pack, `files` the SHA-256 of each file by
    its name, `images` the figures by the files that the PDF takes them from.
    """
    blocks = [paragraph(_WHAT)]
    if with_reports:
        blocks.append(paragraph(_WITH_REPORTS, "notice"))
    else:
        blocks.append(paragraph(_WITHOUT_REPORTS, "notice"))
    blocks.append(_contents(runs))
    if comparison.why_not:
        blocks.append(
            paragraph(
                f"The runs are not compared with each other: {comparison.why_not}",
                "notice",
            )
        )
    blocks += _protocol(runs, comparison)
    blocks += _versions(runs, files)
    blocks += _prompts(runs)
    blocks += _results(runs, comparison, images)
    blocks += _samples(runs)
    blocks += _checklists(runs, checklists)
    blocks += _references(runs)
    return blocks


def _contents(runs: Sequence[PackedRun]) -> Block:
    rows = []
    for run in runs:
        entry = run.manifest.judge
        rows.append(
            (
                run.name,
                run.manifest.model or "",
                run.run.rubric.title,
                named_judge(entry.name, entry.note),
                f"{run.summary.n_scored:,} of {run.summary.n_studies:,}",
            )
        )
    return rows_block(
        "Runs", ["run", "model", "rubric", "judge", "studies scored"], rows, wide=[3]
    )


def _of_run(runs: Sequence[PackedRun], run: PackedRun, level: int = 2) -> list[Block]:
    """Return a heading with the name of a run, where there are several."""
    if len(runs) == 1:
        return []
    return [heading(run.name, level)]


def _protocol(runs: Sequence[PackedRun], comparison: PackedComparison) -> list[Block]:
    blocks = [heading("Protocol")]
    for run in runs:
        blocks += _of_run(runs, run)
        blocks.append(paragraph(facts.cited(run).text))
        blocks.append(heading("Signature", 3))
        blocks.append(paragraph(run.summary.signature, "mono"))
        blocks.append(heading("Settings and seeds", 3))
        blocks.append(fact_rows(_settings(run)))
        for note in run.summary.notes:
            blocks.append(paragraph(f"Note: {note}", "small"))
    if comparison.signature:
        blocks.append(heading("Signature of the comparison", 3))
        blocks.append(paragraph(comparison.signature, "mono"))
    return blocks


def _settings(run: PackedRun) -> list[tuple[str, str]]:
    manifest = run.manifest
    sample = run.sample.drawn
    rows = [
        ("sampling", facts.sampling(run) or "not recorded"),
        ("how questions follow each other", facts.execution(run) or "not recorded"),
        ("reply", facts.reply(run) or "not recorded"),
        ("shown beside the reports", facts.shown(run) or "not recorded"),
        ("intervals", facts.intervals(run)),
        ("audit sample", f"seed {sample.seed}, by {' and '.join(sample.by)}"),
    ]
    if manifest.settings is not None and manifest.settings.limit is not None:
        rows.append(("studies drawn before", f"{manifest.settings.limit:,}, at random"))
    if manifest.started is not None and manifest.finished is not None:
        rows.append(("judged", f"{manifest.started} to {manifest.finished}"))
    for again in manifest.rescored:
        rows.append(
            ("answers read again", f"{again.at}, before: {again.from_signature}")
        )
    return rows


def _versions(runs: Sequence[PackedRun], files: Mapping[str, str]) -> list[Block]:
    blocks = [heading("Versions and hashes")]
    for run in runs:
        blocks += _of_run(runs, run)
        judge = [
            ("judge", facts.judge(run)),
            ("model by its server's answers", facts.answered_as(run) or "not recorded"),
        ]
        versions = list(run.manifest.versions.items())
        named = [
            ("judge (this program)" if name == "judge" else name, text)
            for name, text in versions
        ]
        blocks.append(fact_rows([*judge, *named]))
        inputs = [(file.role, file.sha256) for file in run.manifest.inputs]
        blocks.append(
            rows_block("Files that were judged, SHA-256", ["file", "hash"], inputs, [1])
        )
        manifest = [("manifest.json in the run's own folder", run.manifest_sha256)]
        blocks.append(fact_rows(manifest))
    rows = [(name, digest) for name, digest in sorted(files.items())]
    blocks.append(
        rows_block(
            "Files of this pack but for this PDF, SHA-256", ["file", "hash"], rows, [0]
        )
    )
    return blocks


def _prompts(runs: Sequence[PackedRun]) -> list[Block]:
    blocks = [heading("Prompts")]
    shown: set[str] = set()
    for run in runs:
        if not run.prompts:
            blocks.append(paragraph(f"{run.name}: no prompt was sent."))
        for packed in run.prompts:
            if packed.named in shown:
                continue
            shown.add(packed.named)
            blocks.append(heading(packed.named, 2))
            if packed.prompt is None:
                blocks.append(
                    paragraph(
                        "BLANK: the text with this digest is not installed here. The authors have "
                        "to add it.",
                        "notice",
                    )
                )
            blocks += _turns(packed.messages)
        if run.example:
            blocks.append(
                heading(f"As it was sent about study {run.sample.drawn.order[0]}", 2)
            )
            blocks += _turns(run.example)
    return blocks


def _turns(messages: Iterable[Mapping[str, str]]) -> list[Block]:
    blocks = []
    for message in messages:
        blocks.append(heading(message["role"], 3))
        blocks.append(verbatim(message["content"]))
    return blocks


def _results(
    runs: Sequence[PackedRun],
    comparison: PackedComparison,
    images: Mapping[str, PackedFigure],
) -> list[Block]:
    blocks = [heading("Results")]
    for run in runs:
        document = run_document(run.summary, run.run.rubric)
        blocks += _of_run(runs, run)
        blocks.append(fact_rows(document.head))
        blocks += [table_block(table) for table in document.tables]
        blocks += _figures(images, run.name)
    if comparison.printed is not None:
        blocks.append(heading("Comparison"))
        blocks += _document(comparison.printed)
        blocks += _figures(images, "comparison")
    return blocks


def _document(document: Document) -> list[Block]:
    blocks = [fact_rows(document.head)]
    blocks += [table_block(table) for table in document.tables]
    return blocks


def _figures(images: Mapping[str, PackedFigure], of: str) -> list[Block]:
    blocks: list[Block] = []
    for path, figure in images.items():
        if figure.of == of:
            blocks.append(
                {
                    "kind": "figure",
                    "path": path,
                    "title": figure.title,
                    "caption": figure.caption,
                    "width": figure.width,
                }
            )
    return blocks


def _samples(runs: Sequence[PackedRun]) -> list[Block]:
    blocks = [heading("Sample for audit"), paragraph(_SAMPLE)]
    for run in runs:
        blocks += _of_run(runs, run)
        drawn = run.sample.drawn
        n = sum(stratum["n_studies"] for stratum in drawn.strata)
        blocks.append(
            paragraph(
                f"{len(drawn.order):,} of {counted(n, 'study', 'studies')}, seed {drawn.seed}.",
                "small",
            )
        )
        strata = []
        for stratum in drawn.strata:
            values = [group_value(value) for value in stratum["key"].values()]
            strata.append(
                (*values, f"{stratum['n_studies']:,}", f"{stratum['n_drawn']:,}")
            )
        blocks.append(rows_block("Strata", [*drawn.by, "studies", "drawn"], strata))
        rows = [(*row.values(), "", "") for row in run.sample.rows]
        head = [
            "study_id",
            "study_class",
            "outcome",
            "reason",
            "categories",
            "right?",
            "remark",
        ]
        blocks.append(rows_block("Studies", head, rows, wide=[6]))
        for study in run.sample.reports:
            blocks += _study(study)
    return blocks


def _study(study: Mapping[str, Any]) -> list[Block]:
    blocks = [heading(f"Study {study['study_id']}", 3)]
    for name in ("reference", "candidate"):
        blocks.append(paragraph(name.capitalize(), "small"))
        blocks.append(verbatim(study[name]))
    rows = [
        (item["kind"], ", ".join(item["labels"]), item["text"])
        for item in study["items"]
    ]
    blocks.append(
        rows_block("What the judge wrote down", ["kind", "labels", "text"], rows, [2])
    )
    if study["explanation"]:
        blocks.append(verbatim(study["explanation"]))
    return blocks


def _checklists(
    runs: Sequence[PackedRun], checklists: Mapping[str, Sequence[FilledChecklist]]
) -> list[Block]:
    blocks: list[Block] = []
    for run in runs:
        for filled in checklists[run.name]:
            checklist = filled.checklist
            title = f"Checklist {checklist.title}"
            if len(runs) > 1:
                title += f": {run.name}"
            blocks.append({"kind": "page"})
            blocks.append(heading(title))
            blocks.append(paragraph(checklist.about))
            blocks.append(paragraph(_counts(filled), "notice"))
            blocks.append({"kind": "checklist", "items": _items(filled)})
            blocks.append(paragraph(f"Source: {checklist.source}", "small"))
            blocks.append(paragraph(f"Numbers: {checklist.checked}", "small"))
    return blocks


def _counts(filled: FilledChecklist) -> str:
    return (
        f"Of {len(filled.answers)} parts {filled.count('filled in')} are filled in by the run, "
        f"{filled.count(NOT_APPLICABLE)} do not apply to this judge, and {filled.n_blank} are "
        "blank and marked."
    )


def _items(filled: FilledChecklist) -> list[Block]:
    items: dict[str, Block] = {}
    for answer in filled.answers:
        entry = items.setdefault(
            answer.item.number,
            {"number": answer.item.number, "topic": answer.item.topic, "parts": []},
        )
        entry["parts"].append({"what": answer.part.what, "answer": answer.text})
    return list(items.values())


def _references(runs: Sequence[PackedRun]) -> list[Block]:
    blocks = [heading("References")]
    for source in sources_of(runs):
        named = "; ".join(f"{name} {text}" for name, text in source.fields.items())
        blocks.append(paragraph(f"{source.short}: {source.title}. {named}", "small"))
    return blocks


def sources_of(runs: Iterable[PackedRun]) -> list[Source]:
    """Return the works that the methods texts of some runs cite, each once."""
    cited: list[Source] = []
    for run in runs:
        cited += facts.cited(run).sources
    return distinct(cited)
