"""`judge export PREDS [REFS] --to FORM`: pairs of reports as other tools read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from judge.cli.files import NamedPath, check_writable, replacing
from judge.cli.groups import GroupedCommand, heading, with_options
from judge.cli.output import note, print_facts
from judge.cli.studies import file_options, read_studies
from judge.report.words import left_out


@click.command("export", GroupedCommand)
@with_options(*file_options())
@heading("Output")
@click.option(
    "--to",
    "form",
    required=True,
    type=click.Choice(("rexrank", "radeval")),
    help="rexrank: an object of records by study id. radeval: the lists study_id, refs and hyps.",
)
@click.option(
    "--out",
    required=True,
    type=NamedPath(dir_okay=False),
    metavar="FILE",
    help="The JSON file to write.",
)
def command(*, form: str, out: Path, **options: Any) -> None:  # noqa: ANN401
    """Write PREDS and REFS, joined as they are judged, as another tool reads them.

    judge metrics --radeval reads back what RadEval says of the pairs (docs/other-tools.md).
    """
    from judge.studies.export import as_radeval, as_rexrank

    check_writable(out, (options["preds"], options["refs"]))
    studies = read_studies(options)
    written = as_rexrank(studies) if form == "rexrank" else as_radeval(studies)
    with replacing(out) as staged:
        text = json.dumps(written, ensure_ascii=False, indent=2, allow_nan=False)
        staged.write_text(text + "\n", "utf-8")
    facts = [("section", studies.section), ("studies", f"{len(studies):,}")]
    if studies.omitted:
        facts.append(("left out", left_out(studies.omitted)))
    print_facts(facts + [("note", text) for text in studies.notes])
    then = {
        "rexrank": f"judge reads it back with --section {studies.section}",
        "radeval": "judge metrics --radeval reads what RadEval says of it",
    }
    note(f"export  {out}; {then[form]}")
