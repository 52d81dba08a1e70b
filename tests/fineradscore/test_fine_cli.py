"""`judge fineradscore` from end to end, and everything that works on its runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support import EXAMPLES, Invoke, write_json

from judge import prompts

PREDS, REFS = EXAMPLES / "preds.json", EXAMPLES / "refs.json"


@pytest.fixture
def fine_run(invoke: Invoke, tmp_path: Path) -> Path:
    done = invoke("fineradscore", PREDS, REFS, "--out", tmp_path / "fine")
    assert done.exit_code == 0, done.stderr
    return tmp_path / "fine"


def test_the_corrected_report_is_kept(fine_run: Path) -> None:
    for line in (fine_run / "annotations.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        if record["annotation"]["items"]:
            assert record["corrected"] != record["candidate"]
        else:
            assert record["corrected"] == record["candidate"]


def test_audit_shows_an_edit_that_reads_without_colour(
    invoke: Invoke, tmp_path: Path
) -> None:
    preds = write_json(
        tmp_path / "p.json",
        {"1": "Lungs are clear. Small right effusion. Old rib fracture."},
    )
    refs = write_json(
        tmp_path / "r.json",
        {"1": "Lungs are clear. Small left effusion. Large pneumothorax."},
    )
    assert invoke("fineradscore", preds, refs, "--out", "run").exit_code == 0
    text = invoke("audit", "run", "1").stdout
    shown = text[text.index("Corrections of the candidate") :]
    assert "\x1b" not in text
    assert re.search(r"^  0  Lungs are clear\.$", shown, re.MULTILINE)
    assert re.search(r"^- 1  Small right effusion\.$", shown, re.MULTILINE)
    assert re.search(r"^\+ 1  Small left effusion\.$", shown, re.MULTILINE)
    assert re.search(r"^- 2  Old rib fracture\.$", shown, re.MULTILINE)
    assert re.search(r"^\+    Large pneumothorax\.$", shown, re.MULTILINE)
    assert re.search(r"\[[34] \w+\] \(b\) missing finding", shown)
    signs = [
        line[0] for line in shown.splitlines() if re.match(r"[ +-] (\d+| )  \S", line)
    ]
    assert signs == [" ", "-", "+", "-", "+"]
    assert '"corrections"' in invoke("audit", "run", "1", "--raw").stdout
    assert "1" in invoke("audit", "run", "--rows", "1").stdout


def test_prompt_annotation_and_audit_number_the_lines_alike(
    invoke: Invoke, tmp_path: Path
) -> None:
    candidate = (
        "FINDINGS: The heart is\nnormal. 1. Clear lungs.\n- Port in place\n"
        "IMPRESSION: Old rib fracture."
    )
    preds = write_json(tmp_path / "p.json", {"1": candidate})
    refs = write_json(
        tmp_path / "r.json", {"1": "The heart is normal. Clear lungs. Port in place."}
    )
    assert (
        invoke(
            "fineradscore", preds, refs, "--section", "report", "--out", "run"
        ).exit_code
        == 0
    )
    prompt = prompts.load("fineradscore").messages("REF", candidate)[-1].content
    asked = re.findall(r"^(\d+): (.*)$", prompt, re.MULTILINE)
    audit = invoke("audit", "run", "1").stdout
    shown = re.findall(r"^[ -] (\d+)  (.*)$", audit, re.MULTILINE)
    assert shown == asked
    record = json.loads(Path("run/annotations.jsonl").read_text("utf-8"))
    (error,) = record["annotation"]["items"]
    assert asked[error["edit"]["line"]][1] == "IMPRESSION: Old rib fracture."
