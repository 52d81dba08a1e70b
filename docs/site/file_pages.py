"""The files that are read and written: their fields and columns, with what each says.

What there is comes from the program's own definitions and from a run of the examples; what it
says is written here. A field that is not described here, or is no longer there, ends the build.
"""

from __future__ import annotations

import json
import tempfile
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin

from field_words import COLUMNS, INPUT_ROLES, MANIFEST, RECORD, SIGNATURE, SUMMARY
from pydantic import BaseModel
from typing_extensions import TypedDict, get_type_hints, is_typeddict  # as forms' own

import judge
from judge.run_files.entries import ExperimentEntry, ReadingEntry
from judge.run_files.manifest import RunManifest
from judge.stats.summary import FIXED
from judge.studies.columns import FIELD_NAMES
from judge.types import Annotation, Completion


class KeptAnswer(TypedDict):
    """An answer with its key in the cache and its checksum, None where no cache keeps it."""

    answer: Completion | None
    cache_key: str | None
    sha256: str | None


class _Seldom(TypedDict, total=False):
    """What manifests of readings, shards, experiments and runs made of several have besides."""

    reading: ReadingEntry
    experiment: ExperimentEntry
    shard: dict[str, Any]
    combined: dict[str, Any]


class StudyRecord(KeptAnswer):
    """A line of `annotations.jsonl`; `checksum` is that of the line before it."""

    study_id: str
    study_class: str | None
    class_inferred: bool
    fields: dict[str, Any]
    reference: str
    candidate: str
    outcome: Literal["scored", "unparsed", "failed"]
    reason: str | None
    detail: str | None
    annotation: Annotation | None
    corrected: str | None
    measures: dict[str, float | None] | None
    attempt: int
    modality: NotRequired[str]
    earlier: list[KeptAnswer]
    checksum: str


_FOLDER = "reference/files/"
# What stands between a field and those within it, by what holds these.
_WITHIN = {list: "[].", tuple: "[].", dict: ".NAME.", None: "."}
_KINDS = {
    type(None): "null",
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Any: "any",
}
# What only some runs have, and a run of the examples has not.
_SOMETIMES: dict[str, frozenset[str]] = {
    "manifest.json": frozenset(
        (
            "batches",
            "combined.of",
            "combined.parts",
            "combined.parts[].name",
            "combined.parts[].signature",
            "combined.rule",
            "inputs[].path",
            "inputs[].role",
            "inputs[].sha256",
            "of_candidates",
            "repeat",
            "rescored",
            "scale",
            "served",
            "served.answered_as",
            "served.answered_between",
            "served.model",
            "served.provider",
            "shards",
        )
    ),
    "summary.json": frozenset(
        (
            "failures",
            "intervals_by",
            "rates[].statistics.NAME.bounds",
            "reading",
            "statistics.NAME.bounds",
        )
    ),
    "annotations.jsonl": frozenset(),
}


def pages(examples: Path) -> dict[str, str]:
    """Return the reference of files; raises ValueError for what is not described."""
    with tempfile.TemporaryDirectory() as folder:
        refs, preds = (
            json.loads((examples / name).read_text("utf-8")) for name in _FILES
        )
        done = judge.run(refs, preds, out=Path(folder) / "run")
        return {
            f"{_FOLDER}inputs.md": _inputs(),
            f"{_FOLDER}run-folder.md": _run_folder(done),
            f"{_FOLDER}annotations.md": _annotations(done),
            f"{_FOLDER}summary.md": _summary(done),
            f"{_FOLDER}signature.md": _signature(done.manifest),
        }


_FILES = ("refs.json", "preds.json")
_ABSENT = object()


def _inputs() -> str:
    _same("roles of input fields", set(INPUT_ROLES), set(FIELD_NAMES))
    rows = [
        (role, ", ".join(f"`{name}`" for name in names), INPUT_ROLES[role])
        for role, names in FIELD_NAMES.items()
    ]
    return "\n\n".join(
        [
            "# Fields of your files",
            (
                "`judge RUBRIC PREDS REFS` finds what it needs by these names, without regard to "
                "case and punctuation: `Study-ID`, `studyid` and `study_id` are one name. "
                "`judge check PREDS REFS` says which it would take, and asks nobody. "
                "[`--column ROLE=NAME`](../commands/rubric.md#--column) names others. "
                "Every other field is kept, and figures can be grouped by it (`--by`)."
            ),
            _table(("what", "names, the likeliest first", "where it is taken"), rows),
        ]
    )


