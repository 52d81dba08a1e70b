"""The reader of CRIMSON's findings and errors, and what is counted of them."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from judge.rubrics import Facet, Kind, Label, Measure, replies
from judge.rubrics.categories import ERROR, count_items, count_measures
from judge.rubrics.contract import Counted
from judge.rubrics.normality import is_normal
from judge.rubrics.replies import (
    Line,
    Listed,
    OrNull,
    ReplyModel,
    is_bare_denial,
    word_key,
)
from judge.types import (
    Annotation,
    Item,
    Measures,
    ReportComparison,
    Side,
    Study,
    UnparsedError,
)

NEGLIGIBLE = "negligible"
SIGNIFICANCE = Facet(
    "significance",
    "clinical significance",
    "clinical significances",
    labels=(
        Label("urgent", "urgent", "critical", means="urgent"),
        Label(
            "actionable_not_urgent",
            "actionable, not urgent",
            "serious",
            means="actionable",
        ),
        Label(
            "not_actionable_not_urgent",
            "not actionable",
            "notable",
            means="not actionable",
        ),
        Label("benign_expected", "benign or expected", "mild", means="not actionable"),
        Label(NEGLIGIBLE, "negligible", "mild", means="not actionable"),
    ),
)
"""The clinical significance of a finding, and of an error about it.

