"""Judge reports in inspect_ai: `inspect eval examples/inspect_task.py --model mockllm/model`.

The model is asked to write the findings of each study, and what it writes is scored by GREEN. A
real task gives the model the images; mockllm answers every sample with the same words (and
downloads a tokenizer to count them by).
"""

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.solver import generate

from judge.compat.inspect import radiology_judge

REFERENCES = Path(__file__).with_name("refs.json")


@task
def findings(rubric: str = "green", judge: str = "lexicon") -> Task:
    """Write the findings of each example study."""
    references = json.loads(REFERENCES.read_text("utf-8"))
    samples = [
        Sample(
            input=f"Write the findings of this chest radiograph. {one['context']}",
            target=one["section_findings"],
            id=study_id,
            metadata={"site": one["site"]},
        )
        for study_id, one in references.items()
        if one.get("section_findings")
    ]
    return Task(
        dataset=MemoryDataset(samples),
        solver=generate(),
        scorer=radiology_judge(rubric=rubric, judge=judge),
    )
