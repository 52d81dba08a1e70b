"""The truth of candidates: what was changed in each, read back, and held against a run's texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict

from judge import jsonio
from judge.rubrics.categories import CATEGORY
from judge.running.folder import Run
from judge.running.forms import fault
from judge.running.texts import Digests, digest, digests
from judge.stress.changes import known
from judge.stress.folder import MANIFEST, TRUTH
from judge.types import JudgeError

Group = Literal["unchanged", "slip", "error", "count", "hostile"]
NO_BASE = -1
_LETTERS = frozenset(label.name for label in CATEGORY.labels)


class _Error(TypedDict):
    categories: list[str]
    significant: bool
    doubtful: bool


class _Line(TypedDict):
    """A line of truth.jsonl, as far as figures are made of it; it may hold more."""

    id: str
    study: str
    change: str
    group: Group
    same_reading_as: str | None
    before: str
    after: str
    k: int
    errors: list[_Error]


@dataclass(frozen=True)
class Truth:
    """The candidates in the order of their file, a row each; the texts are kept as digests.

    `studies` numbers the study of each, `changes` its change by its place in `names`, `groups` has
    the group of each change. `k` is how many errors it has; of one with a single error
    `categories` has the letters of the six that are right, `is_significant` and `is_doubtful` what
    the error is. `bases` is the row of the candidate that a hostile text is compared with.
    `made_by` is what stress.json beside it says, empty where it is not there.
    """

    path: Path
    sha256: str
    ids: tuple[str, ...]
    study_ids: tuple[str, ...]
    studies: NDArray[np.intp]
    names: tuple[str, ...]
    groups: tuple[Group, ...]
    changes: NDArray[np.intp]
    k: NDArray[np.intp]
    categories: tuple[frozenset[str], ...]
    is_significant: NDArray[np.bool_]
    is_doubtful: NDArray[np.bool_]
    bases: NDArray[np.intp]
    texts: tuple[Digests, ...]
    made_by: Mapping[str, Any]

    def rows_of(self, *changes: str) -> NDArray[np.intp]:
        """Return the rows of some changes, in their order; none of a change that is not there."""
        numbers = [self.names.index(name) for name in changes if name in self.names]
        return np.flatnonzero(np.isin(self.changes, numbers))

    def in_group(self, *groups: Group) -> list[str]:
        """Return the changes of some groups, in their order."""
        return [
            name for name, group in zip(self.names, self.groups, strict=True) if group in groups
        ]

    @cached_property
    def units(self) -> NDArray[np.intp]:
        """The number of each candidate's reference: studies with the same text are one unit.

        Intervals are of these: what is said of a text that stands in many studies is said once.
        """
        numbers: dict[object, int] = {}
        found = [numbers.setdefault(one[0], len(numbers)) for one in self.texts]
        return np.array(found, dtype=np.intp)

    @property
    def changes_made(self) -> dict[str, Mapping[str, Any]]:
        """What stress.json says of each change, by name."""
        return {str(one["change"]): one for one in self.made_by.get("changes", ())}


@dataclass
class _Rows:
    ids: dict[str, int] = field(default_factory=dict)
    studies: dict[str, int] = field(default_factory=dict)
    changes: dict[str, int] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    seen: dict[tuple[int, ...], str] = field(default_factory=dict)
    of_study: list[int] = field(default_factory=list)
    of_change: list[int] = field(default_factory=list)
    k: list[int] = field(default_factory=list)
    categories: list[frozenset[str]] = field(default_factory=list)
    is_significant: list[bool] = field(default_factory=list)
    is_doubtful: list[bool] = field(default_factory=list)
    bases: list[str | None] = field(default_factory=list)
    texts: list[Digests] = field(default_factory=list)

    def add(self, line: _Line) -> str | None:
        """Take a line in; return what is wrong with it, in a few words."""
        name, change, group, errors = line["id"], line["change"], line["group"], line["errors"]
        if name in self.ids:
            return f"the id {name!r} stands there twice"
        letters = [letter for one in errors for letter in one["categories"]]
        if wrong := sorted({*letters} - _LETTERS):
            return f"there is no category {wrong[0]!r}; there are {', '.join(sorted(_LETTERS))}"
        if line["k"] != len(errors) or not all(one["categories"] for one in errors):
            return f"'k' is {line['k']}, and {len(errors)} errors with a category are not as many"
        if group == "error" and len(errors) != 1:
            return f"a candidate of the group 'error' has one error, and this has {len(errors)}"
        if (group == "hostile") != (line["same_reading_as"] is not None):
            return "'same_reading_as' goes with the group 'hostile', and with no other"
        if self.groups.setdefault(change, group) != group:
            return f"the change {change!r} is of the group {self.groups[change]!r} elsewhere"
        study = self.studies.setdefault(line["study"], len(self.studies))
        number = self.changes.setdefault(change, len(self.changes))
        keys = [(study, number)] + ([(study, -1, line["k"])] if group == "count" else [])
        for key in keys:
            if (other := self.seen.setdefault(key, name)) != name:
                return f"{name!r} repeats {other!r}: the same study with the same change"
        self.ids[name] = len(self.ids)
        self.of_study.append(study)
        self.of_change.append(number)
        self.k.append(line["k"])
        self.categories.append(frozenset(letters))
        self.is_significant.append(any(one["significant"] for one in errors))
        self.is_doubtful.append(any(one["doubtful"] for one in errors))
        self.bases.append(line["same_reading_as"])
        self.texts.append((digest(line["before"]), digest(line["after"])))
        return None


def read_truth(path: Path) -> Truth:
    """Read a truth.jsonl, or that of a folder, and stress.json beside it where it is there.

    Raises `JudgeError`, with the line, for what is damaged, said twice, or of an unknown category.
    """
    path = path / TRUTH if path.is_dir() else path
    sha, rows = hashlib.sha256(), _Rows()
    for n, raw in enumerate(lines_of(path), 1):
        sha.update(raw)
        try:
            line = jsonio.read(raw)
            wrong = fault(line, _Line)
        except jsonio.JsonError as error:
            wrong = str(error)
        if wrong := wrong or rows.add(line):
            raise JudgeError(f"{path} is damaged: in line {n:,}, {wrong}; {_AGAIN}")
    if not rows.ids:
        raise JudgeError(f"{path} holds no candidate; {_AGAIN}")
    for name, base in zip(rows.ids, rows.bases, strict=True):
        if base is not None and base not in rows.ids:
            raise JudgeError(
                f"{path} is damaged: {name!r} is to have the reading of {base!r}, which is not "
                f"there; {_AGAIN}"
            )
    order = _order(rows.changes)
    number_of = {rows.changes[name]: at for at, name in enumerate(order)}
    return Truth(
        path,
        sha.hexdigest(),
        tuple(rows.ids),
        tuple(rows.studies),
        np.array(rows.of_study, dtype=np.intp),
        tuple(order),
        tuple(rows.groups[name] for name in order),
        np.array([number_of[one] for one in rows.of_change], dtype=np.intp),
        np.array(rows.k, dtype=np.intp),
        tuple(rows.categories),
        np.array(rows.is_significant, dtype=bool),
        np.array(rows.is_doubtful, dtype=bool),
        np.array([NO_BASE if b is None else rows.ids[b] for b in rows.bases], dtype=np.intp),
        tuple(rows.texts),
        _made_by(path, len(rows.ids)),
    )


_AGAIN = "make the candidates again with judge stress make"


def _order(names: Mapping[str, int]) -> list[str]:
    """Return the changes in the order in which they are printed; those not known come last."""
    places = {name: at for at, name in enumerate(known())}
    return sorted(names, key=lambda name: (places.get(name, len(places)), names[name]))


def lines_of(path: Path) -> Iterator[bytes]:
    """Yield the lines of a truth.jsonl as they lie there; raises `JudgeError`."""
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error


class _Change(TypedDict):
    change: str
    group: str
    does: str
    made: int
    not_made: dict[str, int]


class _MadeBy(TypedDict):
    references: str
    seed: int
    section: str | None
    n_candidates: int
    changes: list[_Change]


def _made_by(truth: Path, n: int) -> Mapping[str, Any]:
    path = truth.with_name(MANIFEST)
    if not path.exists():
        return {}
    try:
        found = jsonio.read(path.read_bytes())
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error
    except jsonio.JsonError as error:
        raise JudgeError(f"{path} is damaged: {error}; {_AGAIN}") from error
    if wrong := fault(found, _MadeBy):
        raise JudgeError(f"{path} is damaged: {wrong}; {_AGAIN}")
    if found["n_candidates"] != n:
        raise JudgeError(
            f"{truth} holds {n:,} candidates, {path.name} {found['n_candidates']:,}: they do not "
            f"fit together; {_AGAIN}"
        )
    return dict(found)


def find_truth(run: Run) -> Path | None:
    """Return the truth of a run's candidates, None where it is not found.

    That is the one of the folder of `judge stress` that the run lies in, else the one beside the
    predictions that the run says it judged.
    """
    places = [run.path.resolve().parent.parent]
    places += [
        Path(file["path"]).parent
        for file in run.manifest["inputs"]
        if file["role"] in ("preds", "both")
    ]
    return next((place / TRUTH for place in places if (place / TRUTH).is_file()), None)


def check_candidates(run: Run, truth: Truth) -> list[str]:
    """Raise `JudgeError` where a run is not of these candidates; return what is not known of it.

    Every study of the run must be a candidate, with the texts that were made, white space aside.
    A run may lack some.
    """
    ids = run.columns([])["study_id"].to_pylist()
    row_of = {name: row for row, name in enumerate(truth.ids)}
    if other := [name for name in ids if name not in row_of]:
        raise JudgeError(
            f"{run.path} is not a run of the candidates of {truth.path}: {len(other):,} of its "
            f"{len(ids):,} studies are none of them, {other[0]!r} among them; name the truth that "
            "goes with it with --truth"
        )
    notes = []
    found = digests(run, row_of)
    for side, what in enumerate(("references", "candidates")):
        if found and all(texts[side] is None for texts in found.values()):
            notes.append(f"the {what} are not in {run.path}: they could not be checked")
            continue
        differing = [
            name
            for name, texts in found.items()
            if texts[side] != truth.texts[row_of[name]][side]
            and (side or texts[side] is not None)  # of a reader who has some references alone
        ]
        if differing:
            raise JudgeError(
                f"{run.path} has other {what} than {truth.path} for {len(differing):,} of its "
                f"{len(found):,} studies, {differing[0]!r} among them; judge the files that were "
                "made with it"
            )
    return notes
