"""What a reader needs to read by a rubric: its keys, its guidelines, and practice studies.

A rubric has them in `reading.yaml` in its folder. A definition is not written there a second time:
the file names the first words of a passage of the rubric's prompt, and the reader is shown that
passage, so that reader and judge are told the same. A rubric without the file can be read too: its
labels have keys, and there are no definitions and no practice studies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judge import prompts, rubrics
from judge.jsonio import UnreadableYamlError, read_yaml
from judge.rubrics.contract import PART_FACETS, Facet, Kind, Rubric
from judge.run_files.checked import first_of
from judge.types import JudgeError, Side

Act = Literal[
    "nothing",
    "done",
    "cannot",
    "later",
    "previous",
    "reference",
    "candidate",
    "insert",
    "next_mark",
    "previous_mark",
    "remove",
    "undo",
    "cancel",
]
"""What a reader can do besides giving labels."""


@dataclass(frozen=True, slots=True)
class PageKey:
    """A key of the reading page; capital and small letters are one key."""

    key: str
    act: Act
    text: str


PAGE_KEYS = (
    PageKey("0", "nothing", "no errors: done, next study"),
    PageKey("g", "done", "done, next study"),
    PageKey("q", "cannot", "cannot judge this study, for a reason"),
    PageKey("n", "later", "next study; this one is not done"),
    PageKey("p", "previous", "previous study"),
    PageKey(
        "r",
        "reference",
        "to the reference; arrows choose words and lines, with Shift more of them",
    ),
    PageKey("v", "candidate", "to the candidate"),
    PageKey("i", "insert", "insert a line (Enter changes one, Del deletes one)"),
    PageKey("j", "next_mark", "next mark"),
    PageKey("k", "previous_mark", "previous mark"),
    PageKey("x", "remove", "delete the mark"),
    PageKey("u", "undo", "undo the last change, also that a study is done"),
    PageKey("Escape", "cancel", "leave a field, a mark"),
)
"""The keys that every rubric has; no two keys of the page differ by Shift or Caps Lock alone."""
_TAKEN = frozenset(page_key.key for page_key in PAGE_KEYS)
_DIGITS = "123456789"
_PART_FACETS = frozenset(PART_FACETS.values())


class _FromFile(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class GuidedLabel(_FromFile):
    """The key of a label or a kind, and the passages of the prompt that define it."""

    key: Annotated[str, Field(pattern=r"^[a-z1-9]$")] | None = None
    quoted: list[str] = []


class GuidedFacet(_FromFile):
    """The passages about a facet as a whole, and its labels by their names."""

    quoted: list[str] = []
    labels: dict[str, GuidedLabel] = {}


class ExpectedError(_FromFile):
    """An error of a practice study.

    `words` are in the report `side`: in the candidate what is wrong, in the reference what is
    missing. `labels` has for each facet the labels that are right, the likeliest first.
    """

    name: str
    side: Side
    words: str
    labels: dict[str, list[str]]
    why: str


class PracticeStudy(_FromFile):
    """Two reports that were made up, and the errors of the candidate."""

    indication: str
    reference: str
    candidate: str
    errors: list[ExpectedError]
    lesson: str


class ReadingFile(_FromFile):
    """`reading.yaml`. `kinds` are those that a reader marks, all of the rubric's by default."""

    guidelines: list[str] = []
    kinds: dict[str, GuidedLabel] | None = None
    facets: dict[str, GuidedFacet] = {}
    practice: list[PracticeStudy] = []


