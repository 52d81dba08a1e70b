"""`judge check PREDS [REFS]`: what would be judged, asking nobody."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import GroupedCommand, heading, with_options
from judge.cli.output import emit, format_of, print_facts, print_lines
from judge.cli.studies import FILE_OPTIONS, read_studies

if TYPE_CHECKING:
    from judge.report.study import Line
    from judge.studies import StudySet

_SHOWN = 3
_LONGEST = 400
_MOST_CLASSES = 10


@click.command("check", GroupedCommand, short_help="Say what would be judged; no judge is asked.")
@with_options(*FILE_OPTIONS)
@heading("Output")
@format_of("table", "json", text="What to print: facts for people, or JSON.")
def command(form: str, **options: Any) -> None:  # noqa: ANN401
    """Read PREDS and REFS, join them, and print what would be judged. No judge is asked.

    Shows the fields that reports and ids are taken from, the study classes, the further
    fields, what is left out, and the first three studies.
    """
    from judge.report.formats import as_json

    found = _described(read_studies(options))
    if form == "json":
        emit(as_json(found))
        return
    print_facts(_facts(found))
    for study in found["first"]:
        print_lines(_shown(study))


def _described(studies: StudySet) -> dict[str, Any]:
    classes = Counter(studies.study_classes) if studies.class_field else None
    return {
        "model": studies.model,
        "read_from": {**studies.read_from, "study_class": studies.class_field},
        "section": studies.section,
        "n_studies": len(studies),
        "study_classes": classes and {one or "none given": n for one, n in classes.most_common()},
        "fields": list(studies.fields),
        "omitted": dict(studies.omitted),
        "n_empty_candidates": sum(not text for text in studies.candidates),
        "notes": list(studies.notes),
        "first": [
            {"study_id": study.study_id, "reference": study.reference, "candidate": study.candidate}
            for study in islice(studies, _SHOWN)
        ],
    }


def _facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    from judge.report.words import left_out

    classes = found["study_classes"]
    counts = [f"{name} {n:,}" for name, n in (classes or {}).items()]
    if len(counts) > _MOST_CLASSES:
        counts[_MOST_CLASSES:] = [f"and {len(counts) - _MOST_CLASSES:,} more"]
    read_from = {role: name for role, name in found["read_from"].items() if name}
    facts = [
        *([("model", found["model"])] if found["model"] else []),
        *((f"{role.replace('_', ' ')} from", name) for role, name in read_from.items()),
        ("section", found["section"]),
        ("studies", f"{found['n_studies']:,}"),
        ("study class", ", ".join(counts) or "inferred by the lexicon when they are judged"),
        ("other fields", ", ".join(found["fields"]) or "none"),
    ]
    if found["omitted"]:
        facts.append(("left out", left_out(found["omitted"])))
    if n := found["n_empty_candidates"]:
        facts.append(("empty candidates", f"{n:,}, judged like any other"))
    return facts + [("note", text) for text in found["notes"]]


def _shown(study: dict[str, str]) -> list[Line]:
    from judge.report.study import Line

    return [
        Line(f"study {study['study_id']}", "heading"),
        Line(_cut(study["reference"]), lead="reference  "),
        Line(_cut(study["candidate"]) or "(empty)", lead="candidate  "),
    ]


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 3] + "..."
