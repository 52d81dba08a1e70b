"""The built-in judge: answers any rubric, in the rubric's own format, by rules."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from judge.backends.base import Judge, JudgeSettings, StudyError
from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.data import load as load_lexicon
from judge.backends.lexicon.errors import (
    Error,
    differences,
    nuances,
    unpaired,
    wider_changes,
)
from judge.backends.lexicon.mentions import Mention, Pair, group_mentions
from judge.backends.lexicon.reports import (
    LEAST_RECOGNISED,
    ReadReport,
    Recognised,
    align,
    recognised,
    seems_english,
    split,
    unfamiliar_reason,
)
from judge.rubrics import Rubric
from judge.types import (
    Aspect,
    AspectDifference,
    Attribute,
    AttributeDifference,
    Category,
    Completion,
    CompletionRequest,
    Discrepancy,
    JudgeError,
    Message,
    ReportComparison,
    ReportFinding,
    Severity,
    Side,
    Statement,
    Study,
    UnparsedError,
)

_CHANGES = (Category.FALSE_COMPARISON, Category.OMITTED_COMPARISON)
_OTHERWISE = {Category.WRONG_LOCATION, Category.WRONG_SEVERITY}
"""Differences by which each report says otherwise than the other."""
_MORE: Mapping[Side, set[Category]] = {
    "reference": {Category.MISSING_FINDING, Category.OMITTED_COMPARISON},
    "candidate": {Category.FALSE_FINDING, Category.FALSE_COMPARISON},
}
"""Differences by which a report says more than the other."""

_WITH_AGE = frozenset({"aortic_calcification", "degenerative_spine", "tortuous_aorta"})
"""Findings that are expected in the elderly [Baharoon et al. 2026]."""


def compare(reference: str, candidate: str, lexicon: Lexicon) -> ReportComparison:
    """Return the discrepancies between two reports, their matches and a short explanation.

    Discrepancies come in the order of the reference, then those of the candidate alone, in its
    order. Reports in which nothing is recognised match in the sentences they share.
    """
    ours = ReadReport(reference, "reference", lexicon)
    theirs = ReadReport(candidate, "candidate", lexicon)
    same, differing, *alone = align(ours, theirs)
    unpaired_errors, twins = unpaired(alone, ours, theirs)
    errors: list[Error] = []
    for pair in differing:
        errors += differences(pair, ours, theirs)
    errors += unpaired_errors
    pairs = [*same, *differing]
    mentions = [*ours.mentions, *theirs.mentions]
    if any(mention.says for mention in mentions):
        matched = _matched(ours, theirs, errors, pairs=[*pairs, *twins])
    else:
        matched = _shared_sentences(reference, candidate)
    findings, attributes, aspects = _compare_findings(
        ours, theirs, errors, pairs=[*pairs, *twins]
    )
    explanation = _explanation(reference, candidate, lexicon, n_matched=len(matched))
    sentences = {(one.sentence, other.sentence) for one, other in pairs}
    back = {other: one for one, other in pairs}
    of_reference = _statements(ours, theirs, dict(pairs))
    of_candidate = _statements(theirs, ours, back)
    return ReportComparison(
        _once([*errors, *wider_changes(ours, theirs)]),
        matched,
        explanation,
        tuple(sorted(sentences)),
        findings,
        attributes,
        (*of_reference, *of_candidate),
        aspects,
    )


def _explanation(
    reference: str, candidate: str, lexicon: Lexicon, *, n_matched: int
) -> str:
    """Return how much of the two reports was recognised, in words."""
    ours = recognised(reference, lexicon)
    theirs = recognised(candidate, lexicon)
    return (
        f"Rules of {lexicon.version}: {ours.recognised} of {ours.statements} statements recognised "
        f"in the reference, {theirs.recognised} of {theirs.statements} in the candidate, "
        f"{n_matched} in agreement."
    )


def _shared_sentences(reference: str, candidate: str) -> tuple[str, ...]:
    """Return the sentences of the reference that the candidate has too, once each."""
    others = set(map(_plain, split(candidate)))
    said = dict.fromkeys(map(_plain, split(reference)))
    return tuple(text for text in said if text in others)


def _once(errors: Sequence[Error]) -> tuple[Discrepancy, ...]:
    """Return each topic of a sentence once, the gravest error on it; the first on a tie.

    A comparison made is one of the candidate's sentence, one left out of the reference's.
    """
    gravest: dict[tuple[object, ...], Error] = {}
    for error in errors:
        ours = error.reference_sentence
        theirs = error.candidate_sentence
        if error.category is Category.FALSE_COMPARISON:
            ours = None
        if error.category is Category.OMITTED_COMPARISON:
            theirs = None
        key = (error.category, error.topic, ours, theirs)
        known = gravest.get(key)
        if known is None or error.severity > known.severity:
            gravest[key] = error
    return tuple(sorted(gravest.values(), key=_order))


def _order(error: Discrepancy) -> tuple[bool, int, int, str, str, str]:
    """Order errors by the reference, then those of the candidate alone, by the candidate."""
    reference = error.reference_sentence
    candidate = error.candidate_sentence
    # What only the reference says comes before what the candidate says otherwise.
    if candidate is None:
        candidate = -1
    return (
        reference is None,
        reference or 0,
        candidate,
        error.category.value,
        error.finding,
        error.text,
    )


def _matched(
    reference: ReadReport,
    candidate: ReadReport,
    errors: Sequence[Error],
    *,
    pairs: Sequence[Pair],
) -> tuple[str, ...]:
    """Return the findings of the reference that the candidate has too, once each, in its words.

    One with an error in it is not matched, unless it is a comparison that does not matter.
    """
    # By identity: equal mentions in two sentences are two.
    agreed = {id(mention) for mention, _ in pairs}
    wrong: set[int] = set()
    for error in errors:
        matters = error.severity > 1 or error.category not in _CHANGES
        if error.pair and matters:
            wrong.add(id(error.pair[0]))
    matched = {id(mention) for mention in _agreed_normals(reference, candidate, errors)}
    by_name: defaultdict[str, list[Mention]] = defaultdict(list)
    stated = {mention for mention in candidate.mentions if mention.changes}
    for mention in reference.mentions:
        if mention.positive:
            by_name[mention.finding].append(mention)
        elif not mention.negative and mention in stated:
            matched.add(id(mention))
    for finding in chain(*map(group_mentions, by_name.values())):
        ids = {id(mention) for mention in finding}
        if ids & agreed and not ids & wrong:
            matched.add(id(finding[0]))
    found = [mention for mention in reference.mentions if id(mention) in matched]
    return tuple(mention.words for mention in found)


def _agreed_normals(
    reference: ReadReport, candidate: ReadReport, errors: Sequence[Error]
) -> Iterator[Mention]:
    """Yield the denials and normal structures of the reference that the candidate has too.

    Other words may rule out the same: "No effusion", "Pleural spaces are clear".
    """
    lexicon = reference.lexicon
    false = [error for error in errors if error.category is Category.FALSE_FINDING]
    made_up = {error.finding for error in false}
    grave = {error.finding for error in false if error.severity > 1}
    made_up_areas: set[str] = set()
    for found in lexicon.findings.values():
        if found.label in grave:
            made_up_areas.add(found.area)
    contradicted = {error.against for error in errors}
    ruled_out: set[str] = set()
    denied_areas: set[str] = set()
    for mention in candidate.normal:
        if mention.finding:
            denied_areas.add(mention.kind.area)
        if len(mention.sides) != 1:
            ruled_out |= mention.rules_out
    known: set[str] = set()
    for mention in reference.mentions:
        if not mention.negative:
            continue
        name = mention.kind_denied
        areas = mention.rules_out
        is_made_up = bool(mention.finding) and mention.kind.label in made_up
        if name in known or is_made_up or areas & made_up_areas:
            continue
        if areas:
            in_other_words = not areas.isdisjoint(ruled_out | denied_areas)
        else:
            in_other_words = mention.kind.area in ruled_out
        # Other words seldom name a side.
        if mention in contradicted or len(mention.sides) == 1:
            in_other_words = False
        if in_other_words or any(map(mention.denies_as, candidate.normal)):
            known.add(name)
            yield mention


def _plain(text: str) -> str:
    """Return a sentence in lower case without its full stop, "." where nothing is left."""
    words = text.lower().replace(";", ",").split()
    return " ".join(words).rstrip(".") or "."


def _compare_findings(
    reference: ReadReport,
    candidate: ReadReport,
    errors: Sequence[Error],
    *,
    pairs: Sequence[Pair],
) -> tuple[
    tuple[ReportFinding, ...],
    tuple[AttributeDifference, ...],
    tuple[AspectDifference, ...],
]:
    """Return the abnormal findings of both reports, once each, and how they differ.

    The differences are told by attribute, and again by what both reports say something of.

    A finding weighs as much as the gravest mention of it, one of the reference no less than what
    the candidate says otherwise of it.
    """
    groups = [*_abnormal_groups(reference), *_abnormal_groups(candidate)]
    group_of: dict[int, int] = {}
    severities: list[Severity] = []
    partners: list[set[int]] = []
    for n, (_, group) in enumerate(groups):
        for mention in group:
            group_of[id(mention)] = n
        weights = [mention.weight for mention in group]
        severities.append(max(weights))
        partners.append(set())
    differing_errors = [error for error in errors if error.pair]
    for pair in pairs:
        ours, theirs = _groups_of(pair, group_of)
        if ours is not None and theirs is not None:
            partners[ours].add(theirs)
            partners[theirs].add(ours)
            differing_errors += nuances(pair, reference, candidate)
    # One difference of an attribute for each two findings, the gravest.
    gravest: dict[tuple[int, int, Attribute], Error] = {}
    by_aspect: dict[tuple[int, int, Aspect], Error] = {}
    for error in differing_errors:
        if not error.pair or not error.attribute:
            continue
        ours, theirs = _groups_of(error.pair, group_of)
        if ours is None or theirs is None:
            continue
        _keep_gravest(gravest, (ours, theirs, error.attribute), error)
        for aspect in error.aspects:
            _keep_gravest(by_aspect, (ours, theirs, aspect), error)
        severities[ours] = max(severities[ours], error.severity)
    differing = []
    for key, error in sorted(gravest.items(), key=itemgetter(0)):
        is_slight = error.severity == 1
        differing.append(AttributeDifference(*key, is_slight, error.text))
    aspects = []
    for place, error in sorted(by_aspect.items(), key=itemgetter(0)):
        is_slight = error.severity == 1
        aspects.append(AspectDifference(*place, is_slight, _said_by_both(error)))
    findings = _report_findings(groups, severities, partners)
    return findings, tuple(differing), tuple(aspects)


def _report_findings(
    groups: Sequence[tuple[Side, Sequence[Mention]]],
    severities: Sequence[Severity],
    partners: Sequence[Set[int]],
) -> tuple[ReportFinding, ...]:
    findings: dict[tuple[Side, str], ReportFinding] = {}
    for n, (side, group) in enumerate(groups):
        first = group[0]
        words = first.words
        # "Small right and large left effusion" is two.
        if (side, words) in findings:
            sides = ", ".join(sorted(first.sides))
            words += f" ({sides} {n})"
        findings[side, words] = ReportFinding(
            side,
            words,
            severities[n],
            first.finding in _WITH_AGE,
            tuple(sorted(partners[n])),
            frozenset().union(*(mention.aspects for mention in group)),
            frozenset().union(*(mention.sizes for mention in group)),
            tuple(sorted({mention.sentence for mention in group})),
        )
    return tuple(findings.values())


def _said_by_both(error: Error) -> str:
    """Return the words of both reports: the aspect says in what they differ."""
    assert error.pair is not None
    ours, theirs = error.pair
    return f'The reference says "{ours.words}", the candidate "{theirs.words}".'


_Key = TypeVar("_Key")


def _keep_gravest(known: dict[_Key, Error], key: _Key, error: Error) -> None:
    """Put the error under the key, unless one that is as grave is there."""
    before = known.get(key)
    if before is None or error.severity > before.severity:
        known[key] = error


def _groups_of(
    pair: Pair, group_of: Mapping[int, int]
) -> tuple[int | None, int | None]:
    """Return the numbers of the findings that two mentions are of, None for a normal one."""
    ours, theirs = pair
    return group_of.get(id(ours)), group_of.get(id(theirs))


def _abnormal_groups(report: ReadReport) -> Iterator[tuple[Side, Sequence[Mention]]]:
    """Yield the mentions of each abnormal finding of a report, with its side."""
    present = [mention for mention in report.mentions if mention.positive]
    abnormal = [mention for mention in present if mention.kind.abnormal]
    for group in group_mentions(abnormal):
        yield report.side, group


def _statements(
    report: ReadReport, other: ReadReport, partners: Mapping[Mention, Mention]
) -> Iterator[Statement]:
    """Yield what a report says, once each, with the other report's verdict on it."""
    for mention in dict.fromkeys(report.mentions):
        if not mention.says:
            continue
        partner = partners.get(mention)
        if partner is None and mention.positive:
            partner = other.twin(mention)
        verdict, decides = _decided(mention, partner, report, other)
        sentence = None
        if decides:
            sentence = decides.sentence
        yield Statement(report.side, mention.words, verdict, sentence)


