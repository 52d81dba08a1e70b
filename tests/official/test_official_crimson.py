"""CRIMSON's official prompts: put together of texts, with a context and without."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from authors import CRIMSON, CRIMSON_MEDGEMMA, CRIMSON_SOURCE, CRIMSON_TEXTS
from support import Invoke

from judge import official
from judge.official import KNOWN

CONTEXT = {"Age": "70-80", "Indication": "Cough; $7 and {x}"}
# The order that the authors put them in; what stands in brackets only with a context.
ORDER = (
    *("OBJECTIVE", "[context]", "reference", "candidate", "TASK_STEPS"),
    *("CLINICAL_SIGNIFICANCE_LEVELS", "SIGNIFICANCE_EXAMPLES", "SIGNIFICANCE_APPLICATION"),
    *("ATTRIBUTE_SEVERITY_LEVELS", "ERROR_CATEGORIES", "MATCHING_CRITERIA"),
    *("ATTRIBUTE_ERROR_INSTRUCTIONS", "ATTRIBUTE_SEVERITY_GUIDELINES", "[CONTEXT_GUIDELINES]"),
    *("OUTPUT_FORMAT", "IMPORTANT_NOTES"),
)
GUIDELINES = ("SIGNIFICANCE_EXAMPLES", "ATTRIBUTE_SEVERITY_GUIDELINES", "[CONTEXT_GUIDELINES]")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder of the test's own, where the program knows the stand-ins."""
    monkeypatch.setenv("JUDGE_CONFIG", str(tmp_path / "config"))
    for one in (CRIMSON, CRIMSON_MEDGEMMA):
        monkeypatch.setitem(KNOWN, one.name, one)  # type: ignore[arg-type]
    copy = tmp_path / "prompt_parts.py"
    copy.write_text(CRIMSON_SOURCE, "utf-8")
    return copy


def expected(reference: str, candidate: str, *, known: bool, left_out: tuple[str, ...]) -> str:
    told = "".join(f"    {name}: {value}\n" for name, value in CONTEXT.items())
    texts = {
        **CRIMSON_TEXTS,
        "context": f"Patient Context:\n{told}",
        "reference": f"Reference Findings (Ground Truth):\n{reference}",
        "candidate": f"Predicted Findings (Candidate):\n{candidate}",
    }
    kept = [part for part in ORDER if part not in left_out and (known or part[0] != "[")]
    return "\n\n".join(texts[part.strip("[]")] for part in kept)


@pytest.mark.parametrize(
    ("one", "left_out"), [(CRIMSON, ()), (CRIMSON_MEDGEMMA, GUIDELINES)], ids=["all", "medgemma"]
)
@pytest.mark.parametrize("context", [{}, CONTEXT], ids=["without", "with"])
def test_the_parts_stand_in_their_order_as_they_are(
    invoke: Invoke, config: Path, one, left_out: tuple[str, ...], context: dict[str, str]
) -> None:
    assert invoke("prompts", "fetch", one.name, "--from", config).exit_code == 0
    prompt = official.load(one.name, os.environ)
    reports = ("Effusion, $3 {candidate} ${context}.", "No {reference}.\nClear.")
    system, user = prompt.messages(*reports, context)
    assert user.content == expected(*reports, known=bool(context), left_out=left_out)
    assert (system.role, user.role) == ("system", "user")
    assert "a text that no prompt has" not in user.content
    shown = invoke("prompts", "show", one.name)
    assert "(the reference report)" in shown.stdout
    assert "Patient Context" not in shown.stdout
