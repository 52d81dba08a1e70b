"""What is looked for first, to spare a slower search, is in all that the slower search finds."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from green_styles import mutated, styled
from hypothesis import example, given, settings
from hypothesis import strategies as st

from judge.rubrics.green import categories, counts, lists
from judge.rubrics.green.layout import HEADING
from judge.rubrics.green.sections import _heading_lines

# Signs, letters that stand for others where case is ignored, and words that are looked for.
PIECES = (
    *(
        "a",
        "b.",
        "(c)",
        "d)",
        "e -",
        "F:",
        "a, b and",
        "to",
        "1.",
        "(2)",
        "3)",
        "12.",
        "iv)",
        "Vi.",
    ),
    *("\u0131)", "\u0130.", "I)", ":", "=", "->", "\u2192", "\u2013", " - ", ";", ",", ".", "|"),
    *(
        "missing finding",
        "mi\u017f\u017fing finding",
        "False positive",
        "wrong side",
        "mis-grading",
    ),
    *(
        "severity error",
        "location error",
        "mentions a comparison",
        "omitted comparison",
        "category",
    ),
    *("mistakes", "mi\u017ftakes", "two discrepancies", "an omission", "errors", "others", "rest"),
    *("zero", "none", "No errors", "nothing", "there are no", "0", "n/a", "I found 0", "exactly 0"),
    *(
        "[Explanation]:",
        "## Matched Findings",
        "* Clinically Significant Errors:",
        "\x03",
        "\u2705",
    ),
    *(" ", "  ", "\t", "\u00a0", "\u2003", "-", "> ", "2.5 cm", "7th rib", "effusion", "(", ")"),
)
texts = st.lists(st.sampled_from(PIECES), max_size=12).flatmap(
    lambda pieces: st.sampled_from((" ", "")).map(lambda space: space.join(pieces))
)


def _holds(text: str) -> None:
    """Check each quick look at `text` against the search that it spares."""
    if not categories._LOOSE_NEEDS.search(text):
        assert not categories._loose(text, bracketed=False)
        assert not categories._loose(text, bracketed=True)
    if not categories._NUMBERED_NEEDS.search(text):
        assert not categories._numbered(text)
    if not (categories._NAMED_FIRST.match(text) or categories._NAMED_NEEDS.search(text)):
        assert not categories._named(text, [])
    if not counts.may_hold(text, categories._LABEL_STEMS):
        assert not categories.LABEL.search(text)
    if not counts.may_hold(text, lists._NOUN_STEMS):
        assert not lists._STRAY_NOUN.search(text)
    if not lists._COUNT_SIGN.search(text):
        assert not lists._STRAY_COUNT.search(text)
    if not lists._MARK_SIGN.search(text):
        assert not lists._STRAY_MARK.search(text)
    if not lists._NUMBER_STOP.search(text):
        assert not lists._NUMBER_INSIDE.search(text)
        assert not lists._NUMBER_LIKE.search(text)
    if text[:1] in counts._SOMETHING:
        found = counts.read_count(text)
        assert found is None or found.value != 0


def _same_headings(text: str) -> None:
    slow = [match.span() for match in HEADING.finditer(text)]
    assert [match.span() for match in _heading_lines(text)] == slow


@settings(max_examples=3000, deadline=None)
@given(texts, st.sampled_from(("", "\n")))
@example("a to b: 0", "")
@example("x, i) missing finding: 1.", "\n")
def test_a_quick_look_misses_nothing_in_made_up_lines(text: str, end: str) -> None:
    _holds(text + end)


@settings(max_examples=1000, deadline=None)
@given(st.lists(texts, max_size=5))
def test_headings_stand_at_line_heads_alone(lines: list[str]) -> None:
    _same_headings("\n".join(lines))


def test_a_quick_look_misses_nothing_in_styled_answers() -> None:
    n_spared = 0
    for text in _answers():
        _same_headings(text)
        for line in re.findall(r".*\n|.+", text):
            _holds(line)
            n_spared += not categories._LOOSE_NEEDS.search(line)
    assert n_spared > 0


def _answers() -> Iterator[str]:
    for seed in range(1200):
        rng = random.Random(seed)
        text = styled(rng).text
        yield text
        yield mutated(rng, text)