def _decided(
    mention: Mention,
    partner: Mention | None,
    report: ReadReport,
    other: ReadReport,
) -> tuple[str, Mention | None]:
    """Return the other report's verdict on a mention, and what of it decides, if anything."""
    if partner is not None:
        verdict = _verdict(mention, partner, report, other)
        if verdict == "not_mentioned":
            return verdict, None
        return verdict, partner
    against = _against(mention, other)
    if against is not None:
        return "contradicted", against
    borne_out = _borne_out(mention, other)
    if borne_out is not None:
        return "entailed", borne_out
    return "not_mentioned", None


def _verdict(
    mention: Mention, partner: Mention, report: ReadReport, other: ReadReport
) -> str:
    if mention == partner or not mention.positive:
        return "entailed"
    if report.side == "candidate":
        errors = differences((partner, mention), other, report)
    else:
        errors = differences((mention, partner), report, other)
    categories: Set[Category] = {error.category for error in errors}
    if categories & _OTHERWISE:
        return "contradicted"
    # A comparison is contradicted by another one, not by silence.
    both_compare = bool(mention.changes and partner.changes)
    if both_compare and Category.FALSE_COMPARISON in categories:
        return "contradicted"
    if categories & _MORE[report.side]:
        return "not_mentioned"
    return "entailed"


