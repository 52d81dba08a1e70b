"""Judge reports in lighteval: a task whose metric is GREEN, with the share of unscored studies.

    lighteval accelerate "model_name=MODEL" radiology_findings \\
        --custom-tasks examples/lighteval_task.py

A real task gives the model the images; here it has the indication alone. lighteval reads a data set
from the Hub or from a folder: this task writes the example studies into a temporary one.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc

from judge.compat.lighteval import radiology_judge

REFERENCES = Path(__file__).with_name("refs.json")


def dataset() -> str:
    """Write the example studies that have findings, and return their folder."""
    folder = tempfile.mkdtemp(prefix="radiology-findings-")
    references = json.loads(REFERENCES.read_text("utf-8"))
    with Path(folder, "test.jsonl").open("w", encoding="utf-8") as file:
        for study_id, one in references.items():
            if not one.get("section_findings"):
                continue
            row = {
                "study_id": study_id,
                "context": one["context"],
                "findings": one["section_findings"],
            }
            file.write(json.dumps(row) + "\n")
    return folder


def as_doc(row: dict[str, Any], task_name: str) -> Doc:
    """Return a study as lighteval asks for it: the reference is its only choice."""
    return Doc(
        task_name=task_name,
        query=f"Write the findings of this chest radiograph. {row['context']}",
        choices=[row["findings"]],
        gold_index=0,
        specific={"study_id": row["study_id"]},
    )


TASKS_TABLE = [
    LightevalTaskConfig(
        name="radiology_findings",
        prompt_function=as_doc,
        hf_repo=dataset(),
        hf_subset="default",
        hf_avail_splits=["test"],
        evaluation_splits=["test"],
        generation_size=512,
        stop_sequence=[],
        metrics=[radiology_judge(rubric="green")],
    )
]
