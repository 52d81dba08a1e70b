"""`judge check PREDS [REFS]`: what would be judged, asking nobody."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from judge.cli.judging import REFERENCE_OPTIONS, asked_of
from judge.cli.options import GroupedCommand, heading, with_options
from judge.cli.output import emit, format_of, print_facts
from judge.cli.studies import file_options, limit_option, limited, read_sections, shard_option

if TYPE_CHECKING:
    from judge.studies import StudySet

_SHOWN = 3
_LONGEST = 400
_MOST_CLASSES = 10


@click.command("check", GroupedCommand, short_help="Say what would be judged; no judge is asked.")
@with_options(
    *file_options("are described one after the other."),
    limit_option,
    shard_option,
    *REFERENCE_OPTIONS,
)
@heading("Output")
@format_of("table", "json", text="What to print: facts for people, or JSON.")
def command(form: str, **options: Any) -> None:  # noqa: ANN401
    """Read PREDS and REFS, join them, and print what would be judged. No judge is asked.

    Shows the fields that reports and ids are taken from, the study classes, the further
    fields, what is left out, and the first three studies. Then `judge RUBRIC --dry-run` says what
    judging them would cost, and `--limit 50` judges fifty of them.
    """
    from judge.report.formats import as_json
    from judge.running.shards import Shard

    shard = Shard.of(options["shard"]) if options["shard"] else None
    checked = []
    for studies in read_sections(options):
        drawn = limited(studies, options["limit"]) if options["limit"] else studies
        checked.append(_described(asked_of(drawn, shard, options)))
    if form == "json":
        by_section = {each["section"]: each for each in checked}
        emit(as_json(checked[0] if len(checked) == 1 else by_section))
        return
    for each in checked:
        print_facts(_facts(each))


def _described(studies: StudySet) -> dict[str, Any]:
    classes = Counter(studies.study_classes) if studies.class_field else None
    return {
        "model": studies.model,
        "read_from": {**studies.read_from, "study_class": studies.class_field},
        "section": studies.section,
        "n_studies": len(studies),
        "study_classes": classes and {name or "none given": n for name, n in classes.most_common()},
        "fields": list(studies.fields),
        "omitted": dict(studies.omitted),
        "n_empty_candidates": sum(not text for text in studies.candidates),
        "notes": list(studies.notes),
        "first": [
            {"study_id": study.study_id, "reference": study.reference, "candidate": study.candidate}
            for study in islice(studies, _SHOWN)
        ],
    }


def _facts(checked: dict[str, Any]) -> list[tuple[str, str]]:
    from judge.report.words import left_out

    classes = checked["study_classes"] or {}
    counts = [f"{name} {n:,}" for name, n in classes.items()]
    if len(counts) > _MOST_CLASSES:
        counts[_MOST_CLASSES:] = [f"and {len(counts) - _MOST_CLASSES:,} more"]
    read_from = {role.replace("_", " "): name for role, name in checked["read_from"].items()}
    facts = {
        "model": checked["model"],
        **{f"{role} from": name for role, name in read_from.items()},
        "section": checked["section"],
        "studies": f"{checked['n_studies']:,}",
        "study class": ", ".join(counts) or "inferred by the lexicon when they are judged",
        "other fields": ", ".join(checked["fields"]) or "none",
        "left out": left_out(checked["omitted"]),
        "empty candidates": f"{checked['n_empty_candidates']:,}, judged like any other",
    }
    lines = [(name, value) for name, value in facts.items() if value]
    lines += [("note", text) for text in checked["notes"]]
    for study in checked["first"]:
        lines.append((f"study {study['study_id']}", ""))
        lines += [(side, _cut(study[side]) or "(empty)") for side in ("reference", "candidate")]
    return lines


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 3] + "..."