A finding has one of the first four. A false or missing finding has the finding's own; an
attribute error has that of the reference's finding where it is significant, else `negligible`.
"""
LEVELS = tuple(label.name for label in SIGNIFICANCE.labels if label.name != NEGLIGIBLE)
WEIGHTS: Mapping[str, float] = dict(zip(LEVELS, (1.0, 0.5, 0.25, 0.0), strict=True))
_ATTRIBUTE_WEIGHT = 0.5  # of a significant one; a negligible one weighs nothing

FALSE, MISSING = "false_finding", "missing_finding"
TYPE = Facet(
    "error_type",
    "type",
    "types",
    labels=(
        Label(FALSE, "false finding"),
        Label(MISSING, "missing finding"),
        Label("location", "wrong location"),
        Label("severity", "wrong severity"),
        Label("descriptor", "wrong descriptor"),
        Label("measurement", "wrong measurement"),
        Label("certainty", "wrong certainty"),
        Label("unspecific", "too unspecific"),
        Label("overinterpretation", "overinterpretation"),
        Label("temporal", "wrong comparison"),
        # Of reports of one modality; ours, not the authors'.
        Label("level", "wrong level or segment", modality="ct"),
        Label("phase", "wrong phase of contrast", modality="ct"),
        Label("laterality", "wrong side", modality="mg"),
        Label("birads", "wrong BI-RADS category", modality="mg"),
        Label("density", "wrong breast density", modality="mg"),
        Label("calcification", "wrong calcification", modality="mg"),
    ),
)
ATTRIBUTES = tuple(label.name for label in TYPE.labels[2:])
MODALITY_OF = {label.name: label.modality for label in TYPE.labels if label.modality}

REFERENCE, CANDIDATE = (
    Kind(
        f"{side}_finding",
        f"finding of the {side}",
        f"findings of the {side}",
        facets=(SIGNIFICANCE.name,),
    )
    for side in ("reference", "candidate")
)
MATCH = Kind("match", "matched finding", "matched findings")
MISTAKE = Kind(
    ERROR, "error", "errors", (TYPE.name, SIGNIFICANCE.name), SIGNIFICANCE.name
)

_COUNTS = count_measures(MISTAKE, SIGNIFICANCE, TYPE)
_list = partial(Measure, is_whole=True)
_LISTS = (
    _list("n_reference_findings", REFERENCE.plural, counts=Counted(REFERENCE.name)),
    _list("n_candidate_findings", CANDIDATE.plural, counts=Counted(CANDIDATE.name)),
    _list("n_matches", MATCH.plural, counts=Counted(MATCH.name), higher_is_better=True),
)
_ALL = (REFERENCE.name, CANDIDATE.name, MATCH.name)
_of_findings = partial(
    Measure,
    undefined="findings without a significance, or not linked with what they match",
)
TRIAGE = {
    "n_urgent_reference": "urgent findings of the reference",
    "n_urgent_reported": "urgent findings of the reference that the candidate reports",
    "n_urgent_candidate": "urgent findings of the candidate",
    "n_urgent_supported": "urgent findings of the candidate that the reference supports",
}
"""The counts of a study that recall and precision of urgent findings are ratios of."""
_RIGHT = ("n_urgent_reported", "n_urgent_supported")
MEASURES = (
    _of_findings(
        "crimson", "CRIMSON", (-1, 1), higher_is_better=True, role="score", needs=_ALL
    ),
    _of_findings(
        "reference_weight", "weight of the reference's findings", needs=_ALL[:1]
    ),
    _of_findings(
        "matched_weight", "weight of what matches", higher_is_better=True, needs=_ALL
    ),
    Measure("false_weight", "weight of false findings", needs=(FALSE,)),
    Measure("missing_weight", "weight of missing findings", needs=(MISSING,)),
    Measure("n_significant", "urgent errors", is_whole=True, needs=LEVELS[:1]),
    Measure(
        "n_insignificant", "errors that are not urgent", is_whole=True, needs=LEVELS[:1]
    ),
    Measure(
        "n_actionable", "urgent or actionable errors", is_whole=True, needs=LEVELS[:2]
    ),
    *(
        _of_findings(
            name,
            label,
            higher_is_better=name in _RIGHT,
            is_whole=True,
            needs=(*_ALL, LEVELS[0]),
        )
        for name, label in TRIAGE.items()
    ),
    *_LISTS,
    *_COUNTS,
)


def measure(annotation: Annotation, _study: Study) -> Measures:
    """Return the study's score, the weights it is made of, and its counts.

    Weights are sums over findings (urgent 1, actionable 0.5, not actionable 0.25, benign or
    expected 0); `crimson` is what `score` makes of them [Baharoon et al. 2026]. It is undefined
    where a finding has no significance or a match is not linked with its findings, as a reader's
    may not be. `n_significant` are the errors at urgent findings, `n_actionable` those at urgent
    or actionable ones. The counts of urgent findings are those of `triage`.
    """
    errors, findings = annotation.of_kind(ERROR), annotation.of_kind(REFERENCE.name)
    is_weighed = all(SIGNIFICANCE.name in finding.labels for finding in findings)
    reference = matched = None
    if is_weighed:
        reference = weight(findings)
        matched = _matched(annotation)
    false = _weight_of_type(errors, FALSE)
    missing = _weight_of_type(errors, MISSING)
    crimson = None
    if reference is not None and matched is not None:
        crimson = score(reference, matched, false, missing)
    counts = count_items((*_COUNTS, *_LISTS), annotation)
    n_urgent, n_actionable = (counts[f"n_{level}"] for level in LEVELS[:2])
    return {
        "crimson": crimson,
        "reference_weight": reference,
        "matched_weight": matched,
        "false_weight": false,
        "missing_weight": missing,
        "n_significant": n_urgent,
        "n_insignificant": len(errors) - n_urgent,
        "n_actionable": n_urgent + n_actionable,
        **triage(annotation),
        **counts,
    }


def _weight_of_type(errors: Iterable[Item], name: str) -> float:
    """Return the sum of the weights of the errors of a type."""
    of_type = [error for error in errors if name in error.labels.get(TYPE.name, ())]
    return weight(of_type)


def triage(annotation: Annotation) -> dict[str, int | None]:
    """Return the counts of `TRIAGE`, None where the findings are not all graded and linked.

    Each report's findings are urgent by their own significance. A finding of the reference is
    reported, and one of the candidate supported, where it matches a finding of the other report,
    whatever the significance of that and whatever attributes are wrong. Over a set of studies:

        recall = urgent findings reported / urgent findings of the reference
        precision = urgent findings supported / urgent findings of the candidate
    """
    matched: set[int] = set()
    for match in annotation.of_kind(MATCH.name):
        if len(match.links) != 2:
            return dict.fromkeys(TRIAGE)
        matched.update(match.links)
    numbers: list[int] = []
    for kind in (REFERENCE.name, CANDIDATE.name):
        urgent: set[int] = set()
        for place, item in enumerate(annotation.items):
            if item.kind != kind:
                continue
            grade = item.labels.get(SIGNIFICANCE.name)
            if grade is None:
                return dict.fromkeys(TRIAGE)
            if grade == LEVELS[:1]:
                urgent.add(place)
        numbers += [len(urgent), len(urgent & matched)]
    return dict(zip(TRIAGE, numbers, strict=True))


def score(reference: float, matched: float, false: float, missing: float) -> float:
    """Return CRIMSON, from -1 (exclusive) to 1, of four sums of weights.

    (matched - false) / reference where that is not negative. Else, of the excess x of false over
    matched weight, -x / (1 + x), and 0 where there is no excess. A reference whose findings weigh
    nothing gives 1 where nothing that weighs is false or missing [Baharoon et al. 2026].
    """
    if reference:
        quotient = (matched - false) / reference
    else:
        quotient = -(false + missing + 1) if false or missing else 1.0
    if quotient >= 0:
        return quotient
    excess = false - matched
    if excess <= 0:
        return 0.0
    return -excess / (1 + excess)


def weight(items: Iterable[Item]) -> float:
    """Return the sum of the weights of the items' significances."""
    return sum(WEIGHTS.get(item.label(SIGNIFICANCE.name), 0.0) for item in items)