@dataclass(frozen=True, kw_only=True)
class Guide:
    """What a reader needs to read by a rubric.

    `keys` has the key of each kind and of each label that has one: a kind as `(kind, "")`, a label
    as `(facet, label)`. `definitions` has the prompt's words by the same names, and those about a
    facet as `(facet, "")`, a paragraph an entry. `kinds` begins with that of errors.
    """

    rubric: Rubric
    kinds: tuple[Kind, ...]
    guidelines: tuple[str, ...]
    keys: Mapping[tuple[str, str], str]
    definitions: Mapping[tuple[str, str], tuple[str, ...]]
    practice: tuple[PracticeStudy, ...]

    @property
    def facets(self) -> tuple[Facet, ...]:
        """The facets of the kinds that are marked."""
        names = {name for kind in self.kinds for name in kind.facets}
        return tuple(facet for facet in self.rubric.facets if facet.name in names)

    @property
    def errors(self) -> Kind:
        """The kind of the errors."""
        return self.kinds[0]

    @property
    def page_keys(self) -> tuple[PageKey, ...]:
        """The keys of the page that mean something for this rubric."""
        has_lines = self.rubric.editor is not None
        return tuple(key for key in PAGE_KEYS if has_lines or key.act != "insert")


def guide_of(rubric: Rubric) -> Guide:
    """Return the guide of a rubric that can be read; raises `JudgeError` for a faulty file."""
    content, prompt = _files_of(rubric.name)
    try:
        return made_guide(rubric, content, prompt)
    except ValueError as error:
        path = rubrics.reading_file(rubric.name)
        raise JudgeError(f"{path}: {error}") from error


def _files_of(name: str) -> tuple[ReadingFile, str]:
    """Return what a rubric's `reading.yaml` has, and the text of its prompt."""
    path = rubrics.reading_file(name)
    try:
        content = ReadingFile.model_validate(read_yaml(path)[0])
    except FileNotFoundError:
        return ReadingFile(), ""  # it can be read without
    except (OSError, UnreadableYamlError) as error:
        raise JudgeError(f"cannot read {path}: {error}") from error
    except ValidationError as error:
        raise JudgeError(f"{path}: {first_of(error)}") from error
    prompt = rubrics.load(name).prompt
    found = prompts.load(prompts.of_plugins().get(prompt, prompt))
    return content, f"{found.system}\n\n{found.user}"


def made_guide(rubric: Rubric, content: ReadingFile, prompt: str) -> Guide:
    """Return the guide that a file makes for a rubric with the text of its prompt.

    Raises ValueError where the file does not fit the rubric or the prompt.
    """
    kinds = _kinds(rubric, content)
    definitions = {}
    for name, label in (content.kinds or {}).items():
        definitions[name, ""] = label.quoted
    for name, facet in content.facets.items():
        definitions[name, ""] = facet.quoted
        for value, label in facet.labels.items():
            definitions[name, value] = label.quoted
    guide = Guide(
        rubric=rubric,
        kinds=kinds,
        guidelines=tuple(quoted(prompt, first) for first in content.guidelines),
        keys=_keys(rubric, kinds, content),
        definitions={
            name: tuple(quoted(prompt, first) for first in passages)
            for name, passages in definitions.items()
            if passages
        },
        practice=tuple(content.practice),
    )
    for study in content.practice:
        _check_practice(study, guide)
    return guide


def _kinds(rubric: Rubric, content: ReadingFile) -> tuple[Kind, ...]:
    """Return the kinds that a reader marks, that of errors first."""
    tally = rubric.tally
    if tally is None:
        raise ValueError(f"{rubric.title} has no errors that a reader could mark")
    known = {kind.name: kind for kind in rubric.kinds}
    names = list(known)
    if content.kinds is not None:
        names = list(content.kinds)
    _check_known("kind", names, known)
    if tally.kind not in names:
        raise ValueError(f"kinds: {tally.kind} is not among them")
    for name, facet in content.facets.items():
        _check_known("facet", [name], [facet.name for facet in rubric.facets])
        labels = [label.name for label in rubric.facet(name).labels]
        _check_known(name, facet.labels, labels)
    names.sort(key=lambda name: name != tally.kind)
    kinds = []
    for name in names:
        # Which judge of a panel said it, or of which reference, is no question to a reader.
        own = [facet for facet in known[name].facets if facet not in _PART_FACETS]
        kinds.append(replace(known[name], facets=tuple(own)))
    return tuple(kinds)