def _run_folder(done: judge.Run) -> str:
    names = _described(
        _Seldom, "manifest.json", MANIFEST, done.manifest.plain(), _typed(RunManifest)
    )
    table = done.table()
    measures = {measure.name for measure in done.rubric.measures}
    fields = set(done.manifest.fields)
    _same(
        "columns of studies.csv", set(COLUMNS), set(table.columns) - measures - fields
    )
    _same("fixed columns of studies.csv", set(COLUMNS), set(FIXED))
    columns = [(f"`{name}`", said) for name, said in COLUMNS.items()]
    columns.insert(
        3,
        ("*each further field*", "As your files have it: site, dataset, patient, ..."),
    )
    columns.append(
        (
            "*each measure*",
            "The rubric's numbers: its page has them. Empty where not scored.",
        )
    )
    return "\n\n".join(
        [
            "# The run folder",
            "A folder is a run when it holds a `manifest.json`: that file is written last.",
            _table(
                ("file", "what it holds"),
                [
                    ("`manifest.json`", "what made the run: [below](#manifestjson)"),
                    (
                        "`annotations.jsonl`",
                        "a line a study: [its fields](annotations.md)",
                    ),
                    (
                        "`studies.csv`, `studies.parquet`",
                        "a row a study: [below](#studiescsv)",
                    ),
                    ("`summary.json`", "what was printed: [its fields](summary.md)"),
                    (
                        "`server.log`",
                        "what a vLLM server wrote, where the run started one",
                    ),
                    (
                        "`reviews.jsonl`, `readings.jsonl`",
                        "what people wrote on the pages, if any",
                    ),
                    (
                        "`names.jsonl`",
                        "the names that the run had before it was renamed in `judge serve`",
                    ),
                ],
            ),
            "## studies.csv { #studiescsv }",
            "`studies.parquet` holds the same, with types. Studies stand in the references' order.",
            _table(("column", "what it says"), columns),
            "## manifest.json { #manifestjson }",
            names,
        ]
    )


def _annotations(done: judge.Run) -> str:
    record = next(iter(done.records()))
    fields = _described(StudyRecord, "annotations.jsonl", RECORD, record)
    text = (done.path / "annotations.jsonl").read_text("utf-8").splitlines()[13]
    example = json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    return "\n\n".join(
        [
            "# annotations.jsonl",
            (
                "One line a study, each a JSON object, in the references' order. `reason` and "
                "`detail` are null where the outcome is `annotated`; `annotation` and `measures` "
                "are null where it is not."
            ),
            fields,
            "## Example",
            "A study of the examples, as the built-in judge annotated it by GREEN:",
            f"```json\n{example}\n```",
        ]
    )


def _summary(done: judge.Run) -> str:
    fields = _described(None, "summary.json", SUMMARY, done.summary().plain())
    return "\n\n".join(
        [
            "# summary.json",
            (
                "What a run printed, as `--format json` prints it. `NAME` is a statistic or a "
                "measure of the rubric; its page says what each is."
            ),
            fields,
        ]
    )


def _signature(manifest: RunManifest) -> str:
    line, (first, *others) = manifest.signature, manifest.signature_parts()
    parts = {"rubric": first}
    for part in others:
        name, _, text = part.partition(":")
        parts[name] = text
    if odd := set(parts) - set(SIGNATURE):
        raise ValueError(f"parts of a signature that are not described: {sorted(odd)}")
    of_examples = [
        (f"`{name}`", f"`{parts[name]}`" if name in parts else "-", said)
        for name, said in SIGNATURE.items()
    ]
    return "\n\n".join(
        [
            "# The signature",
            (
                "One line that names everything that changes a number. Two figures are comparable "
                "where their signatures are the same but for the studies' digest. Publish it with "
                "the number. That of the examples, judged by GREEN with the built-in judge:"
            ),
            f"```text\n{line}\n```",
            "Parts stand between `|`, in this order; one that has nothing to say is left out.",
            _table(("part", "here", "what it says"), of_examples),
        ]
    )


