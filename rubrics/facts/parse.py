"""The reader of the facts and verdicts of both reports, and what is counted of them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from judge.rubrics import Counted, Facet, Kind, Label, Measure
from judge.rubrics.questions import Question, Step, Steps, naming_step, split_answers
from judge.rubrics.quotations import quotable
from judge.rubrics.replies import (
    Line,
    Listed,
    ReplyModel,
    WholeNumber,
    first_repeat,
    is_no_entry,
    read_reply,
    word_key,
)
from judge.sentences import lines
from judge.stats.statistic import EVERYWHERE, Mean, Ratio
from judge.types import (
    Annotation,
    Item,
    Measures,
    ReportComparison,
    Side,
    Study,
    UnparsedError,
)

ENTAILED, CONTRADICTED, NOT_MENTIONED = "entailed", "contradicted", "not_mentioned"
VERDICT = Facet(
    "verdict",
    "verdict",
    "verdicts",
    labels=(
        Label(ENTAILED, "entailed", "good"),
        Label(NOT_MENTIONED, "not mentioned", "notable"),
        Label(CONTRADICTED, "contradicted", "serious"),
    ),
)
FACT = Kind("fact", "fact", "facts", (VERDICT.name,), graded_by=VERDICT.name)
EVIDENCE = Kind("evidence", "evidence sentence", "evidence sentences")
SIDES: tuple[Side, ...] = ("reference", "candidate")
OTHER: Mapping[Side, Side] = {"reference": "candidate", "candidate": "reference"}
FEWEST = 10  # facts below which FActScore's precision is lowered [Min et al. 2023]


@dataclass(frozen=True, slots=True)
class Fact:
    """A phrase of one report, the verdict of the other on it, and the words that decide it."""

    text: str
    verdict: str
    evidence: tuple[str, ...] = ()


def to_annotation(facts: Mapping[Side, Sequence[Fact]]) -> Annotation:
    """Return the facts of both reports, and then their evidence, to which they are linked."""
    n_facts = sum(len(facts[side]) for side in SIDES)
    # Where each sentence stands among the items: the same words are one item.
    places: dict[tuple[Side, str], int] = {}
    items = []
    for side in SIDES:
        for fact in facts[side]:
            links = []
            for quote in fact.evidence:
                place = places.setdefault((OTHER[side], quote), n_facts + len(places))
                links.append(place)
            labels = {VERDICT.name: (fact.verdict,)}
            items.append(Item(FACT.name, fact.text, labels, side, links=tuple(links)))
    for side, quote in places:
        items.append(Item(EVIDENCE.name, quote, side=side))
    return Annotation(tuple(items))


def to_facts(annotation: Annotation) -> dict[Side, list[Fact]]:
    """Return the facts of each report with their evidence: the inverse of `to_annotation`."""
    facts: dict[Side, list[Fact]] = {side: [] for side in SIDES}
    for item in annotation.of_kind(FACT.name):
        if item.side is None:
            raise ValueError(f"a fact stands in one of the reports: {item.text}")
        evidence = tuple(annotation.items[link].text for link in item.links)
        facts[item.side].append(Fact(item.text, item.label(VERDICT.name), evidence))
    return facts


_OF_FACTS = (FACT.name,)
_NO_CANDIDATE, _NO_REFERENCE = "no fact in the candidate", "no fact in the reference"
_SHORT = f"precision, lowered below {FEWEST} facts"
_share = partial(Measure, scale=(0, 1), higher_is_better=True, needs=_OF_FACTS)
_count = partial(Measure, is_whole=True)


def _counts() -> list[Measure]:
    """Return the counts of facts: of each verdict, then of each report and its verdicts."""
    counts = []
    for verdict in VERDICT.labels:
        of_verdict = _count(
            f"n_{verdict.name}",
            verdict.label,
            higher_is_better=verdict.name == ENTAILED,
            role="count",
            counts=Counted(FACT.name, {VERDICT.name: verdict.name}),
        )
        counts.append(of_verdict)
    for side in SIDES:
        counts.append(_count(f"n_{side}", f"facts of the {side}", needs=_OF_FACTS))
        for verdict in VERDICT.labels:
            of_side = _count(
                f"n_{side}_{verdict.name}",
                f"facts of the {side}, {verdict.label}",
                higher_is_better=verdict.name == ENTAILED,
                needs=_OF_FACTS,
            )
            counts.append(of_side)
    return counts


MEASURES = (
    _share("precision", "precision", role="score", undefined=_NO_CANDIDATE),
    _share("recall", "recall", role="score", undefined=_NO_REFERENCE),
    _share("f1", "F1", role="score", undefined="no fact in one of the reports"),
    _share("penalised_precision", _SHORT, undefined=_NO_CANDIDATE),
    *_counts(),
)


def measure(annotation: Annotation, _study: Study) -> Measures:
    """Return the study's precision, recall and F1, and its counts.

    `precision`: entailed facts of the candidate / all of them; `recall`: the same of the
    reference. `f1`: their harmonic mean, 0 where both are 0. `penalised_precision`: times
    exp(1 - 10 / n) where the candidate has n < 10 facts. None where there is nothing to divide by.
    """
    counts = {measure.name: 0 for measure in MEASURES if measure.is_whole}
    for item in annotation.of_kind(FACT.name):
        verdict = item.label(VERDICT.name)
        counts[f"n_{verdict}"] += 1
        if item.side is not None:
            counts[f"n_{item.side}"] += 1
            counts[f"n_{item.side}_{verdict}"] += 1
    precision = _share_entailed(counts, "candidate")
    recall = _share_entailed(counts, "reference")
    f1 = None
    if precision is not None and recall is not None:
        both = precision + recall
        f1 = 0.0
        if both:
            f1 = 2 * precision * recall / both
    penalised = precision
    n = counts["n_candidate"]
    if precision is not None and n < FEWEST:
        penalised = precision * math.exp(1 - FEWEST / n)
    return {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "penalised_precision": penalised,
        **counts,
    }


def _share_entailed(counts: Mapping[str, int], side: Side) -> float | None:
    """Return entailed facts of a report / all of its facts; None where it has none."""
    n = counts[f"n_{side}"]
    if n == 0:
        return None
    return counts[f"n_{side}_{ENTAILED}"] / n


_mean = partial(Mean, higher_is_better=True, scale=(0, 1))
_ratio = partial(Ratio, scale=(0, 1), shown=EVERYWHERE - {"groups"})
STATISTICS = (
    _mean(
        "macro_precision",
        "precision (macro)",
        measures=("precision",),
        definition="precision of facts, mean of studies",
        clause="the mean precision of facts in a study was {figure}",
        shown=EVERYWHERE,
    ),
    _mean(
        "macro_recall",
        "recall (macro)",
        measures=("recall",),
        definition="recall of facts, mean of studies",
        clause="the mean recall of facts in a study was {figure}",
        shown=EVERYWHERE,
    ),
    _mean(
        "macro_f1",
        "F1 (macro)",
        measures=("f1",),
        definition="F1 of facts, mean of studies",
        clause="the mean F1 score of facts in a study was {figure}",
        shown=EVERYWHERE,
    ),
    _ratio(
        "micro_precision",
        "precision (micro)",
        measures=("n_candidate_entailed",),
        per=("n_candidate",),
        higher_is_better=True,
        definition="precision of all facts",
        clause="the precision of all facts together was {figure}",
    ),
    _ratio(
        "micro_recall",
        "recall (micro)",
        measures=("n_reference_entailed",),
        per=("n_reference",),
        higher_is_better=True,
        definition="recall of all facts",
        clause="the recall of all facts together was {figure}",
    ),
    _ratio(
        "contradicted",
        "contradicted",
        measures=("n_candidate_contradicted",),
        per=("n_candidate",),
        higher_is_better=False,
        definition="candidate's facts that the reference contradicts",
        clause="the share of the candidates' facts that the references contradict was {figure}",
    ),
    _mean(
        "penalised_precision",
        f"length-penalised precision (g={FEWEST})",
        measures=("penalised_precision",),
        definition=f"precision of facts, lowered below {FEWEST} facts, mean of studies",
        shown=frozenset(),
    ),
)


def baseline(comparison: ReportComparison, study: Study) -> Annotation:
    """Return the statements of both reports as facts, found by rules, with their evidence."""
    texts = _texts(study)
    facts: dict[Side, dict[str, Fact]] = {side: {} for side in SIDES}
    for statement in comparison.statements:
        other, sentence = texts[OTHER[statement.side]], statement.other_sentence
        quote = (
            None if sentence is None else quotable(other).find(lines(other)[sentence])
        )
        phrase = " ".join(statement.text.split())
        if any(map(str.isalpha, phrase)):
            verdict, evidence = (
                (statement.verdict, (quote,)) if quote else (NOT_MENTIONED, ())
            )
            key = phrase.casefold().strip(" .")
            facts[statement.side].setdefault(key, Fact(phrase, verdict, evidence))
    return to_annotation({side: tuple(facts[side].values()) for side in SIDES})


def _texts(study: Study) -> dict[Side, str]:
    return {"reference": study.reference, "candidate": study.candidate}


class Phrases(ReplyModel):
    """All findings of one report, each by itself."""

    phrases: list[Line] = Field(
        description="Short phrases, each of a single finding, in the order of the report."
    )


class Verdict(ReplyModel):
    """What a report says of one phrase."""

    phrase: WholeNumber = Field(description="The number of the phrase in the list.")
    evidence: list[Line] = Field(
        description="The sentences of the report that decide it, copied word for word; empty for "
        "a phrase that is not mentioned."
    )
    verdict: Annotated[Literal["entailed", "contradicted", "not_mentioned"], Listed] = (
        Field(
            description="entailed: the report says it. contradicted: the report says otherwise. "
            "not_mentioned: neither."
        )
    )


class Verdicts(ReplyModel):
    """One verdict for each phrase."""

    verdicts: list[Verdict]


# What the two questions are about, as their prompts say.
REPORT, PHRASES = "report", "phrases"
_ASKED = {REPORT: "phrases of the {}", PHRASES: "verdicts on the {}"}


def read_phrases(text: str, study: Study, *, complete: bool = False) -> tuple[str, ...]:  # noqa: ARG001
    """Return the phrases of one report in an answer; those that are none, or twice, are refused."""
    phrases = read_reply(Phrases, text).phrases
    none = [phrase for phrase in phrases if is_no_entry(phrase)]
    if none:
        raise UnparsedError("empty phrase", none[0])
    again = first_repeat(phrases)
    if again is not None:
        raise UnparsedError("phrase twice", again)
    return tuple(phrases)


def read_verdicts(text: str, study: Study, *, complete: bool = False) -> list[Fact]:  # noqa: ARG001
    """Return the phrases of `study.candidate`, a line each, as facts with the verdicts on them."""
    phrases = study.candidate.splitlines()
    report = quotable(study.reference)
    facts: dict[int, Fact] = {}
    for verdict in read_reply(Verdicts, text).verdicts:
        if not 1 <= verdict.phrase <= len(phrases):
            raise UnparsedError(
                "phrase off the list", f"{verdict.phrase} of {len(phrases)}"
            )
        if verdict.phrase in facts:
            raise UnparsedError("two verdicts", f"on phrase {verdict.phrase}")
        quotes: dict[str, None] = {}
        for quote in verdict.evidence:
            words = report.find(quote)
            if words is None:
                raise UnparsedError("evidence not in the report", quote)
            quotes[words] = None
        is_mentioned = verdict.verdict != NOT_MENTIONED
        if bool(quotes) != is_mentioned:
            says = VERDICT[verdict.verdict].label
            reason = "no evidence" if is_mentioned else "evidence for nothing"
            raise UnparsedError(reason, f"phrase {verdict.phrase} is {says}")
        said = phrases[verdict.phrase - 1]
        is_quoted = word_key(said) in map(word_key, quotes)
        if verdict.verdict == CONTRADICTED and is_quoted:
            detail = f"phrase {verdict.phrase} is contradicted by its own words"
            raise UnparsedError("contradiction", detail)
        facts[verdict.phrase] = Fact(said, verdict.verdict, tuple(quotes))
    missing = set(range(1, len(phrases) + 1)) - facts.keys()
    if missing:
        raise UnparsedError("no verdict", f"on phrase {min(missing)}")
    return [facts[number] for number in sorted(facts)]


def next_steps(study: Study, answers: Mapping[str, str]) -> Sequence[Step]:
    """Return the steps that can be asked now; nothing is asked of a report without a word."""
    texts = _texts(study)
    steps = []
    for side in SIDES:
        report, other = texts[side], texts[OTHER[side]]
        first = _ASKED[REPORT].format(side)
        then = _ASKED[PHRASES].format(side)
        if not _has_words(report):
            continue
        if first not in answers:
            about = Study("", report, "", modality=study.modality)
            steps.append(Step(first, about, REPORT))
        elif then not in answers and _has_words(other):
            phrases = read_phrases(answers[first], study)
            if phrases:
                about = _verdict_study(other, phrases, study)
                steps.append(Step(then, about, PHRASES))
    return steps


def _verdict_study(report: str, phrases: Sequence[str], study: Study) -> Study:
    return Study(
        "",
        report,
        "\n".join(phrases),
        context=study.context,
        prior=study.prior,
        modality=study.modality,
    )


def _has_words(report: str) -> bool:
    return any(map(str.isalnum, report))


STEPS = Steps(
    next_steps,
    {
        REPORT: Question("facts-phrases", read_phrases, lambda: Phrases),
        PHRASES: Question("facts-verdicts", read_verdicts, lambda: Verdicts),
    },
    most=len(_ASKED) * len(SIDES),
)


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the facts that the answers to a study's questions tell of."""
    answers = split_answers(text)
    texts = _texts(study)
    phrases: dict[Side, tuple[str, ...]] = {}
    for side in SIDES:
        phrases[side] = ()
        step = _ASKED[REPORT].format(side)
        with naming_step(step):
            is_asked = _has_words(texts[side])
            answer = _answer(answers, step, is_asked=is_asked)
            if answer is not None:
                phrases[side] = read_phrases(answer, study)
            if phrases[side] and not is_asked:
                raise UnparsedError("phrases of nothing")
    facts: dict[Side, Sequence[Fact]] = {}
    for side in SIDES:
        about = _verdict_study(texts[OTHER[side]], phrases[side], study)
        step = _ASKED[PHRASES].format(side)
        with naming_step(step):
            is_asked = bool(phrases[side]) and _has_words(about.reference)
            answer = _answer(answers, step, is_asked=is_asked)
            if answer is None:
                # The other report has no words, so that nothing is asked.
                facts[side] = [Fact(phrase, NOT_MENTIONED) for phrase in phrases[side]]
            else:
                facts[side] = read_verdicts(answer, about)
            _check_same_words(facts[side], phrases[OTHER[side]])
    if answers:
        raise UnparsedError(
            "unexpected form", f"an answer to {min(answers)!r}, which is not asked"
        )
    return to_annotation(facts)