def _against(mention: Mention, other: ReadReport) -> Mention | None:
    if mention.positive:
        return next(iter(other.contrary(mention)), None)
    if not mention.negative:
        return None
    there = [stated for stated in other.mentions if stated.positive]
    return next(filter(mention.against, there), None)


def _borne_out(mention: Mention, other: ReadReport) -> Mention | None:
    if not mention.negative:
        return None
    for normal in other.normal:
        if mention.denies_as(normal):
            return normal
    areas = {*mention.rules_out}
    if mention.finding:
        areas.add(mention.kind.area)
    if not areas:
        return None
    for normal in other.normal:
        if len(normal.sides) != 1 and areas <= normal.rules_out:
            return normal
    return None


_NOT_UNDERSTOOD, _WORDS = "not understood", "words"
_UNFAMILIAR = {
    "language": "a report that seems to be in another language than English, or has mostly words "
    "that the lexicon does not know",
    "images": "a report that seems to be of CT, MRI or ultrasound; --modality xr judges them as "
    "chest radiographs",
    "modality": "another modality than chest radiographs",
}
"""The reasons why a study is not judged, in words."""


def load(path: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the built-in judge with the lexicon at `path`, "" for its own."""
    wrong = [*settings.sampling]
    if settings.reply:
        wrong.append("--reply")
    if settings.prompt:
        wrong.append("--prompt")
    if wrong:
        raise JudgeError(
            f"lexicon follows rules and takes no {', '.join(wrong)}; leave it out"
        )
    if path:
        return LexiconJudge(rubric, Path(path))
    return LexiconJudge(rubric)


class LexiconJudge(Judge):
    """Compares two reports by the lexicon's rules, and answers as a model would.

    Raises `JudgeError` for a rubric without `baseline` and `render`.
    """

    note = "the built-in rule-based baseline: never report its numbers as those of a judge model"
    runs_inline = True
    is_deterministic = True

    def __init__(self, rubric: Rubric, path: Path | None = None) -> None:
        if rubric.baseline is None or rubric.render is None:
            raise JudgeError(
                f"the built-in judge has no rules for {rubric.title}; name another with --judge"
            )
        self._rubric = rubric
        self._baseline = rubric.baseline
        self._render = rubric.render
        if path:
            self._lexicon = load_lexicon(path)
            self.name = f"lexicon:{path}"
        else:
            self._lexicon = load_lexicon()
            self.name = "lexicon"
        self.version = f"{self._lexicon.version}(baseline)"

    def request(self, study: Study) -> CompletionRequest:
        """Return the two reports as they are: rules need no prompt around them."""
        texts = {
            "rubric": self._rubric.name,
            "reference": study.reference,
            "candidate": study.candidate,
        }
        if study.context and self._rubric.takes_context:
            texts["context"] = json.dumps(dict(study.context))
        why = self._why_not(study)
        if why:
            texts["unfamiliar"] = why
        messages = tuple(Message(role, content) for role, content in texts.items())
        return CompletionRequest(
            endpoint="lexicon", model=self.version, messages=messages
        )

    async def complete(self, request: CompletionRequest) -> Completion:
        """Compare the reports and write the result in the rubric's reply format.

        Raises `StudyError` for reports that the rules were not made for, for a reference of which
        too little is understood, and for a reply that the rubric's own reader would refuse: a study
        is never lost by a traceback.
        """
        texts = {message.role: message.content for message in request.messages}
        why = texts.get("unfamiliar")
        if why == _WORDS:
            raise StudyError(
                _NOT_UNDERSTOOD,
                "the lexicon does not know most words of the reference; name a model with --judge",
            )
        if why:
            raise StudyError(f"unfamiliar {why}", f"the study has {_UNFAMILIAR[why]}")
        self._check_understood(texts["reference"])
        context = json.loads(texts.get("context", "{}"))
        study = Study("", texts["reference"], texts["candidate"], context=context)
        comparison = compare(study.reference, study.candidate, self._lexicon)
        return Completion(self._reply(comparison, study), "stop", self.version)

    def _reply(self, comparison: ReportComparison, study: Study) -> str:
        # A reader refuses entries such as "no error", and words of a report can be read as that.
        try:
            text = self._render(self._baseline(comparison, study))
            self._rubric.parse(text, study, complete=True)
        except (ValueError, UnparsedError) as error:
            why = f"the reader of {self._rubric.title} refuses the rules' own reply: {error}"
            raise StudyError("own reply refused", why) from error
        return text

    def recognised(
        self, references: Iterable[str], candidates: Iterable[str]
    ) -> dict[str, dict[str, int]]:
        """Return how many statements of all references and of all candidates are recognised."""
        both = {"references": references, "candidates": candidates}
        counts: dict[str, dict[str, int]] = {}
        for side, reports in both.items():
            found = Recognised()
            for report in reports:
                found += recognised(report, self._lexicon)
            counts[side] = {"k": found.recognised, "n": found.statements}
        return counts

    def _check_understood(self, reference: str) -> None:
        """Raise `StudyError` where less than half of a reference's statements are recognised."""
        if not any(map(str.isalnum, reference)):
            return
        found = recognised(reference, self._lexicon)
        if found.recognised and found.share >= LEAST_RECOGNISED:
            return
        raise StudyError(
            _NOT_UNDERSTOOD,
            f"the lexicon recognises {found.recognised} of the reference's {found.statements} "
            "statements, and at least half are needed; name a model with --judge",
        )

    def _why_not(self, study: Study) -> str | None:
        if study.modality not in (None, "xr"):
            return "modality"
        of_reference = unfamiliar_reason(study.reference, self._lexicon)
        of_candidate = unfamiliar_reason(study.candidate, self._lexicon)
        if of_candidate == "language":
            return "language"
        if of_reference == "language":
            if seems_english(study.reference, self._lexicon):
                return _WORDS
            return "language"
        # Who names the modality knows better than the words of a report.
        if "images" in (of_reference, of_candidate) and study.modality is None:
            return "images"
        return None
