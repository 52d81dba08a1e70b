"""`judge export PREDS [REFS] --to FORM`: pairs of reports as other tools read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import (
    GroupedCommand,
    NamedPath,
    check_writable,
    heading,
    replacing,
    with_options,
)
from judge.cli.output import note, print_facts
from judge.cli.studies import file_options, read_studies

if TYPE_CHECKING:
    from judge.studies import StudySet

_FIELDS = {"findings": "section_findings", "impression": "section_impression", "report": "report"}


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

    docs/other-tools.md says how RadEval's values of the pairs join judge compare.
    """
    from judge.report.words import left_out

    check_writable(out, (options["preds"], options["refs"]))
    studies = read_studies(options)
    written: dict[str, Any]
    if form == "rexrank":
        written = {
            study_id: _record(studies, row) for row, study_id in enumerate(studies.study_ids)
        }
        then = f"judge reads it back with --section {studies.section}"
    else:
        columns = (studies.study_ids, studies.references, studies.candidates)
        written = dict(zip(("study_id", "refs", "hyps"), columns, strict=True))
        then = "examples/radeval_scores.py scores it for judge compare --metrics"
    with replacing(out) as staged:
        text = json.dumps(written, ensure_ascii=False, indent=2, allow_nan=False)
        staged.write_text(text + "\n", "utf-8")
    facts = [("section", studies.section), ("studies", f"{len(studies):,}")]
    if studies.omitted:
        facts.append(("left out", left_out(studies.omitted)))
    print_facts(facts + [("note", text) for text in studies.notes])
    note(f"export  {out}; {then}")


def _record(studies: StudySet, row: int) -> dict[str, Any]:
    """Return ReXrank's record: the section that is judged, `model_prediction`, and the fields.

    `report` is the whole reference where there is more of it than the section.
    """
    record = {name: column[row] for name, column in studies.fields.items()}
    if not studies.class_inferred[row] and studies.study_classes[row] is not None:
        record[studies.class_field or "study_class"] = studies.study_classes[row]
    whole, section = studies.full_references[row], studies.references[row]
    if whole != section:
        record["report"] = whole
    record[_FIELDS[studies.section]] = section
    return record | {"model_prediction": studies.candidates[row]}
