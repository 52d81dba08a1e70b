"""The built-in judge: answers any rubric, in the rubric's own format, by rules."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from pathlib import Path

from judge import plugins
from judge.backends.base import Judge, JudgeSettings, StudyError
from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.data import load as load_lexicon
from judge.backends.lexicon.errors import Error, differences, nuances, unpaired, wider_changes
from judge.backends.lexicon.mentions import Mention, Pair, group_mentions
from judge.backends.lexicon.reports import Alignment, Report, align, unfamiliar_reason
from judge.rubrics import Rubric
from judge.sentences import sentences
from judge.types import (
    Annotation,
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
_LONGEST = 80


class _Comparison(ReportComparison):
    """Each part of it is made when a rubric asks for it."""

    texts: tuple[str, str]
    both: tuple[Report, Report]
    version: str

    def __init__(self, reference: str, candidate: str, lexicon: Lexicon) -> None:
        both = (Report(reference, "reference", lexicon), Report(candidate, "candidate", lexicon))
        vars(self).update(texts=(reference, candidate), both=both, version=lexicon.version)

    @cached_property
    def _aligned(self) -> Alignment:
        return align(*self.both)

    @cached_property
    def _errors(self) -> tuple[list[Error], list[Pair]]:
        errors = [error for pair in self._aligned.pairs for error in differences(pair, *self.both)]
        alone, twins = unpaired(self._aligned, *self.both)
        return errors + alone, [*self._aligned.same, *self._aligned.pairs, *twins]

    @cached_property
    def discrepancies(self) -> tuple[Discrepancy, ...]:
        errors: dict[tuple[object, ...], Error] = {}
        for error in (*self._errors[0], *wider_changes(*self.both)):
            ours, theirs = error.reference_sentence, error.candidate_sentence
            ours = None if error.category is Category.FALSE_COMPARISON else ours
            theirs = None if error.category is Category.OMITTED_COMPARISON else theirs
            key = (error.category, error.topic, ours, theirs)
            if key not in errors or errors[key].severity < error.severity:
                errors[key] = error
        return tuple(sorted(errors.values(), key=_order))

    @cached_property
    def partners(self) -> tuple[tuple[int, int], ...]:
        pairs = (*self._aligned.same, *self._aligned.pairs)
        return tuple(sorted({(ours.sentence, theirs.sentence) for ours, theirs in pairs}))

    @cached_property
    def _n_statements(self) -> list[int]:
        return [sum(mention.says for mention in report.mentions) for report in self.both]

    @cached_property
    def matched(self) -> tuple[str, ...]:
        if any(self._n_statements):
            return _matched(*self.both, *self._errors)
        return _common_sentences(*self.texts)

    @cached_property
    def explanation(self) -> str:
        ours, theirs = self._n_statements
        counts = Counter(error.category.label for error in self.discrepancies)
        listed = ", ".join(f"{label}: {number}" for label, number in counts.items())
        summary = (
            f"{ours} statements recognised in the reference, {theirs} in the candidate, "
            f"{len(self.matched)} in agreement, {listed or 'no discrepancy'}"
        )
        if not ours and not theirs:
            summary = (
                "no finding is recognised in either report, sentences in common: "
                f"{len(self.matched)}"
            )
        return f"Rules of {self.version}: {summary}."

    @cached_property
    def _compared(self) -> tuple[tuple[ReportFinding, ...], tuple[AttributeDifference, ...]]:
        return _compare_findings(*self.both, *self._errors)

    @cached_property
    def findings(self) -> tuple[ReportFinding, ...]:
        return self._compared[0]

    @cached_property
    def differences(self) -> tuple[AttributeDifference, ...]:
        return self._compared[1]

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        ours, theirs = self.both
        pairs = dict((*self._aligned.same, *self._aligned.pairs))
        swapped = {candidate: reference for reference, candidate in pairs.items()}
        return (*_statements(ours, theirs, pairs), *_statements(theirs, ours, swapped))


def compare(reference: str, candidate: str, lexicon: Lexicon) -> ReportComparison:
    """Return the discrepancies between two reports, their matches and a short explanation.

    Pure and deterministic. Discrepancies come in the order of the reference, then those
    that only the candidate gives rise to, in its order. Two reports in which no finding is
    recognised match in the sentences they share; two empty ones in nothing.
    """
    return _Comparison(reference, candidate, lexicon)


def _order(error: Discrepancy) -> tuple[bool, int, int, str, str, str]:
    reference, candidate = error.reference_sentence, error.candidate_sentence
    candidate_place = -1 if candidate is None else candidate
    return (
        reference is None,
        reference or 0,
        candidate_place,
        error.category.value,
        error.finding,
        error.text,
    )


def _matched(
    reference: Report, candidate: Report, errors: Sequence[Error], pairs: Sequence[Pair]
) -> tuple[str, ...]:
    """Return the findings of the reference that the candidate has too, once each, in its words.

    What is an error is not matched: a finding with an error in it, unless it is a comparison that
    does not matter, and a normal that a finding of the candidate's contradicts. A denial, or a
    structure that is called normal, is matched by the same or by what rules out the same in other
    words ("No effusion", "Pleural spaces are clear").
    """
    agreed = {id(mention) for mention, _ in pairs}
    wrong = {
        id(error.pair[0])
        for error in errors
        if error.pair and (error.severity > 1 or error.category not in _CHANGES)
    }
    matched: dict[int, str] = {}
    by_name: defaultdict[str, list[Mention]] = defaultdict(list)
    for mention in reference.mentions:
        if mention.positive:
            by_name[mention.finding].append(mention)
    for named in by_name.values():
        for finding in group_mentions(named):
            ids = {id(mention) for mention in finding}
            if ids & agreed and not ids & wrong:
                matched[id(finding[0])] = finding[0].words
    normals = _Normals(candidate, errors)
    denied: set[str] = set()
    stated = {mention for mention in candidate.mentions if mention.changes}
    for mention in reference.mentions:
        if mention.negative:
            structures = reference.lexicon.structures
            name = mention.finding or structures[mention.structure].abnormal
            if name not in denied and normals.bear_out(mention):
                denied.add(name)
                matched[id(mention)] = mention.words
        elif not mention.finding and mention in stated:
            matched[id(mention)] = mention.words
    return tuple(matched[id(mention)] for mention in reference.mentions if id(mention) in matched)


class _Normals:
    """The normal and denied findings of the candidate, and its false findings."""

    def __init__(self, report: Report, errors: Sequence[Error]) -> None:
        findings = report.lexicon.findings
        false = [error for error in errors if error.category is Category.FALSE_FINDING]
        self._alone = {error.finding for error in false}
        grave = {error.finding for error in false if error.severity > 1}
        self._alone_areas = {
            finding.area for finding in findings.values() if grave and finding.label in grave
        }
        self._against = {error.against for error in errors if error.against}
        self._sides: defaultdict[tuple[str, str], set[frozenset[str]]] = defaultdict(set)
        self._ruled_out: set[str] = set()
        for mention in report.mentions:
            if mention.negative:
                self._sides[mention.finding, mention.structure].add(mention.sides)
                if len(mention.sides) != 1:
                    self._ruled_out |= _widened(mention.rules_out)
        self._touched = self._ruled_out | {findings[name].area for name, _ in self._sides if name}

    def bear_out(self, mention: Mention) -> bool:
        """Return whether the report says the same, or rules out the same in other words."""
        areas = mention.rules_out
        is_alone = bool(mention.finding) and mention.kind.label in self._alone
        if areas & self._alone_areas or is_alone:
            return False
        sides_stated = self._sides.get((mention.finding, mention.structure), ())
        if any(not (sides and mention.sides) or sides & mention.sides for sides in sides_stated):
            return True
        if mention in self._against or len(mention.sides) == 1:
            return False  # other words seldom name a side
        if areas:
            wide = _widened(areas)
            return bool(wide & self._touched) and not wide & self._alone_areas
        return mention.kind.area in self._ruled_out


def _widened(areas: frozenset[str]) -> frozenset[str]:
    return areas | {"pleura"} if "lungs" in areas else areas


def _common_sentences(reference: str, candidate: str) -> tuple[str, ...]:
    """Return the sentences that both texts have, whatever they say.

    An identical text always matches, even one without a letter, unless it is empty.
    """
    if reference.strip() and reference.split() == candidate.split() and not sentences(reference):
        return (_plain(reference)[:_LONGEST],)
    theirs = {_plain(candidate[start:end]) for start, end in sentences(candidate)}
    ours = dict.fromkeys(_plain(reference[start:end]) for start, end in sentences(reference))
    return tuple(text for text in ours if text in theirs)


def _plain(text: str) -> str:
    return " ".join(text.lower().replace(";", ",").split()).rstrip(".") or "."


def _compare_findings(
    reference: Report, candidate: Report, errors: Sequence[Error], pairs: Sequence[Pair]
) -> tuple[tuple[ReportFinding, ...], tuple[AttributeDifference, ...]]:
    """Return the abnormal findings of both reports, the reference's first, and how they differ.

    A finding is listed once, however often its report mentions it, and how many a report has
    does not depend on the other report. It weighs as much as the gravest mention of it, one of the
    reference no less than what the candidate says otherwise of it.
    """
    groups = [
        (report.side, group)
        for report in (reference, candidate)
        for group in group_mentions([m for m in report.mentions if m.positive and m.kind.abnormal])
    ]
    group_of = {id(mention): n for n, (_, group) in enumerate(groups) for mention in group}
    partners: list[set[int]] = [set() for _ in groups]
    severities = [max(mention.weight for mention in group) for _, group in groups]
    differing_errors = [error for error in errors if error.pair]
    for pair in pairs:
        ours, theirs = (group_of.get(id(mention)) for mention in pair)
        if ours is not None and theirs is not None:
            partners[ours].add(theirs)
            partners[theirs].add(ours)
            differing_errors += nuances(pair, reference, candidate)
    # One difference of an attribute for each two findings, the gravest.
    gravest: dict[tuple[int, int, Attribute], Error] = {}
    for error in differing_errors:
        ours, theirs = (group_of.get(id(mention)) for mention in error.pair or ())
        if ours is not None and theirs is not None and error.attribute:
            key = (ours, theirs, error.attribute)
            if key not in gravest or gravest[key].severity < error.severity:
                gravest[key] = error
            severities[ours] = max(severities[ours], error.severity)
    findings = (
        ReportFinding(
            *(side, group[0].words, severities[n], group[0].finding in _WITH_AGE),
            tuple(sorted(partners[n])),
        )
        for n, (side, group) in enumerate(groups)
    )
    differing = (
        AttributeDifference(*key, error.severity == 1, error.text)
        for key, error in sorted(gravest.items(), key=itemgetter(0))
    )
    return tuple(findings), tuple(differing)


def _statements(
    report: Report, other: Report, partners: Mapping[Mention, Mention]
) -> Iterator[Statement]:
    for mention in dict.fromkeys(filter(lambda mention: mention.says, report.mentions)):
        partner = partners.get(mention)
        if partner is None and mention.positive:
            partner = other.twin(mention)
        if partner is not None:
            verdict = _verdict(mention, partner, report, other)
            verdict_and_sentence = (
                verdict,
                None if verdict == "not_mentioned" else partner.sentence,
            )
        elif against := _against(mention, other):
            verdict_and_sentence = ("contradicted", against.sentence)
        elif same := _borne_out(mention, other):
            verdict_and_sentence = ("entailed", same.sentence)
        else:
            verdict_and_sentence = ("not_mentioned", None)
        yield Statement(report.side, mention.words, *verdict_and_sentence)


def _verdict(mention: Mention, partner: Mention, report: Report, other: Report) -> str:
    if mention == partner or not mention.positive:
        return "entailed"
    if report.side == "reference":
        errors = differences((mention, partner), report, other)
    else:
        errors = differences((partner, mention), other, report)
    categories = {error.category for error in errors}
    both_compare = mention.changes and partner.changes and Category.FALSE_COMPARISON in categories
    if both_compare or categories & _OTHERWISE:
        return "contradicted"
    return "not_mentioned" if categories & _MORE[report.side] else "entailed"


def _against(mention: Mention, other: Report) -> Mention | None:
    """Return the mention in the other report that contradicts this one.

    A finding that is there is contradicted by its denial, or by a part that is called normal; what
    is denied or called normal, by a finding that is there.
    """
    if mention.positive:
        return next(iter(other.contrary(mention)), None)
    there = (stated for stated in other.mentions if stated.positive and mention.negative)
    return next((stated for stated in there if mention.against(stated)), None)


def _borne_out(mention: Mention, other: Report) -> Mention | None:
    if not mention.negative:
        return None
    negatives = [negative for negative in other.mentions if negative.negative]
    for negative in negatives:
        same = (mention.finding, mention.structure) == (negative.finding, negative.structure)
        if same and mention.agrees_in_side(negative):
            return negative
    areas = mention.rules_out | ({mention.kind.area} if mention.finding else set())
    wide = (
        negative
        for negative in negatives
        if areas and len(negative.sides) != 1 and areas <= negative.rules_out
    )
    return next(wide, None)


_RADIOGRAPH = "xr"
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
    if settings.sampling or settings.reply:
        wrong = ", ".join(settings.sampling) or "--reply"
        raise JudgeError(f"lexicon follows rules and takes no {wrong}; leave it out")
    judge = LexiconJudge(rubric, Path(path) if path else None)
    if settings.prompt:
        from judge.backends import options

        options.load_prompt(rubric, settings.prompt, settings.environ)
        settings.say(f"--prompt has no effect: the judge {judge.name} reads no prompt.")
    return judge


class LexiconJudge(Judge):
    """Compares two reports by the lexicon's rules.

    Deterministic, free, and local. It answers through the rubric's `baseline` and `render`, so
    what it says takes the same road as a model's answer. Raises `JudgeError` for a rubric that
    has no baseline.
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
        self._baseline, self._render = rubric.baseline, rubric.render
        self._is_added = bool(plugins.RUBRICS.packages(rubric.name))
        self._lexicon = load_lexicon(path) if path else load_lexicon()
        self.name = f"lexicon:{path}" if path else "lexicon"
        self.version = f"{self._lexicon.version}(baseline)"
        self._asked = 0
        self._unfamiliar: Counter[str] = Counter()

    @property
    def notes(self) -> tuple[str, ...]:
        """How many of the studies asked about are not judged: the rules were not made for them."""
        return tuple(
            f"{self._unfamiliar[why]} of {self._asked} studies are not judged by the built-in "
            f"judge, which reads English reports of chest X-rays alone: they have {reason}"
            for why, reason in _UNFAMILIAR.items()
            if self._unfamiliar[why]
        )

    def request(self, study: Study) -> CompletionRequest:
        """Return the two reports as they are: rules need no prompt around them.

        Counts the studies whose reports are of another language or no X-ray's.
        """
        self._asked += 1
        texts = {"rubric": self._rubric.name}
        texts |= {"reference": study.reference, "candidate": study.candidate}
        if study.context and self._rubric.takes_context:
            texts["context"] = json.dumps(dict(study.context))
        if why := self._why_not(study):
            self._unfamiliar[why] += 1
            texts["unfamiliar"] = why
        messages = tuple(Message(role, content) for role, content in texts.items())
        return CompletionRequest(endpoint="lexicon", model=self.version, messages=messages)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Compare the reports and write the result in the rubric's reply format.

        Raises `StudyError` for reports that the rules were not made for.
        """
        texts = {message.role: message.content for message in request.messages}
        if why := texts.get("unfamiliar"):
            raise StudyError(f"unfamiliar {why}", f"the study has {_UNFAMILIAR[why]}")
        context = json.loads(texts.get("context", "{}"))
        study = Study("", texts["reference"], texts["candidate"], context=context)
        comparison = compare(study.reference, study.candidate, self._lexicon)
        annotation = self._baseline(comparison, study)
        text = self._render(annotation)
        if self._is_added:
            self._check(text, annotation, study)
        return Completion(text, "stop", self.version)

    def _check(self, text: str, annotation: Annotation, study: Study) -> None:
        # Tests check the built-in rubrics; a package's rubric is checked here.
        try:
            read = self._rubric.parse(text, study, complete=True)
        except UnparsedError:
            return  # which is the study's end, and counted
        if read != annotation:
            raise plugins.RUBRICS.error(
                self._rubric.name,
                "reads other items or numbers in an answer than it wrote there: parse(render(x)) "
                "has to be x",
            )

    def _why_not(self, study: Study) -> str | None:
        if study.modality not in (None, _RADIOGRAPH):
            return "modality"
        both = (study.reference, study.candidate)
        reasons = {unfamiliar_reason(report, self._lexicon) for report in both}
        if "language" in reasons:
            return "language"
        return "images" if "images" in reasons and study.modality is None else None
