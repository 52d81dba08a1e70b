"""What a comparison's signature tells apart, and that what is asked for reaches who does it."""

from __future__ import annotations

import base64
import csv
import gzip
import json
import re
from pathlib import Path

import pytest
from judged_runs import IDS, PREDS, REFS, as_written, data, judged
from support import Invoke, write_json

from judge.metrics import bleu2

# The signature


def signature(invoke: Invoke, *args: object) -> str:
    return str(data(invoke, *args, "--no-tests")["signature"])


def bleu_file(path: Path, value: float) -> Path:
    rows = [(model, key, value) for model in ("good", "bad") for key in IDS]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("model", "study_id", "bleu"), *rows])
    return path


def test_groups_and_metrics_stand_in_the_signature(
    invoke: Invoke, two: tuple[Path, Path], tmp_path: Path
) -> None:
    one, other = bleu_file(tmp_path / "m.csv", 0.25), bleu_file(tmp_path / "n.csv", 0.5)
    asked: list[tuple[object, ...]] = [
        (),
        ("--by", "study_class"),
        ("--metrics", one),
        ("--metrics", other),
    ]
    assert len({signature(invoke, *two, *options) for options in asked}) == len(asked)
    # The name of a file is nothing that changes a number.
    copy = bleu_file(tmp_path / "copy.csv", 0.25)
    assert signature(invoke, *two, "--metrics", copy) == signature(invoke, *two, "--metrics", one)


def test_other_studies_of_equal_number_have_another_signature(invoke: Invoke) -> None:
    studies = []
    for name, ids in (("late", IDS[1:]), ("early", IDS[:-1])):
        preds, refs = {key: PREDS[key] for key in ids}, {key: REFS[key] for key in ids}
        run = judged(invoke, name, preds, "green", refs)
        parts = dict(part.split(":", 1) for part in signature(invoke, f"a={run}").split("|"))
        studies.append(parts["studies"])
    assert [part.split("+")[0] for part in studies] == [str(len(IDS) - 1)] * 2
    assert studies[0] != studies[1]


# What is passed on


def test_bleu2_is_of_the_candidate_against_the_reference(invoke: Invoke, tmp_path: Path) -> None:
    reference, candidate = "The lungs are clear. No pleural effusion is seen.", "The lungs are."
    preds = write_json(tmp_path / "preds.json", {"s1": {"model_prediction": candidate}})
    refs = write_json(tmp_path / "refs.json", {"s1": {"section_findings": reference}})
    done = invoke("metrics", preds, refs, "--metric", "bleu2", "--out", tmp_path / "m.csv")
    assert done.exit_code == 0, done.stderr
    with (tmp_path / "m.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert float(row["bleu2"]) == pytest.approx(bleu2(reference, candidate))
    # The penalty of a short candidate makes the two sides unlike.
    assert bleu2(reference, candidate) < 0.7 * bleu2(candidate, reference)


def test_the_number_of_sites_reaches_the_figures_and_the_page(
    invoke: Invoke, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    refs = {key: {**REFS[key], "site": f"site {at % 4}"} for at, key in enumerate(IDS)}
    runs = [
        judged(invoke, name, preds, "green", refs)
        for name, preds in (("good", as_written()), ("bad", PREDS))
    ]
    options = ("--figures", "figures", "--html", "page.html", "--top-sites", 3, "--no-tests")
    done = invoke("compare", *runs, *options)
    assert done.exit_code == 0, done.stderr
    said = "the 3 largest of 4 sites"
    assert said in (tmp_path / "figures" / "captions.md").read_text("utf-8")
    page = (tmp_path / "page.html").read_text("utf-8")
    found = re.search(r'<script type="text/plain" id="data-figures">([\w+/=]*)</script>', page)
    assert found is not None
    words = json.loads(gzip.decompress(base64.b64decode(found[1])))
    assert [said in figure["caption"] for figure in words].count(True) == 1
