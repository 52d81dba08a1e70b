"""The reader of FineRadScore's corrections, and what is counted of them."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from judge import types
from judge.jsonio import Pairs
from judge.rubrics import Facet, Kind, Label, Measure, categories, replies
from judge.rubrics.categories import CATEGORY, ERROR, category_of, error_item
from judge.rubrics.replies import (
    Line,
    Listed,
    OrNull,
    ReplyModel,
    Verbatim,
    WholeNumber,
    is_bare_denial,
    validate_reply,
)
from judge.sentences import lines, sentences
from judge.types import (
    Annotation,
    Category,
    Discrepancy,
    Edit,
    Item,
    Study,
    UnparsedError,
)

SEVERITY = Facet(
    "severity",
    "severity",
    "severities",
    labels=(
        Label("severity1", "1 not actionable", "mild", means="not actionable"),
        Label("severity2", "2 actionable, non-urgent", "notable", means="actionable"),
        Label("severity3", "3 urgent", "serious", means="urgent"),
        Label("severity4", "4 emergent", "critical", means="emergent"),
    ),
)
"""The four severities [Huang et al. 2024]."""
NAMES = tuple(label.name for label in SEVERITY.labels)

CORRECTION = Kind(
    ERROR, "error", "errors", (CATEGORY.name, SEVERITY.name), graded_by=SEVERITY.name
)
_COUNTS = categories.count_measures(CORRECTION, SEVERITY, CATEGORY)
URGENT = {"missed": Category.MISSING_FINDING, "false": Category.FALSE_FINDING}
CLOSENESS = {
    "closeness_candidate": "word overlap (Dice) before correction",
    "closeness_corrected": "word overlap (Dice) after correction",
}
_check = partial(Measure, scale=(0, 1), higher_is_better=True, role="check")
_count = partial(Measure, is_whole=True)
MEASURES = (
    Measure("fineradscore", "highest severity", (1, 4), role="score", needs=NAMES[-1:]),
    Measure("fineradscore_sum", "severity sum", role="score", needs=NAMES[-1:]),
    *(
        _check(name, label, needs=("reference", "edit")[:number])
        for number, (name, label) in enumerate(CLOSENESS.items(), 1)
    ),
    _count("n_significant", "errors of severity 3 or 4"),
    _count("n_insignificant", "errors of severity 1 or 2"),
    _count("n_actionable", "errors of severity 2 or more"),
    *(
        _count(
            f"n_{mistake}_urgent",
            f"{category.label}s of severity 3 or 4",
            needs=(CATEGORY.name, category.value, NAMES[2]),
        )
        for mistake, category in URGENT.items()
    ),
    *_COUNTS,
)
_PLAIN_WORD = re.compile(r"\w+")


def measure(annotation: Annotation, study: Study) -> types.Measures:
    """Return the study's two scores, two numbers to check them by, and its counts.

    `fineradscore`: the highest severity, 1 to 4; 1 where there is no correction [ReXrank].
    `fineradscore_sum`: the sum of severities, 0 where there is none [Huang et al. 2024].
    Significant is severity 3 or 4, as in ReXrank's figures, actionable 2 or more. `n_missed_urgent`
    and `n_false_urgent` count corrections of severity 3 or 4 of the categories b and a. None tells
    how many urgent findings are right, so that their recall and precision have no denominator.
    `closeness_candidate` and `closeness_corrected` tell how near the candidate is to the reference
    before and after the corrections.
    """
    severities = [
        NAMES.index(item.label(SEVERITY.name)) + 1 for item in annotation.items
    ]
    counts = categories.count_items(_COUNTS, annotation)
    by_severity = [counts[f"n_{level}"] for level in NAMES]
    return {
        "fineradscore": float(max(severities, default=1)),
        "fineradscore_sum": float(sum(severities)),
        "closeness_candidate": closeness(study.candidate, study.reference),
        "closeness_corrected": closeness(corrected(annotation, study), study.reference),
        "n_significant": sum(by_severity[2:]),
        "n_insignificant": sum(by_severity[:2]),
        "n_actionable": sum(by_severity[1:]),
        **{
            f"n_{mistake}_urgent": sum(
                counts[f"{level}_{category.value}"] for level in NAMES[2:]
            )
            for mistake, category in URGENT.items()
        },
        **counts,
    }


def closeness(first: str, second: str) -> float:
    """Return how many words two texts share, from 0 to 1, whatever their order.

    The Sørensen-Dice coefficient of the two bags of words, in lower case: twice the words
    in common over the words of both. 1 for two texts without a word.
    """
    left, right = (
        Counter(_PLAIN_WORD.findall(text.lower())) for text in (first, second)
    )
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 1.0


def corrected(annotation: Annotation, study: Study) -> str:
    """Return the candidate with every correction made; unchanged text stays as it is."""
    text = study.candidate
    spans = sentences(text)
    changed: dict[int | None, Edit] = {}
    inserted: dict[int, list[str]] = defaultdict(list)
    for edit in filter(None, (item.edit for item in annotation.items)):
        if edit.kind == "insert":
            inserted[len(spans) if edit.line is None else edit.line].append(
                edit.corrected
            )
        else:
            changed[edit.line] = edit
    parts: list[str] = []
    end, touched = 0, False
    for number, (start, stop) in enumerate(spans):
        gap = text[end:start]
        for new in inserted[number]:
            parts += [gap or " " * bool(parts), new]
            touched = True
        change = changed.get(number)
        touched = touched or change is not None
        if change is None or change.kind == "change":
            # Lines that stood without a space between them stay so where nothing is changed.
            parts.append(gap or " " * bool(parts and touched))
            parts.append(change.corrected if change else text[start:stop])
            touched = change is not None
        end = stop
    for new in inserted[len(spans)]:
        parts += [" " * bool(parts), new]
    return "".join(parts) + text[end:]


_FILLERS = ("but", "and", "error", "errors", "severity", "level")
_SEVERITIES = {
    **dict.fromkeys(("not actionable", "non actionable", "nonactionable"), 1),
    **dict.fromkeys(
        ("actionable not urgent", "actionable non urgent", "actionable nonurgent"), 2
    ),
    **dict.fromkeys(("urgent", "actionable urgent"), 3),
    "emergent": 4,
    **{str(n): n for n in (1, 2, 3, 4)},
}


def severity_of(value: object) -> object:
    """Return the severity that `value` names, None for another text."""
    if not isinstance(value, str):
        return value
    words = [word for word in categories.name_words(value) if word not in _FILLERS]
    return _SEVERITIES.get(" ".join(words))


_WORD = re.compile(r"\w+|\?")
# A space counts between two numbers alone: 1.5 cm is not 15 cm.
_NO_SPACE = re.compile(r"(?<![0-9]) | (?![0-9])")
# What stands for a corrected line where none is wanted, as `words_of` writes it.
_NOTHING = frozenset(
    (
        "nochange",
        "nochanges",
        "nochangeneeded",
        "nochangesneeded",
        "unchanged",
        "nocorrection",
        "nocorrections",
        "nocorrectionneeded",
    )
)


def words_of(text: str) -> str:
    """Return a line without case, spaces and stops; a question mark stays, since it says doubt."""
    return _NO_SPACE.sub("", " ".join(_WORD.findall(text.casefold())))


def _in_order(categories: list[str]) -> list[str]:
    if not categories:
        raise ValueError("categories names at least one of a to f")
    return sorted(set(categories))


class Correction(ReplyModel):
    """One change of the candidate."""

    optional: ClassVar = {"comment": ""}

    # In this order, so that a judge gives its reason before it settles on a severity.
    line: WholeNumber | None = Field(
        description="The number of the candidate's line that is changed or deleted. For an "
        "insertion, the line that the new one goes before, or null for the end of the report."
    )
    edit: Annotated[Literal["change", "delete", "insert"], Listed] = Field(
        description="What is done to the line."
    )
    corrected: Annotated[Line, OrNull] = Field(
        description="The line as it should read; empty for a deletion."
    )
    comment: Annotated[Verbatim, OrNull] = Field(
        description="Why the correction is needed, in a sentence."
    )
    categories: Annotated[
        list[Annotated[Literal["a", "b", "c", "d", "e", "f"], Listed]],
        AfterValidator(_in_order),
    ] = Field(
        description="One or more of: a false finding, b missing finding, c wrong location, "
        "d wrong severity, e comparison not in the reference, f omitted comparison."
    )
    severity: Annotated[Literal[1, 2, 3, 4], BeforeValidator(replies.whole_number)] = (
        Field(
            description="1 not actionable, 2 actionable but not urgent, 3 urgent, 4 emergent."
        )
    )


class Reply(ReplyModel):
    """All corrections that turn the candidate into the reference; none where they agree."""

    corrections: list[Correction]


# The original's form: an entry a line, by "0" or "[0]", and "None" for each line to insert.
_LINE = re.compile(r"\[?([0-9]{1,6})\]?|None", re.IGNORECASE)
_DELETE = re.compile(
    r"\W*(?:delete|remove)d?(?:\s+(?:this|the|entire|whole|line|sentence))*\W*",
    re.IGNORECASE,
)
_FIELDS = {
    "corrections": "corrected",
    "clinical severity": "severity",
    "comments": "comment",
    "error category": "categories",
}


def parse(
    text: str,
    study: Study,
    *,
    complete: bool = False,  # noqa: ARG001
    published: bool = False,
) -> Annotation:
    """Return the annotation in an answer: an object with a list of `corrections`.

    Where the prompt is the original's, `published`, it may be the original's form instead, an
    object with an entry a line, in which the key None repeats.
    """
    value = replies.read_json(text, pairs=published)
    if isinstance(value, Pairs) and "corrections" not in dict(value):
        corrections = [
            validate_reply(Correction, entry) for entry in _published_corrections(value)
        ]
    else:
        corrections = validate_reply(Reply, _plain(value)).corrections
    candidate = lines(study.candidate)
    for correction in corrections:
        _check_line(correction, candidate)
    real = {words_of(line) for line in lines(study.reference)}
    said = [words_of(line) for line in candidate]
    deleted = {said[one.line or 0] for one in corrections if one.edit == "delete"}
    for correction in corrections:
        if is_bare_denial(correction.comment):
            raise UnparsedError(
                "contradiction", f"a correction, and {correction.comment!r}"
            )
        if correction.edit == "delete":
            continue
        new = words_of(correction.corrected)
        if not any(map(str.isalnum, new)):
            raise UnparsedError("contradiction", f"no word in {correction.corrected!r}")
        if correction.edit == "insert" and new in deleted:
            detail = f"deleted and inserted: {correction.corrected!r}"
            raise UnparsedError("contradiction", detail)
        old = said if correction.edit == "insert" else [said[correction.line or 0]]
        # "No change needed" says that nothing is to be done, unless the reference says just this.
        is_nothing = new in _NOTHING or is_bare_denial(correction.corrected)
        if new in old or (is_nothing and new not in real):
            raise UnparsedError("correction changes nothing", correction.corrected)
    changed = [one.line for one in corrections if one.edit != "insert"]
    texts = [words_of(one.corrected) for one in corrections if one.edit != "delete"]
    if len(set(changed)) < len(changed) or len(set(texts)) < len(texts):
        raise UnparsedError(
            "corrected twice", f"of lines {changed} one, or of the new texts"
        )
    items = []
    for one in corrections:
        grade, edit = NAMES[one.severity - 1], Edit(one.edit, one.line, one.corrected)
        items.append(
            error_item(one.categories, SEVERITY.name, grade, one.comment, edit)
        )
    annotation = Annotation(tuple(items))
    if corrections and corrected(annotation, study) == study.candidate:
        raise UnparsedError("correction changes nothing", "all of them together")
    return annotation


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON is any of a few types
    if isinstance(value, Pairs):
        if len(dict(value)) < len(value):
            raise UnparsedError("duplicate key", ", ".join(key for key, _ in value))
        return {key: _plain(item) for key, item in value}
    return list(map(_plain, value)) if isinstance(value, list) else value


def _published_corrections(pairs: Pairs) -> Iterator[dict[str, Any]]:
    for key, value in pairs:
        place, entry = _LINE.fullmatch(key), _plain(value)
        if place is None:
            raise UnparsedError("line off the report", f"{key!r} is no line number")
        if not isinstance(entry, dict):
            raise UnparsedError("unexpected form", f"{key!r} is no correction")
        line = int(place[1]) if place[1] else None
        fields: dict[str, Any] = {
            _FIELDS.get(name) or name: entry[name] for name in entry
        }
        is_deletion = _DELETE.fullmatch(str(fields.get("corrected"))) is not None
        if is_deletion:
            fields["corrected"] = ""
        if "severity" in fields:
            fields["severity"] = severity_of(fields["severity"])
        named = fields.get("categories")
        if isinstance(named, list) and None not in (
            letters := [*map(category_of, named)]
        ):
            fields["categories"] = letters
        edit = "insert" if line is None else "delete" if is_deletion else "change"
        yield {**fields, "edit": edit, "line": line}


def _check_line(correction: Correction, candidate: Sequence[str]) -> None:
    line, text, edit = correction.line, correction.corrected, correction.edit
    last = len(candidate) - (edit != "insert")
    if line is not None and not 0 <= line <= last:
        raise UnparsedError(
            "line off the report", f"line {line} of {len(candidate)} lines"
        )
    if (edit == "delete") == bool(text) or (line is None and edit != "insert"):
        raise UnparsedError("incomplete correction", f"to {edit} line {line}: {text!r}")
    number = f"{line}:"
    if (
        edit == "change"
        and text.startswith(number)
        and not candidate[line or 0].startswith(number)
    ):
        raise UnparsedError("line number in the text", text)


def render(annotation: Annotation) -> str:
    """Return the annotation as JSON; raises ValueError for one with more than corrections."""
    if annotation != Annotation(annotation.items):
        raise ValueError("FineRadScore has corrections and nothing beside them")
    entries = []
    for error in annotation.items:
        edit, letters = error.edit, error.labels.get(CATEGORY.name)
        if error.kind != ERROR or edit is None or not letters:
            raise ValueError(f"a correction has an edit and a category: {error.text}")
        severity = NAMES.index(error.label(SEVERITY.name)) + 1
        values = (edit.line, edit.kind, edit.corrected, error.text, letters, severity)
        entries.append(
            json.dumps(dict(zip(Correction.model_fields, values, strict=True)))
        )
    written = ",\n  ".join(entries)
    return f'{{"corrections": [\n  {written}\n]}}' if entries else '{"corrections": []}'


_SILENCE = Discrepancy(Category.MISSING_FINDING, 1, "", "The candidate says nothing.")
_TAKEN_OUT = (Category.FALSE_FINDING, Category.FALSE_COMPARISON)


@dataclass(slots=True)
class _Draft:
    sources: set[int] = field(default_factory=set)
    why: list[Discrepancy] = field(default_factory=list)


def baseline(comparison: types.ReportComparison, study: Study) -> Annotation:
    """Return corrections, found by rules, that turn the candidate into the reference.

    A candidate line with a discrepancy is changed into the reference's lines that speak of
    the same, or deleted where there are none; a line of the reference that is said nowhere
    is inserted. One place gets one correction: the highest severity, all the categories. A
    candidate without a line lacks all of the reference's, those without a discrepancy at
    severity 1.
    """
    reference, candidate = lines(study.reference), lines(study.candidate)
    changed, displaced = _changed(comparison, reference, candidate)
    placed = {
        reference[source]: draft
        for draft in changed.values()
        for source in draft.sources
    }
    inserted: dict[str, _Draft] = {}
    if not candidate:
        inserted = {text: _Draft({number}) for number, text in enumerate(reference)}
    for discrepancy in displaced:
        source = discrepancy.reference_sentence
        if source is not None:
            text = reference[source]
            draft = placed.get(text) or inserted.setdefault(text, _Draft({source}))
            draft.why.append(discrepancy)
    items = []
    for line, draft in sorted(changed.items()):
        text = " ".join(reference[source] for source in sorted(draft.sources))
        is_new = text not in ("", candidate[line])
        edit = Edit("change", line, text) if is_new else Edit("delete", line, "")
        items.append(_to_item(draft, edit))
    for text, draft in inserted.items():
        after = [pair for pair in comparison.partners if pair[0] > max(draft.sources)]
        items.append(
            _to_item(draft, Edit("insert", min(after)[1] if after else None, text))
        )
    return Annotation(tuple(items))


def _changed(
    comparison: types.ReportComparison,
    reference: Sequence[str],
    candidate: Sequence[str],
) -> tuple[dict[int, _Draft], list[Discrepancy]]:
    changed: dict[int, _Draft] = {}
    also: dict[int, Discrepancy] = {}
    for discrepancy in comparison.discrepancies:
        place, source = discrepancy.candidate_sentence, discrepancy.reference_sentence
        for line in (*([] if place is None else [place]), *discrepancy.again):
            partners = {
                said for said, partner in comparison.partners if partner == line
            }
            changed.setdefault(line, _Draft(partners))
        if place is not None and source is not None:
            changed[place].sources.add(source)
        also = {**dict.fromkeys(discrepancy.again, discrepancy), **also}
    homes = _homes(changed, reference, candidate)
    for line, draft in changed.items():
        draft.sources = {
            source for source in draft.sources if homes.get(source) == line
        }
    displaced = []
    for discrepancy in comparison.discrepancies:
        place, source = discrepancy.candidate_sentence, discrepancy.reference_sentence
        if place is None:
            displaced.append(discrepancy)
        elif (
            source is None
            or discrepancy.category in _TAKEN_OUT
            or source in changed[place].sources
        ):
            changed[place].why.append(discrepancy)
        else:  # without a home it is said elsewhere in these words: what contradicts is taken out
            home = homes.get(source, place)
            changed[home].why.append(discrepancy)
            if home != place:
                # The reference's line replaces another one; this one would contradict it.
                also.setdefault(place, discrepancy)
    for line, discrepancy in also.items():
        changed[line].why = changed[line].why or [discrepancy]
    return {line: draft for line, draft in changed.items() if draft.why}, displaced


def _homes(
    changed: dict[int, _Draft], reference: Sequence[str], candidate: Sequence[str]
) -> dict[int, int]:
    homes: dict[int, int] = {}
    taken = {line for number, line in enumerate(candidate) if number not in changed}
    for said in sorted({said for draft in changed.values() for said in draft.sources}):
        text = reference[said]
        if text not in taken:
            taken.add(text)
            takers = [line for line, draft in changed.items() if said in draft.sources]
            homes[said] = max(
                takers, key=lambda line: (closeness(candidate[line], text), -line)
            )
    return homes


def _to_item(draft: _Draft, edit: Edit) -> Item:
    why = draft.why or [_SILENCE]
    return error_item(
        sorted({discrepancy.category for discrepancy in why}),
        SEVERITY.name,
        NAMES[max(discrepancy.severity for discrepancy in why) - 1],
        " ".join(dict.fromkeys(discrepancy.text for discrepancy in why)),
        edit,
    )
