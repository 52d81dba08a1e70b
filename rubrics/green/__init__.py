"""GREEN: errors in six categories, clinically significant or not, and the findings that match.

The score of a study is matched findings / (matched findings + clinically significant
errors), and 0 when nothing matched [Ostmeier et al. 2024].
"""

from __future__ import annotations

import re
from functools import partial

from judge.rubrics import Kind, Measure, Rubric, StructuredReply, Tally, categories
from judge.rubrics.categories import CATEGORY, ERROR, SIGNIFICANCE
from judge.rubrics.contract import Counted, Parse, sorted_by, source
from judge.rubrics.green.parse import (
    MATCHED,
    SIGNIFICANT,
    Reply,
    baseline,
    parse,
    parse_reply,
    render,
    render_reply,
)
from judge.stats.statistic import EVERYWHERE, Mean
from judge.types import Annotation, Measures, Study

_MATCHED = Measure(
    "n_matched",
    "matched findings",
    higher_is_better=True,
    is_whole=True,
    counts=Counted(MATCHED),
)
# As its authors name their models, which know one prompt: StanfordAIMI/GREEN-radllama2-7b.
_TRAINED = re.compile(r"(?:^|[/:])green-", re.IGNORECASE)


def _parse_for(prompt: str, model: str) -> Parse | None:
    is_faithful = prompt == "green-official" and _TRAINED.search(model)
    return partial(parse, faithful=True) if is_faithful else None


def measure(annotation: Annotation, _study: Study) -> Measures:
    """Return the study's GREEN score and its counts, all as stated.

    `green` = matched / (matched + clinically significant errors), 0 when nothing matched
    [Ostmeier et al. 2024]. Insignificant errors don't enter it. Where an answer lists more
    or fewer errors than it states, the stated count holds, as in the published
    implementation. A reader lists and states no counts.
    """
    counts = categories.error_counts(annotation)
    matched = annotation.stated_counts.get(MATCHED, len(annotation.of_kind(MATCHED)))
    score = matched / (matched + counts["n_significant"]) if matched else 0.0
    return {"green": score, _MATCHED.name: matched, **counts}


RUBRIC = Rubric(
    name="green",
    version=4,
    title="GREEN",
    summary="Judge reports by GREEN: errors in six categories, significant or not.",
    prompt="green",
    sources=(source("ostmeier2024green"),),
    kinds=(
        categories.GRADED_ERROR,
        Kind(MATCHED, "matched finding", "matched findings"),
    ),
    facets=(CATEGORY, categories.GRADES),
    measures=(
        Measure(
            "green",
            "GREEN",
            (0, 1),
            higher_is_better=True,
            role="score",
            needs=(MATCHED,),
        ),
        *categories.COUNTS[:2],
        _MATCHED,
        *categories.COUNTS[2:],
    ),
    statistics=(
        Mean(
            "green",
            "GREEN",
            measures=("green",),
            higher_is_better=True,
            scale=(0, 1),
            shown=EVERYWHERE,
            rexrank="GREEN",
        ),
        categories.ERRORS,
        categories.no_error(SIGNIFICANT, "clinically significant errors"),
    ),
    worst=sorted_by("-n_significant", "green", "-n_insignificant"),
    tally=Tally("Errors by category", ERROR, CATEGORY.name, SIGNIFICANCE),
    parse=parse,
    parse_for=_parse_for,
    render=render,
    measure=measure,
    baseline=baseline,
    reply_model=lambda: Reply,
    structured=StructuredReply("green-structured", parse_reply, render_reply),
)
