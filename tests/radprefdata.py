"""RadPref's files, made up in the layout that is published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FINDINGS_OF = {
    "ground_truth": ("Pulmonary edema", "Right internal jugular catheter"),
    "C1": ("Small right pleural effusion", "Right upper lobe nodule", "Rib fracture"),
    "C2": ("Large right pleural effusion", "Mild cardiomegaly"),
}


def radpref_files(folder: Path) -> tuple[list[Path], dict[str, Any]]:
    """Two studies and two readers with the keys, types and oddities of the published files."""
    record: dict[str, Any] = {
        f"{name}_{what}": list(found) if what == "findings" else ". ".join(found)
        for name, found in FINDINGS_OF.items()
        for what in ("findings", "report")
    }
    record |= {"C1_source": "medgemma", "C2_source": "gpt", "PatientAge": "050Y"}
    reports = [{"id": f"p{n}_s1", **record} for n in (1, 2)]
    first = {
        "finding_errors": {
            "0": {"error_type": "false", "clinical_significance": "urgent"},
            "2": {
                "error_type": "false",
                "clinical_significance": "benign_expected",
                "explanation": "Old",
            },
        },
        "missing_findings": {"1": {"clinical_significance": "actionable_not_urgent"}},
        "rating": 2,
        "rating_explanation": "Most findings agree.",
    }
    second = {
        "finding_errors": {
            "0": {
                "error_type": "attribute",
                "attributes": {"severity": "significant", "measurement": "negligible"},
            },
            "1": {"error_type": "attribute", "attributes": {"certainty": "negligible"}},
        },
        "missing_findings": {},
        "rating": 5,
    }
    indices = {"new_finding_indices": {"C1": [0], "C2": [], "GT": []}}
    annotations = {
        "p1_s1": {"C1": first, "C2": second, **indices},
        "p2_s1": {"C2": {"finding_errors": {}, "missing_findings": {}, "rating": 4}},
    }
    files = [
        folder / "preference_data.json",
        folder / "user_1.json",
        folder / "user_2.json",
    ]
    files[0].write_text(json.dumps(reports))
    for file in files[1:]:
        file.write_text(json.dumps({"user_id": file.stem, "annotations": annotations}))
    return files, annotations
