"""`judge check PREDS [REFS]`: what would be judged, asking nobody."""

from __future__ import annotations

from typing import Any

import click

from judge.cli.judging import REFERENCE_OPTIONS, asked_of
from judge.cli.options import GroupedCommand, heading, with_options
from judge.cli.output import emit, format_of, print_facts
from judge.cli.studies import file_options, limit_option, limited, read_sections, shard_option

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
    from judge.running.preview import described, facts
    from judge.running.shards import Shard
    from judge.tables.data import as_json

    shard = Shard.of(options["shard"]) if options["shard"] else None
    checked = []
    for studies in read_sections(options):
        drawn = limited(studies, options["limit"]) if options["limit"] else studies
        checked.append(described(asked_of(drawn, shard, options)))
    if form == "json":
        by_section = {each["section"]: each for each in checked}
        emit(as_json(checked[0] if len(checked) == 1 else by_section))
        return
    for each in checked:
        lines = facts(each)
        for study in each["first"]:
            lines.append((f"study {study['study_id']}", ""))
            lines.append(("reference", _cut(study["reference"])))
            lines.append(("candidate", _cut(study["candidate"]) or "(empty)"))
        print_facts(lines)


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 3] + "..."