def _matched(annotation: Annotation) -> float | None:
    """Return the weight of the matched findings of the reference, each once.

    A finding of weight w with attribute errors of weight a gives w * w / (w + a). None where a
    match or an attribute error is not linked with a finding of the reference.
    """
    items = annotation.items
    lost: defaultdict[int, float] = defaultdict(float)
    matched: set[int] = set()
    for item in items:
        is_whole = {FALSE, MISSING}.intersection(item.labels.get(TYPE.name, ()))
        if item.kind not in (MATCH.name, ERROR) or is_whole:
            continue
        if not item.links:
            return None
        place = item.links[0]
        if items[place].kind != REFERENCE.name:
            return None
        if item.kind == MATCH.name:
            matched.add(place)
        elif item.label(SIGNIFICANCE.name) != NEGLIGIBLE:
            lost[place] += _ATTRIBUTE_WEIGHT
    parts = []
    for place in matched:
        full = weight((items[place],))
        # Without errors as it is: a finding that weighs nothing divides nothing.
        if lost[place]:
            full = full * full / (full + lost[place])
        parts.append(full)
    return sum(parts, 0.0)


_APART = re.compile(r"[\s_\-/,]+")
_SEVERAL = re.compile(r"[|;,/]")
_ALSO = {
    "morphological_descriptors": "descriptor",
    "extent": "severity",
    "comparison": "temporal",
    "side": "laterality",
    "bi_rads_category": "birads",
}


def _nonempty(text: str) -> str:
    if not text:
        raise ValueError("a finding has an id and words")
    return text


def _real(text: str) -> str:
    if replies.is_no_entry(text):
        raise ValueError("a finding that is none has no entry")
    return text


def _attributes(value: object) -> object:
    # A list or one text; "location|severity" names two.
    entries = value if isinstance(value, list) else [value]
    names: set[str] = set()
    for entry in entries:
        for part in _SEVERAL.split(str(entry)):
            name = _APART.sub("_", part.strip().lower())
            names.add(_ALSO.get(name, name))
    if not names or not names.issubset(ATTRIBUTES):
        raise ValueError("error_types names at least one, and none that there is not")
    return sorted(names, key=ATTRIBUTES.index)


_Id = Annotated[Line, AfterValidator(_nonempty)]


class Finding(ReplyModel):
    """One abnormal finding of a report."""

    id: _Id = Field(
        description="R1, R2, ... in the reference, P1, P2, ... in the candidate."
    )
    finding: Annotated[Line, AfterValidator(_real)] = Field(
        description="The finding in the report's own words."
    )
    clinical_significance: Annotated[Literal[LEVELS], Listed]  # type: ignore[valid-type]


class Match(ReplyModel):
    """Two findings that are the same, whether or not they agree in all that is said of them."""

    ref_id: _Id
    pred_id: _Id


