"""Which of the runs in a folder belong together: the largest set is compared, the rest is named."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from judge.comparing.checks import ComparedRun, compared, reference_file, references
from judge.comparing.names import NamedRun, RunChoice, input_file, named_run
from judge.report.words import counted
from judge.types import JudgeError

_FEWEST, _SHOWN = 3, 5


@dataclass(frozen=True, eq=False, slots=True)
class _Member:
    """A run, what must agree of it, its studies and when it was finished."""

    choice: RunChoice
    named: NamedRun
    compared: ComparedRun
    study_ids: frozenset[str]
    finished: str


_Set = tuple[_Member, ...]


def largest_set(
    choices: Sequence[RunChoice], *, common: bool = False, allow: Collection[str] = ()
) -> tuple[list[RunChoice], list[str]]:
    """Return the runs to compare of those given, and what is to be said of those left out.

    All of them where they fit together. So too where that is for `compare_runs` to refuse: of
    fewer than three, where one is named `NAME=RUN` or is not there, and where no two models fit.
    Else the set of runs that may be compared, by `common` and `allow` as there, with the most
    models, then the most studies, then the most runs; of one rubric it has the judge and prompt
    of the most models. Of a model's runs of one rubric the newest counts, and of its runs those
    on the newest file of predictions. Raises `JudgeError` where two sets are as large, and where
    runs share a guessed name but not the place of the file of predictions.
    """
    as_given: tuple[list[RunChoice], list[str]] = ([*choices], [])
    if len(choices) < _FEWEST or any(one.model or not one.path.exists() for one in choices):
        return as_given
    members, unreadable = _opened(choices)
    rule = _Rule(common=common, allow=allow)
    found = [one for cluster in rule.clusters(members) for one in rule.candidates(cluster)]
    most = max(map(rule.size, found), default=(0, 0, 0))
    if most[0] <= 1:
        return as_given
    first, *others = [one for one in found if rule.size(one) == most]
    if others:
        raise JudgeError(
            "these runs cannot be compared together, and no set of those that can is the largest; "
            f"choose one: {'; '.join(map(rule.command, (first, *others)))}"
        )
    newest, notes = _newest(first)
    rest = [one for one in members if one not in first]
    while rest:
        every = [one for cluster in rule.clusters(rest) for one in rule.candidates(cluster)]
        left = max(every, key=rule.size)
        notes.append(rule.left_out(left, first))
        rest = [one for one in rest if one not in left]
    notes += unreadable[:_SHOWN]
    if len(unreadable) > _SHOWN:
        notes.append(f"left out: {len(unreadable) - _SHOWN:,} more that are no runs")
    chosen = {id(one.choice) for one in newest}
    return [choice for choice in choices if id(choice) in chosen], notes


def _opened(choices: Sequence[RunChoice]) -> tuple[list[_Member], list[str]]:
    """Return the runs, and what is to be said of all that is none."""
    members, unreadable = [], []
    known: dict[frozenset[str], frozenset[str]] = {}  # equal sets are one, and quickly compared
    for choice in choices:
        try:
            named = named_run(choice)
            ids = frozenset(named.run.columns([])["study_id"].to_pylist())
            finished = str(named.run.manifest.get("finished", ""))
            ids = known.setdefault(ids, ids)
            members.append(_Member(choice, named, compared(named), ids, finished))
        except JudgeError as error:
            unreadable.append(f"left out: {error}")
    return members, unreadable


@dataclass(frozen=True, slots=True)
class _Rule:
    """What may differ between runs that are compared."""

    common: bool
    allow: Collection[str]

    def clusters(self, members: Sequence[_Member]) -> list[list[_Member]]:
        """Put together what has the same section, studies and references."""
        found: list[list[_Member]] = []
        for member in sorted(members, key=lambda one: (-len(one.study_ids), one.named.shown)):
            for cluster in found:
                if self._fits(member, cluster):
                    cluster.append(member)
                    break
            else:
                found.append([member])
        return found

    def _fits(self, member: _Member, cluster: Sequence[_Member]) -> bool:
        first, ids = cluster[0], self._studies(cluster)
        if member.compared.section != first.compared.section:
            return False
        if not self._share_studies(member.study_ids, ids):
            return False
        files = {reference_file(one.named) for one in cluster}
        if "references" in self.allow or reference_file(member.named) in files:
            return True
        texts = [references(one.named, sorted(member.study_ids & ids)) for one in (first, member)]
        return texts[0] == texts[1]

    def _share_studies(self, some: frozenset[str], others: frozenset[str]) -> bool:
        return bool(some & others) if self.common else some == others

    def _studies(self, members: Iterable[_Member]) -> frozenset[str]:
        return frozenset.intersection(*{one.study_ids for one in members})

    def candidates(self, cluster: Sequence[_Member]) -> list[_Set]:
        """Return the sets with, of each rubric, the judge and prompt of the most models."""
        of: dict[str, dict[tuple[str, ...], list[_Member]]] = {}
        for member in cluster:
            variants = of.setdefault(member.named.rubric, {})
            variants.setdefault(self._variant(member), []).append(member)
        largest = []
        for variants in of.values():
            most = max(len(_models(one)) for one in variants.values())
            largest.append([one for one in variants.values() if len(_models(one)) == most])
        return [tuple(one for part in parts for one in part) for parts in product(*largest)]

    def _variant(self, member: _Member) -> tuple[str, ...]:
        settings = {"judge": member.compared.judge, "prompt": member.compared.prompt}
        version = member.compared.signature.split("|")[0]
        return (version, *(value for name, value in settings.items() if name not in self.allow))

    def size(self, members: _Set) -> tuple[int, int, int]:
        """Return how many models, studies, and runs of different models and rubrics there are."""
        rows = {(one.named.model, one.named.rubric) for one in members}
        return len(_models(members)), len(self._studies(members)), len(rows)

    def command(self, members: _Set) -> str:
        """Return the command that compares them."""
        flags = ["--common"] * self.common + [f"--allow {what}" for what in self.allow]
        runs = (shlex.quote(one.named.shown) for one in members)
        return " ".join(("judge compare", *flags, *runs))

    def left_out(self, members: _Set, taken: _Set) -> str:
        """Say what a set is, in what it differs from the one that is taken, and how it is had."""
        other, first = members[0].compared, taken[0].compared
        ids, rubrics = self._studies(members), dict.fromkeys(one.named.rubric for one in members)
        why = []
        if other.section != first.section:
            why.append(f"of the section {other.section}")
        if not self._share_studies(ids, self._studies(taken)):
            why.append(f"on {len(ids):,} other studies")
        elif not why and not self._fits(members[0], taken):
            why.append("against other references")
        for name in rubrics:
            ours = next((one for one in taken if one.named.rubric == name), None)
            theirs = next(one for one in members if one.named.rubric == name)
            why += _differing(theirs, ours) if ours else []
        runs = f"{counted(len(members), 'run', 'runs')} of {' and '.join(rubrics)}"
        told = ", ".join((runs, *dict.fromkeys(why)))
        if len(_models(members)) > 1:
            return f"left out: {told}: {self.command(members)}"
        return f"left out: {told}: {', '.join(one.named.shown for one in members)}"


def _models(members: Iterable[_Member]) -> set[str]:
    return {one.named.model for one in members}


def _differing(run: _Member, taken: _Member) -> list[str]:
    """Say in which of the settings of one rubric a run differs."""
    theirs, ours = run.compared, taken.compared
    found = []
    version = theirs.signature.split("|")[0]
    if version != ours.signature.split("|")[0]:
        found.append(f"of {version} (judge rescore brings it up to date)")
    if theirs.judge != ours.judge:
        names = [one.named.run.manifest["judge"]["name"] for one in (run, taken)]
        found.append(f"judged by {names[0] if names[0] != names[1] else theirs.judge}")
    if theirs.prompt != ours.prompt:
        found.append(f"with the prompt {theirs.prompt}")
    return found


def _newest(members: _Set) -> tuple[list[_Member], list[str]]:
    """Return one run for each model and rubric, and what is to be said of older ones.

    All runs of a model are on the file of predictions of its newest one.
    """
    taken: dict[tuple[str, str], _Member] = {}
    heads: dict[str, _Member] = {}
    notes = []
    for member in sorted(members, key=lambda one: (one.finished, one.named.shown), reverse=True):
        named = member.named
        head = heads.setdefault(named.model, member)
        newer = taken.get((named.model, named.rubric))
        if None not in (files := (head.named.predictions, named.predictions)) and len({*files}) > 1:
            _check_place(head.named, named)
            notes.append(
                f"left out: {named.shown}, of an older file of predictions of the model "
                f"{named.model!r} than {head.named.shown}"
            )
        elif newer and newer.compared.judge != member.compared.judge:
            notes.append(
                f"left out: {named.shown}, of another judge than {newer.named.shown} on the model "
                f"{named.model!r}; NAME=RUN gives each a row of its own"
            )
        elif newer:
            notes.append(
                f"left out: {named.shown}, an older run of {named.rubric} on the model "
                f"{named.model!r} than {newer.named.shown}"
            )
        else:
            taken[named.model, named.rubric] = member
    kept = set(taken.values())
    return [one for one in members if one in kept], notes


def _check_place(newer: NamedRun, older: NamedRun) -> None:
    """Raise where one guessed name may stand for two models: files of other places."""
    places = {str((input_file(one.run, "preds") or {}).get("path")) for one in (newer, older)}
    are_told = all(
        (one.run.manifest.get("arguments") or {}).get("model")
        or "model" in one.run.manifest["fields"]
        for one in (newer, older)
    )
    if len(places) > 1 and not are_told:
        raise JudgeError(
            f"{newer.shown} and {older.shown} would be one model, {newer.model!r}, but judged "
            "different files of predictions; name each run's model: NAME=RUN"
        )
