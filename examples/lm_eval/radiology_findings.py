"""What radiology_findings.yaml names: the studies, and the judge of their reports.

A real task gives the model the images; here it has the indication alone.
"""

import json
from pathlib import Path

from datasets import Dataset

from judge.compat.lm_eval import radiology_judge

REFERENCES = Path(__file__).parents[1] / "refs.json"

_PARTS = radiology_judge(rubric="green", reference="findings", study_id="study_id")
process_results = _PARTS["process_results"]
mean, unscored = [metric["aggregation"] for metric in _PARTS["metric_list"]]


def studies(**_options: object) -> dict[str, Dataset]:
    """Return the example studies that have findings."""
    references = json.loads(REFERENCES.read_text("utf-8"))
    rows = [
        {
            "study_id": study_id,
            "context": one["context"],
            "findings": one["section_findings"],
        }
        for study_id, one in references.items()
        if one.get("section_findings")
    ]
    return {"test": Dataset.from_list(rows)}