class WrongAttribute(Match):
    """What the candidate gets wrong about a finding that both reports have."""

    optional: ClassVar = {"explanation": ""}

    # In this order, so that a judge gives its reason before it settles on a severity.
    explanation: Annotated[Line, OrNull] = Field(
        description="What differs and whether it matters, in a sentence."
    )
    error_types: Annotated[
        list[Literal[ATTRIBUTES]],  # type: ignore[valid-type]
        BeforeValidator(_attributes),
    ]
    severity: Annotated[Literal["significant", "negligible"], Listed]


class Errors(ReplyModel):
    """What is wrong with the candidate."""

    false_findings: list[_Id] = Field(
        description="Ids of the candidate's that match nothing."
    )
    missing_findings: list[_Id] = Field(
        description="Ids of the reference's that match nothing."
    )
    attribute_errors: list[WrongAttribute]


class Reply(ReplyModel):
    """The findings of both reports, which of them match, and the errors."""

    reference_findings: list[Finding]
    predicted_findings: list[Finding]
    matched_findings: list[Match]
    errors: Errors


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the findings, matches and errors of an answer, in its order; ids become positions."""
    reply = replies.read_reply(Reply, text)
    ours, theirs = reply.reference_findings, reply.predicted_findings
    for findings in (ours, theirs):
        _check_unique([finding.id for finding in findings], "id twice")
        again = replies.first_repeat(one.finding for one in findings)
        if again is not None:
            raise UnparsedError("finding twice", again)
        normal = [one.finding for one in findings if is_normal(one.finding)]
        if normal:
            raise UnparsedError("contradiction", f"an abnormal finding: {normal[0]!r}")
    reference = {finding.id: place for place, finding in enumerate(ours)}
    candidate = {finding.id: place for place, finding in enumerate(theirs, len(ours))}
    items = [_item(one.finding, one.clinical_significance, "reference") for one in ours]
    items += [
        _item(one.finding, one.clinical_significance, "candidate") for one in theirs
    ]
    errors = reply.errors
    pairs = [(match.ref_id, match.pred_id) for match in reply.matched_findings]
    _check_unique(pairs, "pair twice")
    _check_accounted(
        reference, {ref for ref, _ in pairs}, errors.missing_findings, "missing"
    )
    _check_accounted(
        candidate, {pred for _, pred in pairs}, errors.false_findings, "false"
    )
    our_words = {finding.id: word_key(finding.finding) for finding in ours}
    their_words = {finding.id: word_key(finding.finding) for finding in theirs}
    _check_reported(errors.missing_findings, our_words, their_words, "missing")
    _check_reported(errors.false_findings, their_words, our_words, "false")
    items += [match_item(items, reference[ref], candidate[pred]) for ref, pred in pairs]
    items += [
        unmatched_item(items, candidate[one], FALSE) for one in errors.false_findings
    ]
    items += [
        unmatched_item(items, reference[one], MISSING)
        for one in errors.missing_findings
    ]
    _check_unique([*map(repr, errors.attribute_errors)], "error twice")
    for mistake in errors.attribute_errors:
        pair = mistake.ref_id, mistake.pred_id
        if mistake.explanation and is_bare_denial(mistake.explanation):
            detail = f"an attribute error that is explained by {mistake.explanation!r}"
            raise UnparsedError("contradiction", detail)
        if pair not in pairs:
            raise UnparsedError(
                "pair not matched", f"an attribute error of {' and '.join(pair)}"
            )
        if our_words[mistake.ref_id] == their_words[mistake.pred_id]:
            both = " and ".join(pair)
            raise UnparsedError(
                "contradiction", f"{both} differ, and are in the same words"
            )
        links = (reference[mistake.ref_id], candidate[mistake.pred_id])
        types = _types(mistake.error_types, study.modality)
        is_negligible = mistake.severity == NEGLIGIBLE
        items.append(
            _attribute_item(items, links, types, mistake.explanation, is_negligible)
        )
    return Annotation(tuple(items))


def _types(named: Sequence[str], modality: str | None) -> tuple[str, ...]:
    types = set(named)
    # The wrong side is a type of its own in mammograms alone.
    if "laterality" in types and modality != "mg":
        types.remove("laterality")
        types.add("location")
    for name in types:
        if MODALITY_OF.get(name) not in (None, modality):
            raise UnparsedError(
                "unknown error type", f"{name}, which is of {MODALITY_OF[name]}"
            )
    return tuple(sorted(types, key=ATTRIBUTES.index))


def _check_unique(entries: Collection[object], reason: str) -> None:
    (most, n), *_ = Counter(entries).most_common(1) or [("", 1)]
    if n > 1:
        raise UnparsedError(reason, str(most))


def _check_accounted(
    known: Mapping[str, int],
    matched: Collection[str],
    alone: Collection[str],
    mistake: str,
) -> None:
    _check_unique(alone, "id twice")
    named = Counter([*matched, *alone])
    dangling = named.keys() - known.keys()
    if dangling:
        raise UnparsedError("id of no finding", min(dangling))
    wrong = [name for name in known if named[name] != 1]
    if wrong:
        raise UnparsedError(
            "contradiction", f"{wrong[0]} is matched or {mistake}, and once"
        )


def _check_reported(
    alone: Sequence[str],
    words: Mapping[str, str],
    other_words: Mapping[str, str],
    mistake: str,
) -> None:
    """Refuse a finding that is missing or false, and stands in the other report word for word."""
    for name in alone:
        if words[name] in other_words.values():
            detail = f"{name} is {mistake}, and both reports have it in the same words"
            raise UnparsedError("contradiction", detail)


def _item(finding: str, significance: str, side: Side) -> Item:
    return Item(f"{side}_finding", finding, {SIGNIFICANCE.name: (significance,)}, side)


def _attribute_item(
    items: Sequence[Item],
    links: tuple[int, int],
    types: tuple[str, ...],
    text: str,
    is_negligible: bool,  # noqa: FBT001
) -> Item:
    grade = NEGLIGIBLE
    if not is_negligible:
        grade = items[links[0]].label(SIGNIFICANCE.name)
    labels = {TYPE.name: types, SIGNIFICANCE.name: (grade,)}
    return Item(ERROR, text, labels, links=links)


def match_item(items: Sequence[Item], reference: int, candidate: int) -> Item:
    """Return the match of the findings at two positions."""
    text, also = items[reference].text, items[candidate].text
    if text.casefold() != also.casefold():
        text = f"{text} (candidate: {also})"
    return Item(MATCH.name, text, links=(reference, candidate))


def unmatched_item(items: Sequence[Item], place: int, mistake: str) -> Item:
    """Return the error of the finding at a position, which is false or missing."""
    finding = items[place]
    labels = {TYPE.name: (mistake,), **finding.labels}
    return Item(ERROR, finding.text, labels, finding.side, (place,))


def render(annotation: Annotation) -> str:
    """Return the annotation as a reply; raises ValueError for one that no reply expresses."""
    reference, candidate = (
        annotation.of_kind(kind.name) for kind in (REFERENCE, CANDIDATE)
    )
    names = [f"R{number + 1}" for number in range(len(reference))]
    names += [f"P{number + 1}" for number in range(len(candidate))]
    alone: dict[tuple[str, ...], list[str]] = {(FALSE,): [], (MISSING,): []}
    attributes, modality = [], None
    try:
        for error in annotation.of_kind(ERROR):
            types = error.labels[TYPE.name]
            modality = next(filter(None, map(MODALITY_OF.get, types)), modality)
            if types in alone:
                alone[types].append(names[error.links[0]])
                continue
            is_negligible = error.label(SIGNIFICANCE.name) == NEGLIGIBLE
            severity = NEGLIGIBLE if is_negligible else "significant"
            said = {
                "explanation": error.text,
                "error_types": types,
                "severity": severity,
            }
            attributes.append(_pair(error, names) | said)
        reply = {
            "reference_findings": _findings(reference, names),
            "predicted_findings": _findings(candidate, names[len(reference) :]),
            "matched_findings": [
                _pair(match, names) for match in annotation.of_kind(MATCH.name)
            ],
            "errors": {
                "false_findings": alone[FALSE,],
                "missing_findings": alone[MISSING,],
                "attribute_errors": attributes,
            },
        }
    except (IndexError, KeyError, ValueError) as error:
        raise ValueError(f"no reply expresses this: {error}") from error
    study = Study("", "", "", modality=modality)
    read = partial(parse, study=study)
    return replies.check_round_trip(json.dumps(reply, indent=1), annotation, read)


def _findings(items: tuple[Item, ...], names: list[str]) -> list[dict[str, object]]:
    return [
        {
            "id": name,
            "finding": item.text,
            "clinical_significance": item.label(SIGNIFICANCE.name),
        }
        for name, item in zip(names, items, strict=False)
    ]


def _pair(item: Item, names: list[str]) -> dict[str, object]:
    reference, candidate = item.links
    return {"ref_id": names[reference], "pred_id": names[candidate]}


_ELDERLY = 65  # degenerative change is expected from this age on [Baharoon et al. 2026]
_URGENT, _ACTIONABLE, _MINOR, _BENIGN = LEVELS
_BY_SEVERITY = {4: _URGENT, 3: _URGENT, 2: _ACTIONABLE, 1: _MINOR}

_STATED_AGE = re.compile(
    r"\bage[ds]?\b\s*[:=]?([^\n.;]{1,40})|(\d{1,3}[- ]?(?:years?|yrs?|y/?o)\b)", re.I
)
_AGE = re.compile(
    r"\s*(?:[>\u2265]=?)?\s*0*(\d{1,3})(?!\d)(?!\s*(?:m|months?|w|weeks?|d|days?)\b)",
    re.I,
)
_WORD = re.compile(r"[a-z]{5,}")
_AGES = ("age", "patient_age", "patientage")


def baseline(comparison: ReportComparison, study: Study) -> Annotation:
    """Return the findings of both reports, their matches and the errors, found by rules."""
    findings = comparison.findings
    asked_about = _stems(" ".join(study.context.values()))
    items = []
    for finding in findings:
        is_expected = finding.comes_with_age and is_elderly(study.context)
        # What the examination was asked for is never benign.
        if is_expected and not _stems(finding.text) & asked_about:
            significance = _BENIGN
        else:
            significance = _BY_SEVERITY[finding.severity]
        items.append(_item(finding.text, significance, finding.side))
    items = _told_apart(items, comparison)
    for place, finding in enumerate(findings):
        if finding.side == "reference":
            for partner in finding.partners:
                items.append(match_item(items, place, partner))
    for side, kind in (("candidate", FALSE), ("reference", MISSING)):
        for place, finding in enumerate(findings):
            if finding.side == side and not finding.partners:
                items.append(unmatched_item(items, place, kind))
    for difference in comparison.differences:
        links = (difference.reference, difference.candidate)
        types = (difference.attribute,)
        is_negligible = difference.is_negligible
        items.append(
            _attribute_item(items, links, types, difference.text, is_negligible)
        )
    return Annotation(tuple(items))


def _told_apart(items: Sequence[Item], comparison: ReportComparison) -> list[Item]:
    """Return the findings, the candidate's with what differs where the words are the same."""
    apart = list(items)
    findings = comparison.findings
    for difference in comparison.differences:
        ours, theirs = items[difference.reference], apart[difference.candidate]
        if word_key(ours.text) == word_key(theirs.text):
            text = f"{theirs.text} (other {difference.attribute})"
            apart[difference.candidate] = replace(theirs, text=text)
    said: set[str] = set()
    alone: set[str] = set()
    for item, finding in zip(items, findings, strict=True):
        if item.kind == REFERENCE.name:
            said.add(word_key(item.text))
            if not finding.partners:
                alone.add(word_key(item.text))
    for place, finding in enumerate(findings):
        item = apart[place]
        words = word_key(item.text)
        is_false = not finding.partners and words in said
        if item.kind == CANDIDATE.name and (is_false or words in alone):
            apart[place] = replace(item, text=f"{item.text} (elsewhere)")
    return apart


def is_elderly(context: Mapping[str, str]) -> bool:
    """Return whether the context says that the patient is 65 or more; of a range, the lower end."""
    ages = [text for name, text in context.items() if name.lower() in _AGES]
    if not ages:
        for text in context.values():
            stated = _STATED_AGE.search(text)
            if stated is not None:
                ages.append(stated[1] or stated[2])
    if not ages:
        return False
    age = _AGE.match(ages[0])
    return age is not None and int(age[1]) >= _ELDERLY


def _stems(text: str) -> set[str]:
    # Words that share four letters speak of the same: aorta and aortic, spine and spinal.
    return {word[:4] for word in _WORD.findall(text.lower())}
