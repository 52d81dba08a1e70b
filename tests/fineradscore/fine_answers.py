"""Annotations that fit a study, drawn at will."""

from __future__ import annotations

from hypothesis import strategies as st

from judge.rubrics.fineradscore.scale import NAMES
from judge.sentences import lines
from judge.types import Annotation, Category, Edit, Error, Study

CANDIDATE = "1. Low lung volumes. Heart mildly enlarged,\nunchanged. No effusion. XXXX."
STUDY = Study("s", "Heart size is normal. No pneumothorax.", CANDIDATE)

_texts = st.text(max_size=40).map(lambda text: " ".join(text.split()))
_words = _texts.filter(lambda text: text and text.lower() != "[delete]")


@st.composite
def annotations(draw: st.DrawFn, study: Study = STUDY) -> Annotation:
    """An annotation that a judge could give: no line corrected twice, none put in twice."""
    report = lines(study.candidate)
    edits: list[Edit] = []
    for at in draw(st.sets(st.integers(0, len(report) - 1))) if report else ():
        text = draw(st.just("") | _words.filter(lambda text, at=at: text != report[at]))
        edits.append(Edit("change" if text else "delete", at, text))
    places = st.none() | st.integers(0, len(report))
    inserted = draw(st.lists(_words, unique=True, max_size=3))
    edits += [Edit("insert", draw(places), text) for text in inserted]
    return Annotation(
        tuple(
            Error(
                tuple(sorted(draw(st.sets(st.sampled_from(tuple(Category)), min_size=1)))),
                draw(st.sampled_from(NAMES)),
                draw(st.text(max_size=40)),
                edit,
            )
            for edit in draw(st.permutations(edits))
        )
    )
