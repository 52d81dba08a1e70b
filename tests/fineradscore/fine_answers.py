"""Annotations that fit a study, drawn at will."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from judge.rubrics.categories import error_item
from judge.rubrics.fineradscore.parse import _NOTHING, NAMES, words_of
from judge.rubrics.replies import is_bare_denial
from judge.sentences import lines
from judge.types import Annotation, Category, Edit, Study

CANDIDATE = "1. Low lung volumes. Heart mildly enlarged,\nunchanged. No effusion. XXXX."
STUDY = Study("s", "Heart size is normal. No pneumothorax.", CANDIDATE)

_texts = st.text(max_size=40).map(lambda text: " ".join(text.split()))


def _is_new(text: str, report: list[str]) -> bool:
    """Whether a line can be put into the report: it says something that no line says."""
    words = words_of(text)
    has_word = any(map(str.isalnum, words))
    is_nothing = words in _NOTHING or is_bare_denial(text)
    return has_word and not is_nothing and words not in map(words_of, report)


@st.composite
def annotations(draw: st.DrawFn, study: Study = STUDY) -> Annotation:
    """An annotation that a judge could give: no line corrected twice, none put in twice."""
    report = lines(study.candidate)
    words = _texts.filter(
        lambda text: _is_new(text, report) and not re.match(r"\d+: ", text)
    )
    new = draw(st.lists(words, unique_by=words_of, max_size=6))
    edits: list[Edit] = []
    for at in draw(st.sets(st.integers(0, len(report) - 1))) if report else ():
        text = new.pop() if new and draw(st.booleans()) else ""
        edits.append(Edit("change" if text else "delete", at, text))
    places = st.none() | st.integers(0, len(report))
    edits += [Edit("insert", draw(places), text) for text in new]
    return Annotation(
        tuple(
            error_item(
                sorted(draw(st.sets(st.sampled_from(tuple(Category)), min_size=1))),
                "severity",
                draw(st.sampled_from(NAMES)),
                draw(
                    st.text(max_size=40).filter(lambda text: not is_bare_denial(text))
                ),
                edit,
            )
            for edit in draw(st.permutations(edits))
        )
    )
