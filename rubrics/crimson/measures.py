"""CRIMSON's findings and errors, their weights, and the measures of a study."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import partial

from judge.rubrics.categories import ERROR, ItemCounter, count_measures
from judge.rubrics.contract import Counted, Facet, Kind, Label, Measure
from judge.types import Annotation, Item, Measures, Study

NEGLIGIBLE = "negligible"
SIGNIFICANCE = Facet(
    "significance",
    "clinical significance",
    "clinical significances",
    (
        Label("urgent", "urgent", "critical", means="urgent"),
        Label("actionable_not_urgent", "actionable, not urgent", "serious", means="actionable"),
        Label("not_actionable_not_urgent", "not actionable", "notable", means="not actionable"),
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
_ATTRIBUTE_WEIGHT = 0.5
"""The weight of a significant attribute error; a negligible one weighs nothing."""

FALSE, MISSING = "false_finding", "missing_finding"
_ATTRIBUTES = {
    "location": "wrong location",
    "severity": "wrong severity",
    "descriptor": "wrong descriptor",
    "measurement": "wrong measurement",
    "certainty": "wrong certainty",
    "unspecific": "too unspecific",
    "overinterpretation": "overinterpretation",
    "temporal": "wrong comparison",
}
_OF_MODALITY = {
    "level": ("wrong level or segment", "ct"),
    "phase": ("wrong phase of contrast", "ct"),
    "laterality": ("wrong side", "mg"),
    "birads": ("wrong BI-RADS category", "mg"),
    "density": ("wrong breast density", "mg"),
    "calcification": ("wrong calcification", "mg"),
}
"""Further attributes for reports of one modality; ours, not the authors'."""
ATTRIBUTES = (*_ATTRIBUTES, *_OF_MODALITY)
MODALITY_OF = {name: modality for name, (_, modality) in _OF_MODALITY.items()}
TYPE = Facet(
    "error_type",
    "type",
    "types",
    (
        Label(FALSE, "false finding"),
        Label(MISSING, "missing finding"),
        *(Label(name, label) for name, label in _ATTRIBUTES.items()),
        *(
            Label(name, label, modality=modality)
            for name, (label, modality) in _OF_MODALITY.items()
        ),
    ),
)

REFERENCE = Kind(
    "reference_finding", "finding of the reference", "findings of the reference", ("significance",)
)
CANDIDATE = Kind(
    "candidate_finding", "finding of the candidate", "findings of the candidate", ("significance",)
)
MATCH = Kind("match", "matched finding", "matched findings")
MISTAKE = Kind(ERROR, "error", "errors", (TYPE.name, SIGNIFICANCE.name), SIGNIFICANCE.name)

_COUNTS = count_measures(MISTAKE, SIGNIFICANCE, TYPE)
_LISTS = tuple(
    Measure(name, kind.plural, is_whole=True, counts=Counted(kind.name), higher_is_better=is_good)
    for name, kind, is_good in (
        ("n_reference_findings", REFERENCE, False),
        ("n_candidate_findings", CANDIDATE, False),
        ("n_matches", MATCH, True),
    )
)
_ALL = (REFERENCE.name, CANDIDATE.name, MATCH.name)
_of_findings = partial(
    Measure, undefined="findings without a significance, or not linked with what they match"
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
    _of_findings("crimson", "CRIMSON", (-1, 1), higher_is_better=True, role="score", needs=_ALL),
    _of_findings("reference_weight", "weight of the reference's findings", needs=_ALL[:1]),
    _of_findings("matched_weight", "weight of what matches", higher_is_better=True, needs=_ALL),
    Measure("false_weight", "weight of false findings", needs=(FALSE,)),
    Measure("missing_weight", "weight of missing findings", needs=(MISSING,)),
    Measure("n_significant", "urgent errors", is_whole=True, needs=LEVELS[:1]),
    Measure("n_insignificant", "errors that are not urgent", is_whole=True, needs=LEVELS[:1]),
    Measure("n_actionable", "urgent or actionable errors", is_whole=True, needs=LEVELS[:2]),
    *(
        _of_findings(
            *count,
            higher_is_better=count[0] in _RIGHT,
            is_whole=True,
            needs=(*_ALL, LEVELS[0]),
        )
        for count in TRIAGE.items()
    ),
    *_LISTS,
    *_COUNTS,
)

