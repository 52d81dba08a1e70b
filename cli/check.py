"""`judge check PREDS [REFS]`: what would be judged, asking nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from judge.cli.judging import REFERENCE_OPTIONS, asked_of
from judge.cli.options import GroupedCommand, heading, with_options
from judge.cli.output import emit, format_of, print_facts, print_lines
from judge.cli.studies import file_options, limit_option, limited, read_sections, shard_option

if TYPE_CHECKING:
    from judge.report.study import Line

_LONGEST = 400


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
    from judge.running.check import described, facts
    from judge.running.shards import Shard

    found = []
    for studies in read_sections(options):
        drawn = limited(studies, options["limit"]) if options["limit"] else studies
        shard = Shard.of(options["shard"]) if options["shard"] else None
        found.append(described(asked_of(drawn, shard, options)))
    if form == "json":
        emit(as_json(found[0] if len(found) == 1 else {one["section"]: one for one in found}))
        return
    for one in found:
        print_facts(facts(one))
        for study in one["first"]:
            print_lines(_shown(study))


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