def _check_same_words(facts: Sequence[Fact], others: Sequence[str]) -> None:
    """Refuse a phrase that both reports have in the same words and that is not entailed."""
    said = {word_key(phrase) for phrase in others}
    for fact in facts:
        if fact.verdict != ENTAILED and word_key(fact.text) in said:
            says = VERDICT[fact.verdict].label
            detail = f"{fact.text!r} is {says}, and is a phrase of both reports"
            raise UnparsedError("contradiction", detail)


def _answer(answers: dict[str, str], step: str, *, is_asked: bool) -> str | None:
    answer = answers.pop(step, None)
    if answer is None and is_asked:
        raise UnparsedError("missing answer")
    return answer


def render(annotation: Annotation) -> str:
    """Return the answers to a study's questions; raises ValueError for what they do not express."""
    facts = to_facts(annotation)
    if to_annotation(facts) != annotation:
        raise ValueError(
            f"an answer holds {FACT.plural} and their {EVIDENCE.plural} alone"
        )
    dump = partial(json.dumps, ensure_ascii=False)
    answers = {}
    for side in SIDES:
        phrases = [fact.text for fact in facts[side]]
        answers[_ASKED[REPORT].format(side)] = dump({"phrases": phrases})
    for side in SIDES:
        verdicts = []
        for number, fact in enumerate(facts[side], 1):
            verdicts.append(
                {"phrase": number, "evidence": fact.evidence, "verdict": fact.verdict}
            )
        if verdicts:
            answers[_ASKED[PHRASES].format(side)] = dump({"verdicts": verdicts})
    return dump(answers, indent=1)
