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
    _check(
        "closeness_candidate",
        CLOSENESS["closeness_candidate"],
        needs=("reference",),
    ),
    _check(
        "closeness_corrected",
        CLOSENESS["closeness_corrected"],
        needs=("reference", "edit"),
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
    severities = []
    for item in annotation.items:
        severities.append(NAMES.index(item.label(SEVERITY.name)) + 1)
    counts = categories.count_items(_COUNTS, annotation)
    by_severity = [counts[f"n_{level}"] for level in NAMES]
    urgent = {}
    for mistake, category in URGENT.items():
        of_category = [counts[f"{level}_{category.value}"] for level in NAMES[2:]]
        urgent[f"n_{mistake}_urgent"] = sum(of_category)
    after = corrected(annotation, study)
    return {
        "fineradscore": float(max(severities, default=1)),
        "fineradscore_sum": float(sum(severities)),
        "closeness_candidate": closeness(study.candidate, study.reference),
        "closeness_corrected": closeness(after, study.reference),
        "n_significant": sum(by_severity[2:]),
        "n_insignificant": sum(by_severity[:2]),
        "n_actionable": sum(by_severity[1:]),
        **urgent,
        **counts,
    }


def closeness(first: str, second: str) -> float:
    """Return how many words two texts share, from 0 to 1, whatever their order.

    The Sørensen-Dice coefficient of the two bags of words, in lower case: twice the words
    in common over the words of both. 1 for two texts without a word.
    """
    left = Counter(_PLAIN_WORD.findall(first.lower()))
    right = Counter(_PLAIN_WORD.findall(second.lower()))
    total = left.total() + right.total()
    if not total:
        return 1.0
    return 2 * (left & right).total() / total


def corrected(annotation: Annotation, study: Study) -> str:
    """Return the candidate with every correction made; unchanged text stays as it is."""
    text = study.candidate
    spans = sentences(text)
    changed: dict[int | None, Edit] = {}
    inserted: dict[int, list[str]] = defaultdict(list)
    for item in annotation.items:
        edit = item.edit
        if edit is None:
            continue
        if edit.kind != "insert":
            changed[edit.line] = edit
        elif edit.line is None:
            inserted[len(spans)].append(edit.corrected)
        else:
            inserted[edit.line].append(edit.corrected)
    parts: list[str] = []
    end, touched = 0, False
    for number, (start, stop) in enumerate(spans):
        gap = text[end:start]
        for new in inserted[number]:
            _add_line(parts, gap, new)
            touched = True
        change = changed.get(number)
        if change is None:
            line = text[start:stop]
            # Lines that stood without a space between them stay so where nothing is changed.
            if touched:
                _add_line(parts, gap, line)
            else:
                parts += [gap, line]
            touched = False
        else:
            touched = True
            if change.kind == "change":
                _add_line(parts, gap, change.corrected)
        end = stop
    for new in inserted[len(spans)]:
        _add_line(parts, "", new)
    return "".join(parts) + text[end:]


def _add_line(parts: list[str], gap: str, line: str) -> None:
    """Add a line to the parts of a report, behind the gap that there was, else behind a space."""
    if parts and not gap:
        gap = " "
    parts += [gap, line]


_FILLERS = ("but", "and", "error", "errors", "severity", "level")
_SEVERITIES = {
    "not actionable": 1,
    "non actionable": 1,
    "nonactionable": 1,
    "actionable not urgent": 2,
    "actionable non urgent": 2,
    "actionable nonurgent": 2,
    "urgent": 3,
    "actionable urgent": 3,
    "emergent": 4,
    "1": 1,
    "2": 2,
    "3": 3,
    "4": 4,
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
    _check_sense(corrections, candidate, lines(study.reference))
    items = []
    for one in corrections:
        grade = NAMES[one.severity - 1]
        edit = Edit(one.edit, one.line, one.corrected)
        items.append(
            error_item(one.categories, SEVERITY.name, grade, one.comment, edit)
        )
    annotation = Annotation(tuple(items))
    if corrections and corrected(annotation, study) == study.candidate:
        raise UnparsedError("correction changes nothing", "all of them together")
    return annotation


def _check_sense(
    corrections: Sequence[Correction],
    candidate: Sequence[str],
    reference: Sequence[str],
) -> None:
    """Refuse corrections that contradict themselves or each other, and those that change nothing.

    Lines are compared by `words_of`.
    """
    real = {words_of(line) for line in reference}
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
        is_insertion = correction.edit == "insert"
        if is_insertion and new in deleted:
            detail = f"deleted and inserted: {correction.corrected!r}"
            raise UnparsedError("contradiction", detail)
        # What is inserted may stand nowhere yet; what replaces a line only not there.
        old = said
        if not is_insertion:
            old = [said[correction.line or 0]]
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


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON is any of a few types
    if isinstance(value, Pairs):
        if len(dict(value)) < len(value):
            raise UnparsedError("duplicate key", ", ".join(key for key, _ in value))
        return {key: _plain(item) for key, item in value}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _published_corrections(pairs: Pairs) -> Iterator[dict[str, Any]]:
    for key, value in pairs:
        place, entry = _LINE.fullmatch(key), _plain(value)
        if place is None:
            raise UnparsedError("line off the report", f"{key!r} is no line number")
        if not isinstance(entry, dict):
            raise UnparsedError("unexpected form", f"{key!r} is no correction")
        fields: dict[str, Any] = {}
        for name, said in entry.items():
            fields[_FIELDS.get(name) or name] = said
        is_deletion = _DELETE.fullmatch(str(fields.get("corrected"))) is not None
        if is_deletion:
            fields["corrected"] = ""
        if "severity" in fields:
            fields["severity"] = severity_of(fields["severity"])
        named = fields.get("categories")
        if isinstance(named, list):
            letters = [category_of(name) for name in named]
            # Names that are not all known stay as they are, and the form refuses them.
            if None not in letters:
                fields["categories"] = letters
        line = None
        edit = "insert"
        if place[1]:
            line = int(place[1])
            edit = "change"
            if is_deletion:
                edit = "delete"
        yield {**fields, "edit": edit, "line": line}


def _check_line(correction: Correction, candidate: Sequence[str]) -> None:
    line, text, edit = correction.line, correction.corrected, correction.edit
    n_lines = len(candidate)
    last = n_lines - 1
    if edit == "insert":
        # What is inserted may come after the last line.
        last = n_lines
    if line is not None and not 0 <= line <= last:
        raise UnparsedError("line off the report", f"line {line} of {n_lines} lines")
    lacks_line = line is None and edit != "insert"
    # A deletion has no text, and everything else has one.
    is_text_odd = (edit == "delete") == bool(text)
    if lacks_line or is_text_odd:
        raise UnparsedError("incomplete correction", f"to {edit} line {line}: {text!r}")
    # The prompt numbers the lines, and a judge may copy a line with its number.
    number = f"{line}:"
    if edit == "change" and text.startswith(number):
        before = candidate[line or 0]
        if not before.startswith(number):
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
        # In the order of the fields of `Correction`, in which a judge answers.
        entry = {
            "line": edit.line,
            "edit": edit.kind,
            "corrected": edit.corrected,
            "comment": error.text,
            "categories": letters,
            "severity": NAMES.index(error.label(SEVERITY.name)) + 1,
        }
        entries.append(json.dumps(entry))
    if not entries:
        return '{"corrections": []}'
    written = ",\n  ".join(entries)
    return f'{{"corrections": [\n  {written}\n]}}'


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
    placed: dict[str, _Draft] = {}
    for draft in changed.values():
        for source in draft.sources:
            placed[reference[source]] = draft
    inserted: dict[str, _Draft] = {}
    if not candidate:
        inserted = {text: _Draft({number}) for number, text in enumerate(reference)}
    for discrepancy in displaced:
        lacking = discrepancy.reference_sentence
        if lacking is None:
            continue
        text = reference[lacking]
        if text in placed:
            placed[text].why.append(discrepancy)
        else:
            inserted.setdefault(text, _Draft({lacking})).why.append(discrepancy)
    items = []
    for line, draft in sorted(changed.items()):
        text = " ".join(reference[source] for source in sorted(draft.sources))
        edit = Edit("change", line, text)
        if text in ("", candidate[line]):
            edit = Edit("delete", line, "")
        items.append(_to_item(draft, edit))
    for text, draft in inserted.items():
        last = max(draft.sources)
        # It goes before the partner of the next line of the reference that has one.
        after = [pair for pair in comparison.partners if pair[0] > last]
        place = min(after)[1] if after else None
        items.append(_to_item(draft, Edit("insert", place, text)))
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
        wrong_lines = list(discrepancy.again)
        if place is not None:
            wrong_lines.insert(0, place)
        pairs = comparison.partners
        for line in wrong_lines:
            partners = {said for said, partner in pairs if partner == line}
            changed.setdefault(line, _Draft(partners))
        if place is not None and source is not None:
            changed[place].sources.add(source)
        for line in discrepancy.again:
            also.setdefault(line, discrepancy)
    homes = _homes(changed, reference, candidate)
    for line, draft in changed.items():
        sources = draft.sources
        draft.sources = {source for source in sources if homes.get(source) == line}
    displaced = []
    for discrepancy in comparison.discrepancies:
        place, source = discrepancy.candidate_sentence, discrepancy.reference_sentence
        if place is None:
            displaced.append(discrepancy)
            continue
        draft = changed[place]
        is_taken_out = discrepancy.category in _TAKEN_OUT
        if source is None or is_taken_out or source in draft.sources:
            draft.why.append(discrepancy)
        else:
            # Without a home it is said elsewhere in these words: what contradicts is taken out.
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
    """Return for each line of the reference that replaces one the candidate's line: the nearest.

    The same words find one home, and none where the candidate has them in a line that stays.
    """
    homes: dict[int, int] = {}
    taken = {line for number, line in enumerate(candidate) if number not in changed}
    sources: set[int] = set()
    for draft in changed.values():
        sources |= draft.sources
    for source in sorted(sources):
        text = reference[source]
        if text in taken:
            continue
        taken.add(text)
        # Of lines that are as near the first.
        nearness = {}
        for line, draft in changed.items():
            if source in draft.sources:
                nearness[line] = (closeness(candidate[line], text), -line)
        homes[source] = max(nearness, key=nearness.__getitem__)
    return homes


def _to_item(draft: _Draft, edit: Edit) -> Item:
    why = draft.why or [_SILENCE]
    codes = sorted({discrepancy.category for discrepancy in why})
    severity = max(discrepancy.severity for discrepancy in why)
    texts = dict.fromkeys(discrepancy.text for discrepancy in why)
    return error_item(codes, SEVERITY.name, NAMES[severity - 1], " ".join(texts), edit)
