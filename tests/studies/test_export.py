"""`judge export`: what is written is read back as the same studies."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support import EXAMPLES, Invoke, write_json

from judge.studies import StudySet, read_pair

PAIR = EXAMPLES / "preds.json", EXAMPLES / "refs.json"
SAME = ("study_ids", "references", "candidates", "study_classes", "section")


def same(one: StudySet, other: StudySet) -> None:
    for name in SAME:
        assert getattr(one, name) == getattr(other, name), name


@pytest.mark.parametrize("section", ["findings", "impression", "report"])
def test_rexranks_form_is_read_back(invoke: Invoke, tmp_path: Path, section: str) -> None:
    done = invoke("export", *PAIR, "--to", "rexrank", "--out", "out.json", "--section", section)
    assert done.exit_code == 0, done.stderr
    assert re.search(rf"section +{section}\nstudies +15\n", done.stdout)
    given = read_pair(*map(str, PAIR), section=section)
    found = read_pair(str(tmp_path / "out.json"), None, section=section)
    same(given, found)
    assert {name: found.fields[name] for name in ("site", "context")} == {
        name: given.fields[name] for name in ("site", "context")
    }
    assert found.full_references == given.full_references
    record = json.loads((tmp_path / "out.json").read_text("utf-8"))[given.study_ids[0]]
    assert record["model_prediction"] == given.candidates[0]


def test_text_is_kept_to_the_letter(invoke: Invoke, tmp_path: Path) -> None:
    odd = {
        "1": {"section_findings": 'A "quote", 2,5 cm.\nNext line é ☃', "study_class": "x"},
        "01": {"section_findings": "Findings are none. Impression of the rib.", "study_class": "y"},
    }
    write_json(tmp_path / "r.json", odd)
    write_json(tmp_path / "p.json", {"1": "", "01": "Comparison: none.\tClear."})
    line = ("export", "p.json", "r.json", "--to", "rexrank", "--out", "o.json")
    assert invoke(*line).exit_code == 0
    given = read_pair(str(tmp_path / "p.json"), str(tmp_path / "r.json"))
    same(given, read_pair(str(tmp_path / "o.json"), None))


def test_radevals_lists_go_in_step(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("export", *PAIR, "--to", "radeval", "--out", "pairs.json")
    assert done.exit_code == 0, done.stderr
    pairs = json.loads((tmp_path / "pairs.json").read_text("utf-8"))
    given = read_pair(*map(str, PAIR))
    assert pairs == {
        "study_id": list(given.study_ids),
        "refs": list(given.references),
        "hyps": list(given.candidates),
    }


def test_what_is_left_out_is_said(invoke: Invoke, tmp_path: Path) -> None:
    preds = json.loads(PAIR[0].read_text("utf-8"))
    write_json(tmp_path / "some.json", dict(list(preds.items())[2:]))
    line = ("export", "some.json", PAIR[1], "--to", "radeval", "--out", "o.json")
    assert invoke(*line).exit_code == 2
    assert not (tmp_path / "o.json").exists()
    done = invoke(*line, "--allow-missing")
    assert re.search(r"left out +2 only in REFS\n", done.stdout)
    assert len(json.loads((tmp_path / "o.json").read_text("utf-8"))["refs"]) == 13


@pytest.mark.parametrize("command", [("export", "--to", "radeval"), ("metrics",)])
def test_what_is_read_is_never_written_over(
    invoke: Invoke, tmp_path: Path, command: tuple[str, ...]
) -> None:
    for path in PAIR:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    for name in ("preds.json", "refs.json"):
        done = invoke(*command, "preds.json", "refs.json", "--out", f"./{name}")
        assert done.exit_code == 2
        assert f"{name} is a file to read, which would be lost" in done.stderr
    for path in PAIR:
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
