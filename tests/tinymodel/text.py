"""Report-like text, made from a few words by a seeded generator."""

from __future__ import annotations

import random

FINDINGS = (
    *(
        "pleural effusion",
        "pneumothorax",
        "consolidation",
        "cardiomegaly",
        "pulmonary edema",
    ),
    *(
        "atelectasis",
        "nodule",
        "rib fracture",
        "hilar fullness",
        "interstitial opacities",
    ),
)
PLACES = (
    "left lower lobe",
    "right upper lobe",
    "left base",
    "right apex",
    "both lungs",
)
SIZES = ("small", "moderate", "large", "minimal", "extensive")
CHANGES = ("unchanged", "new", "increased", "decreased", "resolved")
TUBES = (
    "endotracheal tube",
    "nasogastric tube",
    "central venous catheter",
    "chest tube",
)


def sentences(count: int, seed: int = 0) -> list[str]:
    """Return `count` sentences, the same for the same seed."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        finding, place = chance.choice(FINDINGS), chance.choice(PLACES)
        made.append(
            chance.choice(
                (
                    f"There is a {chance.choice(SIZES)} {finding} in the {place}.",
                    f"No {finding} is seen.",
                    f"The {finding} in the {place} is {chance.choice(CHANGES)}.",
                    (
                        f"The tip of the {chance.choice(TUBES)} projects {chance.randint(1, 9)}."
                        f"{chance.randint(0, 9)} cm above the carina."
                    ),
                    f"{chance.choice(SIZES).capitalize()} {finding}, {chance.choice(CHANGES)}.",
                )
            )
        )
    return made


def reports(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Return `count` pairs of a reference and a candidate, of three to six sentences each."""
    chance = random.Random(seed)
    return [
        tuple(  # type: ignore[misc]
            " ".join(sentences(chance.randint(3, 6), chance.randrange(10**9)))
            for _ in range(2)
        )
        for _ in range(count)
    ]


def corpus() -> list[str]:
    """Return what the tokenizer learns its pieces from."""
    answers = (
        "[Explanation]:\n",
        "[Clinically Significant Errors]:\n(a) False finding: 1. a false finding\n",
        "[Clinically Insignificant Errors]:\n(b) Missing finding: 2. one; another\n",
        "(c) Wrong location: 0.\n(d) Wrong severity: 0.\n",
        "(e) Comparison not in the reference: 0.\n(f) Omitted comparison: 0.\n",
        "[Matched Findings]:\n3. no pneumothorax; normal heart; clear lungs\n",
        "Compare the candidate report with the reference report and write down its errors.",
        "<|user|>\n<|assistant|>\n<|system|>\n",
    )
    return [*sentences(600, seed=7), *(text for text in answers for _ in range(40))]