def _check_known(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for name in names:
        if name not in known:
            raise ValueError(f"there is no {what} {name!r}, only {', '.join(known)}")


def _keys(
    rubric: Rubric, kinds: tuple[Kind, ...], content: ReadingFile
) -> dict[tuple[str, str], str]:
    """Return the keys that the file names, and a free one for what it names none for."""
    keys: dict[tuple[str, str], str] = {}
    places = list(_places(rubric, kinds))
    for name, value in places:
        label = GuidedLabel()
        if value:
            facet = content.facets.get(name, GuidedFacet())
            label = facet.labels.get(value, label)
        elif content.kinds:
            label = content.kinds.get(name, label)
        if label.key is None:
            continue
        if label.key in _TAKEN or label.key in keys.values():
            raise ValueError(f"the key {label.key} has two meanings")
        keys[name, value] = label.key
    for name, value in places:
        if (name, value) in keys:
            continue
        for wish in _wishes(rubric, name, value):
            if wish not in _TAKEN and wish not in keys.values():
                keys[name, value] = wish
                break
    return keys


def _places(rubric: Rubric, kinds: tuple[Kind, ...]) -> Iterator[tuple[str, str]]:
    """Yield what may have a key: the labels of each facet, then the kinds but for errors."""
    names = {name for kind in kinds for name in kind.facets}
    for facet in rubric.facets:
        if facet.name in names:
            for label in facet.labels:
                yield facet.name, label.name
    for kind in kinds[1:]:
        yield kind.name, ""


def _wishes(rubric: Rubric, name: str, value: str) -> Iterable[str]:
    """Return the keys that would suit, best first: a code of one letter, a number, a letter."""
    if not value:
        return re.findall("[a-z]", rubric.kind(name).label.lower())
    if rubric.facet(name).has_codes:
        return re.findall(r"^[a-z]$", value)
    return _DIGITS


_ENTRY = re.compile(r"[ \t]*(?:-|\([a-z0-9]\)|[a-z0-9])[ \t]")
_UNTIL = " ... "


def quoted(prompt: str, ends: str) -> str:
    """Return the passage of a prompt that begins with these words, on one line.

    It ends with the entry of a list that it is in, else with its paragraph; `first words ... last
    words` ends it earlier. Raises ValueError where the words are not there, or more than once.
    """
    first_words, _, last_words = ends.partition(_UNTIL)
    start = _only(prompt, first_words)[0]
    line_start = prompt.rfind("\n", 0, start) + 1
    first, *following = prompt[line_start:].split("\n")
    indent = len(first) - len(first.lstrip())
    passage = [prompt[start : line_start + len(first)].removeprefix("- ")]
    for line in following:
        is_deeper = len(line) - len(line.lstrip()) > indent
        if not line.strip() or (_ENTRY.match(first) and not is_deeper):
            break
        passage.append(line)
    text = " ".join(" ".join(passage).split())
    if last_words:
        text = text[: _only(text, last_words)[1]]
    return text


def _only(text: str, words: str) -> tuple[int, int]:
    """Return where the words are in a text, however its lines are broken."""
    pattern = r"\s+".join(map(re.escape, words.split()))
    found = [*re.finditer(pattern, text)]
    if len(found) != 1:
        raise ValueError(f"the prompt has {words!r} {len(found)} times, not once")
    return found[0].span()


def _check_practice(study: PracticeStudy, guide: Guide) -> None:
    """Raise ValueError where an expected error cannot be marked as the file has it."""
    for error in study.errors:
        report = study.candidate
        if error.side == "reference":
            report = study.reference
        if report.count(error.words) != 1:
            raise ValueError(f"{error.words!r} is not once in the {error.side}")
        _check_known("facet", error.labels, guide.errors.facets)
        for name in guide.errors.facets:
            values = error.labels.get(name, [])
            if not values:
                raise ValueError(f"{error.name}: its {name} is not expected")
            labels = [label.name for label in guide.rubric.facet(name).labels]
            _check_known(name, values, labels)
