"""What the built-in judge says of reports that it was not made for."""

import json

from judge.backends import load
from judge.rubrics import load as rubric
from judge.running.folder import RunFolder
from judge.types import Study

CLEAR = "The lungs are clear. No pneumothorax."
GERMAN = "Kein Pneumothorax. Die Lunge ist frei, das Herz nicht vergrößert."
CT = "CT chest with intravenous contrast. Nodule in the right apex."


def test_reports_that_are_foreign_or_no_x_ray_are_not_judged(invoke, tmp_path):
    refs = {"a": CLEAR, "b": GERMAN, "c": GERMAN, "d": CT, "e": CLEAR}
    preds = {"a": CLEAR, "b": GERMAN, "c": CLEAR, "d": CT, "e": CT}
    for name, texts in (("refs", refs), ("preds", preds)):
        (tmp_path / f"{name}.json").write_text(json.dumps(texts), "utf-8")
    done = invoke(
        "green", "preds.json", "refs.json", "--out", "run", "--format", "json"
    )
    assert done.exit_code == 3, done.stderr
    outcomes = {
        record["study_id"]: record["reason"]
        for record in RunFolder.open(tmp_path / "run").records()
    }
    assert outcomes == {
        "a": None,
        **dict.fromkeys("bc", "unfamiliar language"),
        **dict.fromkeys("de", "unfamiliar images"),
    }


def test_x_rays_in_english_are_judged():
    judge = load("lexicon", rubric("green"))
    told = "Recommend CT scan. Compared to the prior CT scan, no change."
    roles = [
        message.role for message in judge.request(Study("a", CLEAR, told)).messages
    ]
    assert "unfamiliar" not in roles
