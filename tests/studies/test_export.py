"""`judge export`: what is written is read back as the same studies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import EXAMPLES, Invoke, write_json

from judge.studies import StudySet, read_pair

PAIR = EXAMPLES / "preds.json", EXAMPLES / "refs.json"


def same(one: StudySet, other: StudySet) -> None:
    names = ("study_ids", "references", "candidates", "study_classes", "section")
    for name in (*names, "full_references"):
        assert getattr(one, name) == getattr(other, name), name


@pytest.mark.parametrize("section", ["findings", "report"])
def test_rexranks_form_is_read_back(invoke: Invoke, section: str) -> None:
    line = ("export", *PAIR, "--to", "rexrank", "--out", "out.json", "--section", section)
    assert invoke(*line).exit_code == 0
    given = read_pair(*map(str, PAIR), section=section)
    found = read_pair("out.json", None, section=section)
    same(given, found)
    for name in ("site", "context"):
        assert found.fields[name] == given.fields[name]


def test_text_is_kept_to_the_letter(invoke: Invoke) -> None:
    odd = {
        "1": {"section_findings": 'A "quote", 2,5 cm.\nNext line é ☃', "study_class": "x"},
        "01": {"section_findings": "Findings are none. Impression of the rib.", "study_class": "y"},
    }
    write_json(Path("r.json"), odd)
    write_json(Path("p.json"), {"1": "", "01": "Comparison: none.\tClear."})
    line = ("export", "p.json", "r.json", "--to", "rexrank", "--out", "o.json")
    assert invoke(*line).exit_code == 0
    same(read_pair("p.json", "r.json"), read_pair("o.json", None))


def test_radevals_lists_go_in_step(invoke: Invoke) -> None:
    preds = json.loads(PAIR[0].read_text("utf-8"))
    write_json(Path("some.json"), dict(list(preds.items())[2:]))
    line = ("export", "some.json", PAIR[1], "--to", "radeval", "--out", "o.json")
    assert invoke(*line).exit_code == 2
    assert not Path("o.json").exists()
    assert invoke(*line, "--allow-missing").exit_code == 0
    given = read_pair("some.json", str(PAIR[1]), allow_missing=True)
    assert json.loads(Path("o.json").read_text("utf-8")) == {
        "study_id": list(given.study_ids),
        "refs": list(given.references),
        "hyps": list(given.candidates),
    }


@pytest.mark.parametrize("command", [("export", "--to", "radeval"), ("metrics",)])
def test_what_is_read_is_never_written_over(invoke: Invoke, command: tuple[str, ...]) -> None:
    for path in PAIR:
        Path(path.name).write_bytes(path.read_bytes())
    for path in PAIR:
        done = invoke(*command, "preds.json", "refs.json", "--out", f"./{path.name}")
        assert done.exit_code == 2
        assert path.name in done.stderr
        assert Path(path.name).read_bytes() == path.read_bytes()
