"""How many answers a second each rubric's parser reads, by the CPU time of one core.

The answers are the built-in judge's to each example candidate held against each reference, so
that most have several errors; 10,000 of them, scored too. Target: what the slower of GREEN's
and FineRadScore's does.

    python bench/bench_parsers.py
"""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path

from judge import rubrics
from judge.backends.lexicon import compare, load
from judge.types import Study

ANSWERS = 10_000
EXAMPLES = Path(__file__).parents[1] / "examples"


def studies() -> list[Study]:
    """Return a study for each two of the examples' reports."""
    references = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
    candidates = [
        one["model_prediction"]
        for path in sorted(EXAMPLES.glob("preds*.json"))
        for one in json.loads(path.read_text("utf-8")).values()
    ]
    pairs = itertools.product(references.values(), candidates)
    return [Study("bench", one["section_findings"], other) for one, other in pairs]


def main() -> None:
    """Print for each rubric with a baseline how fast its answers are read."""
    made, lexicon = studies(), load()
    for name in rubrics.names():
        rubric = rubrics.load(name)
        if rubric.baseline is None or rubric.render is None:
            continue
        answers = []
        for study in made:
            comparison = compare(study.reference, study.candidate, lexicon)
            answers.append((study, rubric.render(rubric.baseline(comparison, study))))
        answers = list(itertools.islice(itertools.cycle(answers), ANSWERS))
        start = time.process_time()
        for study, text in answers:
            rubric.measured(rubric.parse(text, study, complete=True), study)
        took = time.process_time() - start
        size = sum(len(text) for _, text in answers) / ANSWERS
        print(
            f"{name:<16} {ANSWERS / took:>8,.0f} answers/s  {size:>6,.0f} characters each"
        )


if __name__ == "__main__":
    main()
