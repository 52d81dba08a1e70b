"""What a run would judge, and what it would cost: foretold before anything is asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import islice
from statistics import mean
from typing import Any

from judge import backends, rubrics
from judge.prompts import STRUCTURED, Prompt
from judge.running.asking import Exchange, coming, recall
from judge.running.cost import Prices, longest_usage, prompt_texts
from judge.running.session import JudgeSession
from judge.studies import StudySet, read_pair
from judge.text import counted, left_out
from judge.types import CompletionRequest, Study, Usage

# English reports run to a little over four characters a token.
_CHARACTERS_A_TOKEN = 4


@dataclass(slots=True)
class Forecast:
    """Requests to send, answers already there, and what that may take.

    `answer_tokens` is the mean of the newest answers in the cache, or, where `is_of_examples`, of
    answers to the example studies; the worst are the longest answers, each asked again as often as
    it may be. `further` requests may follow from the answers, in no other number. `prompts` counts
    requests by their tokens, `longest` the worst by theirs. `shown` is the prompt whose worked
    examples for a modality each request has; None where there are none.
    """

    prices: Prices
    answer_tokens: float | None
    is_of_examples: bool = False
    requests: int = 0
    cached: int = 0
    repeated: int = 0
    further: int = 0
    prompt_tokens: int = 0
    most_requests: int = 0
    most_in: int = 0
    most_out: int = 0
    prompts: Counter[int] = field(default_factory=Counter)
    longest: Counter[Usage] = field(default_factory=Counter)
    shown: Prompt | None = None

    def add(self, request: CompletionRequest, times: int) -> None:
        """Count a request that may be asked so many times."""
        most = longest_usage(request)
        self.requests += 1
        prompt_tokens = sum(map(len, prompt_texts(request))) // _CHARACTERS_A_TOKEN + 1
        self.prompt_tokens += prompt_tokens
        self.prompts[prompt_tokens] += 1
        self.most_requests += times
        # An answer that could not be read is part of the prompt of the next.
        self.most_in += (
            times * most.prompt_tokens + (times - 1) * most.completion_tokens
        )
        self.most_out += times * most.completion_tokens
        self.longest[most] += 1
        if times > 1:
            again = Usage(
                most.prompt_tokens + most.completion_tokens, most.completion_tokens
            )
            self.longest[again] += times - 1

    @property
    def dollars(self) -> float | None:
        """The most that it can cost, None where the price is unknown."""
        return self.prices.dollars_of_all(self.longest)

    @property
    def typical(self) -> Usage | None:
        """The tokens if the answers are as long as those of `answer_tokens`; None without it."""
        if self.answer_tokens is None:
            return None
        return Usage(self.prompt_tokens, round(self.requests * self.answer_tokens))

    @property
    def typical_dollars(self) -> float | None:
        """The price of `typical`, None where that or the price is unknown."""
        if self.answer_tokens is None:
            return None
        # The mean lies between two whole numbers of tokens, and its price between theirs.
        fewer = int(self.answer_tokens)
        low = self._dollars_with(fewer)
        high = self._dollars_with(fewer + 1)
        if low is None or high is None:
            return None
        return low + (self.answer_tokens - fewer) * (high - low)

    def _dollars_with(self, answer_tokens: int) -> float | None:
        requests = {
            Usage(tokens, answer_tokens): n for tokens, n in self.prompts.items()
        }
        return self.prices.dollars_of_all(requests)

    @property
    def examples(self) -> str | None:
        """What the worked examples for a modality add to the price, in words; None without any.

        It is included in all prices, and at the full price of a token: what the provider takes off
        for a prompt that it has in its cache is not foretold.
        """
        if self.shown is None or not self.requests:
            return None
        n_characters = sum(len(turn.content) for turn in self.shown.example_turns)
        tokens = n_characters // _CHARACTERS_A_TOKEN
        text = (
            f"{len(self.shown.shots)} for {', '.join(self.shown.shots_for)}: about {tokens:,} of "
            "the tokens in per request"
        )
        with_them: Counter[Usage] = Counter()
        without: Counter[Usage] = Counter()
        for n_tokens, n in self.prompts.items():
            with_them[Usage(n_tokens, 0)] += n
            without[Usage(max(0, n_tokens - tokens), 0)] += n
        dollars = self.prices.dollars_of_all(with_them)
        rest = self.prices.dollars_of_all(without)
        if dollars is None or rest is None:
            return f"{text}, cost unknown"
        added = dollars - rest
        per_10_000 = 10_000 * added / self.requests
        return (
            f"{text}, ${added:,.2f} of the cost (${per_10_000:,.2f} per 10,000 requests; less "
            "where the provider caches prompts)"
        )

    def facts(self, concurrency: int | None) -> dict[str, str]:
        """Return it in words; `concurrency` is None for questions that are asked in batches."""

        def cost(tokens_out: int, dollars: float | None) -> str:
            unknown = "cost unknown (no price for this model here)"
            price = unknown if dollars is None else f"${dollars:,.2f}"
            return f"{tokens_out:,} tokens out, {price}"

        spared = f"{self.cached:,} cached, {self.repeated:,} repeated"
        further = (
            f"at most {self.further:,} that depend on their answers: in no number below"
        )
        most = counted(self.most_requests, "request", "requests")
        typical = "unknown: the cache has no answer of this prompt (try --limit first)"
        if self.typical is not None:
            typical = cost(self.typical.completion_tokens, self.typical_dollars)
        if self.typical is not None and self.is_of_examples:
            typical += (
                ", with answers as long as the built-in judge's to the example studies; a model "
                "that explains itself or reasons writes more (--limit 50 tells)"
            )
        examples = self.examples
        return {
            "requests": f"{self.requests:,} ({spared})",
            **({"further": further} if self.further else {}),
            "at a time": f"{concurrency:,}"
            if concurrency
            else "in batches, within a day",
            "tokens in": f"about {self.prompt_tokens:,}",
            **({"examples": examples} if examples else {}),
            "typical": typical,
            "worst": f"{most}, {cost(self.most_out, self.dollars)}",
        }


def forecast(
    session: JudgeSession,
    studies: Iterable[Study],
    *,
    in_batches: bool = False,
    reads_answers: bool = True,
) -> Forecast | None:
    """Return the requests that judging `studies` would send, None for a judge that runs inline.

    Without `reads_answers` an answer in the cache is held for the last one to its question, where a
    rubric asks one: those that cannot be read, and are asked for again, are not foretold.
    """
    judge, cache, steps = session.judge, session.cache, session.rubric.steps
    if cache is None:
        return None
    prices = Prices.of(judge, in_batches=in_batches)
    known = cache.answer_tokens(session.kind)
    expected = Forecast(prices, known)
    if judge.prompt is not None and judge.prompt.shots_for and steps is None:
        expected.shown = judge.prompt
    if known is None:
        expected.answer_tokens, expected.is_of_examples = _example_tokens(session), True
    keys: set[str] = set()
    is_quick = steps is None and not reads_answers
    for study in studies:
        if is_quick:
            exchanges = _answered(session, study)
        else:
            exchanges = recall(session.plan, session.find, study)
        if steps and any(exchange.question for exchange in exchanges):
            expected.further += steps.most - len(exchanges)
        for exchange in exchanges:
            if exchange.first.key in keys:
                expected.repeated += 1
                continue
            keys.add(exchange.first.key)
            expected.cached += len(exchange.answers)
            if (question := exchange.question) is not None:
                expected.add(
                    question.request, session.policy.reask + 1 - question.attempt
                )
    return expected


def _answered(session: JudgeSession, study: Study) -> list[Exchange]:
    """Return the first questions about a study, without one to ask where there is an answer."""
    exchanges = coming(session.plan, study, [])
    for exchange in exchanges:
        answered = session.find(exchange.first)
        if answered is not None:
            exchange.answers.append(answered)
            exchange.question = None
    return exchanges


def _example_tokens(session: JudgeSession) -> float | None:
    """Return the mean tokens of the built-in judge's answers to the example studies, as estimated.

    They are in the form that is asked for. None for a rubric that the built-in judge does not
    answer, and for one that asks several questions about a study.
    """
    rubric = rubrics.load(session.rubric.name)
    if rubric.baseline is None or rubric.render is None or rubric.steps is not None:
        return None
    lexicon = backends.load(backends.LEXICON, rubric)
    examples = files("judge.examples")
    studies = read_pair(
        str(examples.joinpath("preds.json")), str(examples.joinpath("refs.json"))
    )

    async def answers() -> list[str]:
        return [
            (await lexicon.complete(lexicon.request(study))).text for study in studies
        ]

    lengths = []
    for study, text in zip(studies, asyncio.run(answers()), strict=True):
        if session.judge.reply == STRUCTURED and rubric.structured is not None:
            annotation = rubric.parse(text, study, complete=True)
            text = rubric.structured.render(annotation)
        lengths.append(len(text))
    return mean(lengths) / _CHARACTERS_A_TOKEN


# The studies that would be judged

_SHOWN = 3


def described(studies: StudySet) -> dict[str, Any]:
    """Return what was read, from which fields, and the first three studies, ready for JSON."""
    classes = Counter(studies.study_classes) if studies.class_field else None
    return {
        "model": studies.model,
        "read_from": {**studies.read_from, "study_class": studies.class_field},
        "section": studies.section,
        "n_studies": len(studies),
        "study_classes": classes
        and {name or "none given": n for name, n in classes.most_common()},
        "fields": list(studies.fields),
        "omitted": dict(studies.omitted),
        "n_empty_candidates": len(studies.empty_candidates),
        "empty_candidates": studies.empty_candidates[:5],
        "notes": list(studies.notes),
        "first": [
            {
                "study_id": study.study_id,
                "reference": study.reference,
                "candidate": study.candidate,
            }
            for study in islice(studies, _SHOWN)
        ],
    }


def _empty(checked: dict[str, Any]) -> str:
    """Return how many candidates are empty, and the first of them."""
    n, ids = checked["n_empty_candidates"], checked["empty_candidates"]
    if not n:
        return "0"
    shown = ", ".join(ids) + (", ..." if n > len(ids) else "")
    return f"{n:,} ({shown}), judged like any other"


def preview(checked: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what `described` found as names and words."""
    classes = checked["study_classes"] or {}
    shown = {
        "model": checked["model"],
        **{
            f"{role.replace('_', ' ')} from": name
            for role, name in checked["read_from"].items()
        },
        "section": checked["section"],
        "studies": f"{checked['n_studies']:,}",
        "study class": ", ".join(f"{name} {n:,}" for name, n in classes.items())
        or "inferred by the lexicon when they are judged",
        "other fields": ", ".join(checked["fields"]) or "none",
        "left out": left_out(checked["omitted"]),
        "empty candidates": _empty(checked),
    }
    lines = [(name, value) for name, value in shown.items() if value]
    return lines + [("note", text) for text in checked["notes"]]
