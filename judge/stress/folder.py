"""The folder that candidates are written to: whole, or not at all, and found there again."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from judge import jsonio
from judge.distribution import version
from judge.running.files import ANOTHER, entries_of, folder_at_once
from judge.running.run import RUNS
from judge.stress.changes import Change
from judge.stress.making import Candidate, Counts, make
from judge.stress.text import NotMade
from judge.studies import read_pair
from judge.studies.study_set import StudySet
from judge.types import JudgeError

PREDS, REFS, TRUTH, MANIFEST = "preds.json", "refs.json", "truth.jsonl", "stress.json"
FORMAT = 1
MODEL = "stress"
"""What runs of candidates have as the model whose reports they are."""
_FIELDS = {"findings": "section_findings", "impression": "section_impression", "report": "report"}
# What must agree for candidates to be the same; what came of it is made anew.
_DECIDES = ("version", "sha256", "section", "seed", "n_studies", "n_references", "n_left_out")

_SAID = {
    "version": "the version of judge",
    "sha256": "the file of references",
    "n_studies": "the number of studies",
    "n_references": "the number of references",
    "n_left_out": "the number left out",
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides candidates: `taken` of the references, the changes and the seed.

    `references` is the file as it was named, `studies` all that it holds.
    """

    references: str
    studies: StudySet
    taken: StudySet
    changes: Sequence[Change]
    seed: int

    def said(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return {
            "references": self.references,
            "sha256": self.studies.inputs[0].sha256,
            "section": self.studies.section,
            "seed": self.seed,
            "n_studies": len(self.taken),
            "n_references": len(self.studies),
            "n_left_out": sum(self.studies.omitted.values()),
        }

    def default_folder(self) -> Path:
        """Return the folder below `judge-runs` that candidates of this recipe alone have."""
        decides = {name: value for name, value in self.said().items() if name in _DECIDES}
        texts = [*zip(self.taken.study_ids, self.taken.references, strict=True)]
        all_of_it = [version(), decides, [one.name for one in self.changes], texts]
        text = json.dumps(all_of_it, sort_keys=True).encode()
        stem = re.sub(r"[^A-Za-z0-9.]+", "-", Path(self.references).stem).strip("-.")[:40]
        digest = hashlib.sha256(text).hexdigest()[:8]
        return RUNS / "-".join(filter(None, (MODEL, stem, digest)))


def check_free(out: Path) -> None:
    """Raise `JudgeError` where `out` is neither new nor an empty folder."""
    if entries_of(out):
        raise JudgeError(f"{out} holds something already; {ANOTHER}")


def write(out: Path, recipe: Recipe) -> dict[str, Any]:
    """Make the candidates and write them, their references and their truth to `out`.

    One is in memory at a time. Returns the manifest. Raises `JudgeError` where the folder holds
    something or cannot be written, and where no change can be made on any report.
    """
    check_free(out)
    text_field = _FIELDS[str(recipe.studies.section)]
    counts = Counts()
    with folder_at_once(out) as place:
        with (
            _entries(place / PREDS) as preds,
            _entries(place / REFS) as refs,
            (place / TRUTH).open("w", encoding="utf-8") as truth,
        ):
            for change, one in make(recipe.taken, recipe.changes, recipe.seed):
                counts.add(change, one)
                if isinstance(one, NotMade):
                    continue
                preds(one.name, {text_field: one.after})
                refs(one.name, _reference(one, text_field))
                truth.write(json.dumps(one.truth(), ensure_ascii=False) + "\n")
        rows = counts.rows(recipe.changes)
        if not counts.n_made:
            raise JudgeError(_nothing_made(recipe, rows))
        manifest = {"format": FORMAT, "version": version(), **recipe.said()}
        digest = hashlib.sha256((place / TRUTH).read_bytes()).hexdigest()
        manifest |= {"n_candidates": counts.n_made.total(), "truth_sha256": digest, "changes": rows}
        text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
        (place / MANIFEST).write_text(text, "utf-8")
        for file in place.iterdir():
            file.chmod(0o600)
    return manifest


def _reference(one: Candidate, text_field: str) -> dict[str, Any]:
    return {
        text_field: one.study.reference,
        **({"study_class": one.study.study_class} if one.study.study_class else {}),
        "patient": one.study.fields.get("patient") or one.study.study_id,
        "study": one.study.study_id,
        "change": one.change.name,
        "group": one.change.group,
    }


class _Entries:
    """Writes a JSON object entry by entry, as `json.dumps` with an indent of 1 writes it whole."""

    def __init__(self, write: Any) -> None:  # noqa: ANN401 - a file's method
        self._write = write
        self._before = "{\n"

    def __call__(self, name: str, value: Mapping[str, Any]) -> None:
        text = json.dumps({name: value}, indent=1, ensure_ascii=False)
        self._write(self._before + text[2:-2])
        self._before = ",\n"

    def end(self) -> None:
        self._write("\n}\n" if self._before == ",\n" else "{}\n")


@contextmanager
def _entries(path: Path) -> Iterator[_Entries]:
    with ExitStack() as opened:
        entries = _Entries(opened.enter_context(path.open("w", encoding="utf-8")).write)
        yield entries
        entries.end()


def _nothing_made(recipe: Recipe, rows: Sequence[Mapping[str, Any]]) -> str:
    whys = [f"{one['change']}: {next(iter(one['not_made']))}" for one in rows if one["not_made"]]
    more = f" (and {len(whys) - 3} more)" if len(whys) > 3 else ""
    return (
        f"no candidate can be made of {recipe.references}: of {len(recipe.taken):,} studies none "
        f"takes a change; {'; '.join(whys[:3])}{more}"
    )


def found(out: Path, recipe: Recipe) -> dict[str, Any] | None:
    """Return the manifest of the candidates that lie in `out`, None where it is new or empty.

    Raises `JudgeError` where it holds something else: other candidates, or files that are none.
    """
    entries = entries_of(out)
    if not entries:
        return None
    if MANIFEST not in entries:
        raise JudgeError(f"{out} holds something, and no {MANIFEST}; {ANOTHER}")
    try:
        there = jsonio.read((out / MANIFEST).read_bytes())
        names = [one["change"] for one in there["changes"]]
    except OSError as error:
        raise JudgeError(f"cannot read {out / MANIFEST}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError) as error:
        raise JudgeError(f"{out / MANIFEST} is no manifest of candidates; {ANOTHER}") from error
    wanted = {"version": version(), **recipe.said()}
    differ = [name for name in _DECIDES if there.get(name) != wanted.get(name)]
    if names != [one.name for one in recipe.changes]:
        differ.append("changes")
    if differ or there.get("format") != FORMAT:
        raise JudgeError(
            f"{out} holds other candidates (they differ in "
            f"{', '.join(_SAID.get(name, name) for name in differ) or 'format'}); "
            f"{ANOTHER}"
        )
    if there.get("truth_sha256") != hashlib.sha256((out / TRUTH).read_bytes()).hexdigest():
        raise _changed(out)
    return dict(there)


def studies_of(out: Path, recipe: Recipe) -> StudySet:
    """Read the candidates in `out` as a run reads them.

    Raises `JudgeError` where they are not those that the truth beside them speaks of, and as
    `read_pair` does.
    """
    preds, refs = str(out / PREDS), str(out / REFS)
    studies = read_pair(preds, refs, section=str(recipe.studies.section), model=MODEL)
    references = dict(zip(recipe.taken.study_ids, recipe.taken.references, strict=True))
    for one, study in zip_longest(_truths(out), studies):
        if one is None or study is None:
            raise _changed(out)
        before = references.get(str(one.get("study")))
        said = (one.get("id"), one.get("before"), one.get("after"), one.get("before"))
        if said != (study.study_id, study.reference, study.candidate, before):
            raise _changed(out)
    return studies


def _truths(out: Path) -> Iterator[dict[str, Any]]:
    try:
        with (out / TRUTH).open("rb") as file:
            for line in file:
                one = jsonio.read(line)
                if not isinstance(one, dict):
                    raise _changed(out)
                yield one
    except OSError as error:
        raise JudgeError(f"cannot read {out / TRUTH}: {error.strerror}") from error
    except jsonio.JsonError as error:
        raise _changed(out) from error


def _changed(out: Path) -> JudgeError:
    return JudgeError(
        f"the candidates in {out} are not as they were made: {PREDS}, {REFS} and {TRUTH} do not "
        f"fit together; {ANOTHER}"
    )
