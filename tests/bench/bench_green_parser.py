"""How many GREEN answers a second the parser reads, on one core.

Run with `python tests/bench/bench_green_parser.py`.
"""

from __future__ import annotations

import random
import time

from judge.rubrics.green import RUBRIC
from judge.types import Study

ANSWERS = 2000
ROUNDS = 5
STUDY = Study("bench", "No acute cardiopulmonary process.", "No pneumothorax.")

LABELS = (
    "False report of a finding in the candidate",
    "Missing a finding present in the reference",
    "Misidentification of a finding's anatomic location/position",
    "Misassessment of the severity of a finding",
    "Mentioning a comparison that isn't in the reference",
    "Omitting a comparison detailing a change from a prior study",
)
PHRASES = (
    "small right pleural effusion is not mentioned",
    "nodule of 2.5 cm in the left upper lobe",
    "heart size is normal",
    "no pneumothorax",
    "degenerative changes of the spine",
    "tip of the central line in the right atrium (too low)",
)


def answer(rng: random.Random) -> str:
    """Return an answer in the published layout, of about a thousand characters."""
    sections = ["[Explanation]:\n" + ". ".join(rng.choices(PHRASES, k=3)) + "."]
    for level in ("Significant", "Insignificant"):
        lines = [f"[Clinically {level} Errors]:"]
        for letter, label in zip("abcdef", LABELS, strict=True):
            count = rng.choice([0, 0, 0, 1, 2])
            listed = "; ".join(rng.choices(PHRASES, k=count))
            lines.append(f"({letter}) {label}: {count}. {listed}".rstrip())
        sections.append("\n".join(lines))
    count = rng.randint(0, 6)
    sections.append(f"[Matched Findings]:\n{count}. {'; '.join(rng.choices(PHRASES, k=count))}")
    return "\n\n".join(sections)


def main() -> None:
    """Parse and score the same answers several times; the best round counts."""
    rng = random.Random(0)
    answers = [answer(rng) for _ in range(ANSWERS)]
    size = sum(map(len, answers)) / ANSWERS
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for text in answers:
            RUBRIC.score(RUBRIC.parse(text, STUDY), STUDY)
        best = min(best, time.perf_counter() - start)
    print(f"{ANSWERS / best:,.0f} answers a second, of {size:,.0f} characters on average")


if __name__ == "__main__":
    main()
