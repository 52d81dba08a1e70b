"""`judge stress make REFS --out DIR`: candidates with errors that are known, and no judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.files import NamedPath
from judge.cli.groups import GroupedCommand, heading, with_options
from judge.cli.output import emit, format_option, list_option, note, print_facts, print_tables

if TYPE_CHECKING:
    from judge.report.tables import Table
    from judge.stress.changes import Change
    from judge.stress.folder import Recipe

_HEAD = ("change", "group", "why not made", "made", "not made")


SOURCE_OPTIONS = (
    click.option("--id-field", metavar="FIELD", help="The field that holds the study id."),
    click.option("--reference-field", metavar="FIELD", help="The field that holds the report."),
    click.option(
        "--section",
        metavar="findings|impression|report",
        help="The part of the reports to change. Default: findings where the references have "
        "them, else the whole report.",
    ),
)
"""How the references are read."""
CANDIDATE_OPTIONS = (
    heading("Candidates"),
    click.option(
        "-n",
        type=click.IntRange(min=1),
        default=200,
        show_default=True,
        metavar="N",
        help="Of so many studies, drawn at random.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=1,
        show_default=True,
        help="Of the draw and of every choice.",
    ),
    list_option(
        "--changes",
        metavar="NAME",
        help="Make these alone (repeat it, or separate with commas). Default: all.",
    ),
)
"""Which candidates are made."""


@click.command("make", GroupedCommand, short_help="Make candidates with errors that are known.")
@click.argument("refs", required=False)
@heading("Files")
@click.option(
    "--out",
    type=NamedPath(file_okay=False),
    metavar="DIR",
    help="Write preds.json, refs.json, truth.jsonl and stress.json here. It may be new, or empty.",
)
@with_options(
    *SOURCE_OPTIONS,
    *CANDIDATE_OPTIONS,
    click.option("--list", "is_list", is_flag=True, help="List the changes, and make nothing."),
)
@heading("Output")
@format_option
def make(
    *,
    refs: str | None,
    out: Path | None,
    id_field: str | None,
    reference_field: str | None,
    section: str | None,
    n: int,
    seed: int,
    changes: list[str],
    is_list: bool,
    form: str,
) -> None:
    """Make candidates out of the references REFS, with a known truth for each.

    Judge them as any others: judge green DIR/preds.json DIR/refs.json. The id of a candidate is
    STUDY/CHANGE; truth.jsonl says what was changed and what must come of it. What could not be
    made is counted with its reason. No judge is asked.
    """
    from judge.stress.changes import chosen

    picked = chosen(changes)
    if is_list:
        listed: list[dict[str, Any]] = [
            {"change": one.name, "group": one.group, "does": one.does, "expected": one.expected}
            for one in picked
        ]
        _print("Changes", ("change", "group", "does", "expected"), listed, form, n_left=4)
        return
    if refs is None or out is None:
        raise click.UsageError("give REFS and --out DIR, or --list")
    from judge.stress import folder

    folder.check_free(out)
    recipe = recipe_of(refs, id_field, reference_field, section, n, seed, picked)
    manifest = folder.write(out, recipe)
    if form == "json":
        from judge.report.formats import as_json

        own = {k: v for k, v in manifest.items() if k not in ("format", "version")}
        emit(as_json({"out": str(out), **own}))
    else:
        rows = _rows(manifest["changes"], every_reason=form == "csv")
        if form == "table":
            print_facts(made_facts(manifest))
        _print("Made", _HEAD, rows, form, n_left=3)
    say_made(recipe, manifest, n)
    note(f"written to {out}")


def recipe_of(
    refs: str,
    id_field: str | None,
    reference_field: str | None,
    section: str | None,
    n: int,
    seed: int,
    changes: Sequence[Change],
) -> Recipe:
    """Read the references and draw of them; raises `JudgeError` as `read_references` does."""
    from judge.stress import making
    from judge.stress.folder import Recipe
    from judge.studies.names import NamedFields

    fields = NamedFields(id=id_field, reference=reference_field)
    studies = making.read_references(refs, fields, section)
    return Recipe(refs, studies, studies.drawn(n, seed), changes, seed)


def made_facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what was made, as names and words."""
    n_taken, n_there = manifest["n_studies"], manifest["n_references"]
    return [
        ("studies", f"{n_taken:,} of {n_there:,}, seed {manifest['seed']}"),
        ("section", str(manifest["section"])),
        ("candidates", f"{manifest['n_candidates']:,}"),
    ]


def say_made(recipe: Recipe, manifest: Mapping[str, Any], n: int) -> None:
    """Say what was odd about the references, and which changes were made on none of them."""
    from judge.report.words import counted

    for text in recipe.studies.notes:
        note(text)
    if n_left := manifest["n_left_out"]:
        left = counted(n_left, "reference is", "references are")
        note(f"{left} empty, and {'was' if n_left == 1 else 'were'} left out")
    if n > manifest["n_references"]:
        there = manifest["n_references"]
        note(f"{counted(there, 'reference is', 'references are')} there: all are taken")
    if nowhere := [str(one["change"]) for one in manifest["changes"] if not one["made"]]:
        note(f"made on no report: {', '.join(nowhere)}")


def _rows(counted: list[Any], *, every_reason: bool) -> list[dict[str, object]]:
    rows = []
    for one in counted:
        reasons = [*one["not_made"].items()]
        head = {"change": one["change"], "group": one["group"], "made": one["made"]}
        if every_reason:
            rows += [
                {**head, "not made": k, "why not made": why} for why, k in reasons or [("", 0)]
            ]
            continue
        why = "; ".join(f"{why} ({k:,})" if len(reasons) > 1 else why for why, k in reasons)
        rows.append({**head, "not made": sum(k for _, k in reasons), "why not made": why})
    return rows


def _print(
    title: str, head: tuple[str, ...], rows: list[dict[str, Any]], form: str, *, n_left: int
) -> None:
    from judge.report.formats import as_json, markdown_table, rows_as_csv

    if form == "json":
        emit(as_json(rows))
    elif form == "csv":
        emit(rows_as_csv(rows, head))
    else:
        table = _table(title, head, rows, n_left)
        if form == "md":
            emit(markdown_table(table))
        else:
            print_tables([table])


def _table(title: str, head: tuple[str, ...], rows: list[dict[str, Any]], n_left: int) -> Table:
    from judge.report.tables import Table

    cells = [[one[name] for name in head] for one in rows]
    shown = [
        tuple(f"{one:,}" if isinstance(one, int) else str(one) for one in row) for row in cells
    ]
    return Table(title, head, tuple(shown), n_left)
