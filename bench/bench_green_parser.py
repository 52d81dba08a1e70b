"""How many GREEN answers a second the parser reads, by the CPU time of one core.

Once with answers whose entries are six phrases, so that most lines come again, and once with
entries of which hardly any does. Lines that come again are read once. A run lies between:
its findings recur, its errors do not. Target: 8,000 with lines that come again.

    python bench/bench_green_parser.py
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Sequence

from judge.rubrics.green import RUBRIC
from judge.types import Study

ANSWERS = 2000
ROUNDS = 9
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
SIZES = (
    "small",
    "large",
    "moderate",
    "mild",
    "subtle",
    "new",
    "old",
    "patchy",
    "trace",
    "dense",
)
SIDES = (
    "right",
    "left",
    "bilateral",
    "basilar",
    "apical",
    "hilar",
    "perihilar",
    "lower",
    "middle",
)
FINDINGS = (
    "effusion",
    "opacity",
    "atelectasis",
    "nodule",
    "consolidation",
    "edema",
    "scarring",
)
ENDS = (
    "is not mentioned",
    "with volume loss",
    "of 2.5 cm",
    "is unchanged since the prior study",
    "at the 7th rib (series 3)",
    "near a catheter tip, 3 cm above the carina",
)


def answer(rng: random.Random, phrases: Sequence[str] = PHRASES) -> str:
    """Return an answer in the published layout, of about a thousand characters."""
    sections = ["[Explanation]:\n" + ". ".join(rng.choices(phrases, k=3)) + "."]
    for level in ("Significant", "Insignificant"):
        lines = [f"[Clinically {level} Errors]:"]
        for letter, label in zip("abcdef", LABELS, strict=True):
            count = rng.choice([0, 0, 0, 1, 2])
            listed = "; ".join(rng.choices(phrases, k=count))
            lines.append(f"({letter}) {label}: {count}. {listed}".rstrip())
        sections.append("\n".join(lines))
    count = rng.randint(0, 6)
    sections.append(
        f"[Matched Findings]:\n{count}. {'; '.join(rng.choices(phrases, k=count))}"
    )
    return "\n\n".join(sections)


def main() -> None:
    """Parse and score the same answers several times; the best round counts."""
    rng = random.Random(0)
    many = [
        " ".join(words) for words in itertools.product(SIZES, SIDES, FINDINGS, ENDS)
    ]
    for name, phrases in (("come again", PHRASES), ("hardly ever do", many)):
        answers = [answer(rng, phrases) for _ in range(ANSWERS)]
        size = sum(map(len, answers)) / ANSWERS
        best = float("inf")
        for _ in range(ROUNDS):
            start = time.process_time()
            for text in answers:
                RUBRIC.measured(RUBRIC.parse(text, STUDY, complete=True), STUDY)
            best = min(best, time.process_time() - start)
        print(
            f"lines that {name:<14} {ANSWERS / best:>7,.0f} answers a second, of {size:,.0f} "
            "characters on average"
        )


if __name__ == "__main__":
    main()
