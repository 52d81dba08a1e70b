"""GREEN: errors in six categories, clinically significant or not, and the findings that match.

The score of a study is matched findings / (matched findings + clinically significant
errors), and 0 when nothing matched [Ostmeier et al. 2024].
"""

from __future__ import annotations

import re
from functools import partial

from judge.rubrics.categories import (
    CATEGORY,
    COUNTS,
    ERROR,
    ERRORS,
    GRADED_ERROR,
    GRADES,
    SIGNIFICANCE,
    SIGNIFICANT,
    error_counts,
    no_error,
)
from judge.rubrics.contract import (
    Counted,
    Kind,
    Measure,
    Order,
    Parse,
    Rubric,
    StructuredReply,
    Tally,
    mean_of,
    source,
)
from judge.rubrics.green.parse import (
    MATCHED,
    Reply,
    baseline,
    parse,
    parse_reply,
    render,
    render_reply,
)
from judge.types import Annotation, Measures, Study

_MATCHED = Measure(
    "n_matched", "matched findings", higher_is_better=True, is_whole=True, counts=Counted(MATCHED)
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
    counts = error_counts(annotation)
    matched = annotation.stated_counts.get(MATCHED, len(annotation.of_kind(MATCHED)))
    score = matched / (matched + counts["n_significant"]) if matched else 0.0
    return {"green": score, _MATCHED.name: matched, **counts}


RUBRIC = Rubric(
    name="green",
    version=3,
    title="GREEN",
    summary="Judge reports by GREEN: errors in six categories, significant or not.",
    prompt="green",
    sources=(source("ostmeier2024green"),),
    kinds=(GRADED_ERROR, Kind(MATCHED, "matched finding", "matched findings")),
    facets=(CATEGORY, GRADES),
    measures=(
        Measure("green", "GREEN", (0, 1), higher_is_better=True, role="score", needs=(MATCHED,)),
        *COUNTS[:2],
        _MATCHED,
        *COUNTS[2:],
    ),
    statistics=(
        mean_of("green", "GREEN", (0, 1), rexrank="GREEN"),
        ERRORS,
        no_error(SIGNIFICANT, "clinically significant errors"),
    ),
    worst=(
        Order("n_significant", largest_first=True),
        Order("green", largest_first=False),
        Order("n_insignificant", largest_first=True),
    ),
    tally=Tally("Errors by category", ERROR, CATEGORY.name, SIGNIFICANCE),
    parse=parse,
    parse_for=_parse_for,
    render=render,
    measure=measure,
    baseline=baseline,
    reply_model=lambda: Reply,
    structured=StructuredReply("green-structured", parse_reply, render_reply),
)