def _described(
    form: type | None,
    file: str,
    words: Mapping[str, str],
    real: Mapping[str, Any],
    typed: Mapping[str, str] | None = None,
) -> str:
    """Return the table of a file's fields; raises ValueError where `words` has others.

    Their types are those that are checked as the file is read, among them `typed`, else those of a
    real run.
    """
    kinds = dict(_fields(form)) if form else {}
    kinds = {**(typed or {}), **kinds}
    for name in words:
        if name not in kinds and (kind := _kind_at(real, name)):
            kinds[name] = kind
    kinds |= {
        name: "any, not always there" for name in _SOMETIMES[file] if name not in kinds
    }
    _same(f"fields of {file}", set(words), {*kinds, *real})
    return _table(
        ("field", "type", "what it says"),
        [(f"`{name}`", kinds[name], said) for name, said in words.items()],
    )


def _typed(model: type[BaseModel]) -> dict[str, str]:
    """Return the type of each field of a file, in words."""
    fields = model.model_fields.items()
    return {name: _read(field.annotation)[0] for name, field in fields}


def _kind_at(real: Any, path: str) -> str:  # noqa: ANN401 - JSON's types
    """Return in words what stands at a path of a real file, empty where nothing does."""
    for part in path.replace("[].", ".[].").split("."):
        if not real:
            return ""
        if part == "[]":
            real = real[0]
        else:
            real = (
                next(iter(real.values())) if part == "NAME" else real.get(part, _ABSENT)
            )
        if real is _ABSENT:
            return ""
    return _kind_of(real)


def _fields(form: type, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield each field of a form, those within others by their path, with its type in words."""
    if issubclass(form, BaseModel):
        hints = {name: field.annotation for name, field in form.model_fields.items()}
    else:
        hints = get_type_hints(form, include_extras=True)
    for name, hint in hints.items():
        kind, inner = _read(hint)
        path = f"{before}{name}"
        yield path, kind
        if (
            inner is not None and inner is not KeptAnswer
        ):  # the same as the answer's own
            yield from _fields(inner, f"{path}{_WITHIN[get_origin(_bare(hint))]}")


def _bare(hint: Any) -> Any:  # noqa: ANN401 - whatever stands in a hint
    """Return a hint without what says that it may be missing or null."""
    if get_origin(hint) is NotRequired:
        return _bare(get_args(hint)[0])
    if get_origin(hint) is types.UnionType:
        return next(one for one in get_args(hint) if one is not type(None))
    return hint


def _read(hint: Any) -> tuple[str, type | None]:  # noqa: ANN401 - whatever stands in a hint
    """Return a type in words, and the form of what is within."""
    of, inner = get_origin(hint), get_args(hint)
    if of is NotRequired:
        kind, form = _read(inner[0])
        return f"{kind}, not always there", form
    if of is Annotated:
        return _read(inner[0])
    if of in (types.UnionType, Union) and type(None) not in inner:
        return "number", None
    if of is Literal:
        return " or ".join(f"`{one}`" for one in inner), None
    if of is types.UnionType or type(None) in inner:
        kind, form = _read(next(one for one in inner if one is not type(None)))
        return f"{kind} or null", form
    if of in (list, tuple):
        kind, form = _read(inner[0])
        return f"list of {kind}", form
    if of in (dict, Mapping):
        kind, form = _read(inner[1])
        return f"object of {kind}", form
    is_model = isinstance(hint, type) and issubclass(hint, BaseModel)
    if is_typeddict(hint) or is_dataclass(hint) or is_model:
        return "object", hint
    return _KINDS[hint], None


def _kind_of(value: object) -> str:
    if isinstance(value, Mapping):
        return "object"
    if value is None:
        return "any"
    return "list" if isinstance(value, list) else _KINDS[type(value)]


def _same(what: str, described: set[str], there: set[str]) -> None:
    if described != there:
        raise ValueError(
            f"{what}: not described {sorted(there - described)}, "
            f"described and not there {sorted(described - there)} (docs/site/field_words.py)"
        )


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