_count = ItemCounter((*_COUNTS, *_LISTS))


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
    reference = weight(findings) if is_weighed else None
    false, missing = (weight(_of_type(errors, name)) for name in (FALSE, MISSING))
    matched = _matched(annotation) if is_weighed else None
    counts = _count(annotation)
    n_urgent, n_actionable = (counts[f"n_{level}"] for level in LEVELS[:2])
    return {
        "crimson": None
        if reference is None or matched is None
        else score(reference, matched, false, missing),
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


def triage(annotation: Annotation) -> dict[str, int | None]:
    """Return the counts of `TRIAGE`, None where the findings are not all graded and linked.

    Each report's findings are urgent by their own significance. A finding of the reference is
    reported, and one of the candidate supported, where it matches a finding of the other report,
    whatever the significance of that and whatever attributes are wrong. Over a set of studies:

        recall = urgent findings reported / urgent findings of the reference
        precision = urgent findings supported / urgent findings of the candidate
    """
    findings = {
        place: item
        for place, item in enumerate(annotation.items)
        if item.kind in (REFERENCE.name, CANDIDATE.name)
    }
    links = [match.links for match in annotation.of_kind(MATCH.name)]
    is_graded = all(SIGNIFICANCE.name in finding.labels for finding in findings.values())
    if not is_graded or not all(len(pair) == 2 for pair in links):
        return dict.fromkeys(TRIAGE)
    matched = {place for pair in links for place in pair}
    counts = Counter(
        (finding.kind, place in matched)
        for place, finding in findings.items()
        if finding.label(SIGNIFICANCE.name) == LEVELS[0]
    )
    reported, supported = counts[REFERENCE.name, True], counts[CANDIDATE.name, True]
    return {
        "n_urgent_reference": reported + counts[REFERENCE.name, False],
        "n_urgent_reported": reported,
        "n_urgent_candidate": supported + counts[CANDIDATE.name, False],
        "n_urgent_supported": supported,
    }


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
    return -excess / (1 + excess) if excess > 0 else 0.0


def weight(items: Iterable[Item]) -> float:
    """Return the sum of the weights of the items' significances."""
    return sum(WEIGHTS.get(item.label(SIGNIFICANCE.name), 0.0) for item in items)


def _of_type(errors: Iterable[Item], name: str) -> list[Item]:
    return [error for error in errors if name in error.labels.get(TYPE.name, ())]


def _matched(annotation: Annotation) -> float | None:
    """Return the weight of the matched findings of the reference, each once.

    A finding of weight w with attribute errors of weight a gives w * w / (w + a). None where a
    match or an attribute error is not linked with a finding of the reference.
    """
    items = annotation.items
    lost: defaultdict[int, float] = defaultdict(float)
    matched: set[int] = set()
    for item in items:
        types = item.labels.get(TYPE.name, ())
        is_attribute = item.kind == ERROR and not {FALSE, MISSING} & set(types)
        if item.kind != MATCH.name and not is_attribute:
            continue
        if not item.links or items[item.links[0]].kind != REFERENCE.name:
            return None
        if item.kind == MATCH.name:
            matched.add(item.links[0])
        elif item.label(SIGNIFICANCE.name) != NEGLIGIBLE:
            lost[item.links[0]] += _ATTRIBUTE_WEIGHT
    total = 0.0
    for place in matched:
        full = weight((items[place],))
        total += full * full / (full + lost[place]) if lost[place] else full
    return total
