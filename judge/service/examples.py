"""The examples of `/openapi.json`: questions about single studies, and their answers.

A test asks each question, and holds the answers to those here.
"""

from __future__ import annotations

from typing import Any

from fastapi.openapi.models import Example

_ONE = {
    "rubric": "green",
    "judge": "lexicon",
    "id": "study-17",
    "reference": "No pleural effusion.",
    "candidate": "Small left pleural effusion.",
}
_SEVERAL = {
    "rubric": "green",
    "judge": "lexicon",
    "section": "findings",
    "studies": [
        {
            "id": "study-17",
            "reference": "FINDINGS: No pleural effusion. IMPRESSION: Normal.",
            "candidate": "FINDINGS: Small left pleural effusion.",
            "indication": "Cough for three days.",
            "age": 63,
        },
        {
            "id": "study-18",
            "reference": "IMPRESSION: Normal.",
            "candidate": "No acute disease.",
        },
    ],
}
QUESTIONS: dict[str, Example] = {
    "one": {"summary": "One study", "value": _ONE},
    "several": {"summary": "Up to 100 studies", "value": _SEVERAL},
}
"""Bodies of requests, by name."""

ANNOTATIONS: dict[str, Any] = {
    "signature": "green:4|judge:lexicon-4(baseline)|prompt:none|section:findings|version:0.2.0",
    "rubric": "green",
    "judge": {"name": "lexicon", "version": "lexicon-4(baseline)", "note": None},
    "section": "findings",
    "cost": {
        "asked": 0,
        "from_cache": 0,
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "dollars": 0.0,
        "unknown_requests": 0,
        "unknown_dollars": 0.0,
    },
    "annotations": [
        {
            "id": "study-17",
            "outcome": "scored",
            "reason": None,
            "detail": None,
            "measures": {"green": 0.0, "n_significant": 1.0, "n_matched": 0.0},
            "annotation": {
                "items": [
                    {
                        "kind": "error",
                        "text": "The candidate says a small left pleural effusion.",
                        "labels": {"category": ["a"], "significance": ["significant"]},
                        "side": None,
                        "links": [],
                        "edit": None,
                        "warnings": [],
                    }
                ],
                "explanation": "",
                "values": {},
                "stated_counts": {},
                "warnings": [],
            },
            "corrected": None,
            "warnings": [],
            "answer": "[Explanation]: ...",
        },
        {
            "id": "study-18",
            "outcome": "failed",
            "reason": "no reference",
            "detail": "the reference has no findings: choose another section, or send the report "
            "with it",
            "measures": None,
            "annotation": None,
            "corrected": None,
            "warnings": [],
            "answer": None,
        },
    ],
}
"""An answer of `/v1/annotations` to the question `several`, shortened."""

CHECK: dict[str, Any] = {
    "rubric": "green",
    "judge": "lexicon",
    "missing_key": None,
    "section": "findings",
    "n_studies": 2,
    "n_unjudged": 1,
    "n_empty_candidates": 0,
    "notes": [],
    "requests": None,
    "studies": [
        {
            "id": "study-17",
            "reference": "No pleural effusion.",
            "candidate": "Small left pleural effusion.",
            "context": {"age": "63", "indication": "Cough for three days."},
            "prior": None,
            "unjudged": None,
        },
        {
            "id": "study-18",
            "reference": "",
            "candidate": "No acute disease.",
            "context": {},
            "prior": None,
            "unjudged": "the reference has no findings: choose another section, or send the report "
            "with it",
        },
    ],
}
"""The answer of `/v1/check` to the question `several`."""


def answered(example: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of an answer 200 with an example."""
    return {200: {"content": {"application/json": {"example": example}}}}
