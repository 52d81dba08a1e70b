"""What the built-in judge says of reports that it was not made for."""

import json

from judge.backends import load
from judge.rubrics import load as rubric
from judge.types import Study

CLEAR = "The lungs are clear. No pneumothorax."
GERMAN = "Kein Pneumothorax. Die Lunge ist frei, das Herz nicht vergrößert."
CT = "CT chest with intravenous contrast. Nodule in the right apex."


def test_a_run_says_once_how_many_reports_are_foreign_or_no_x_ray(invoke, tmp_path):
    refs = {"a": CLEAR, "b": GERMAN, "c": GERMAN, "d": CT, "e": CLEAR}
    preds = {"a": CLEAR, "b": GERMAN, "c": CLEAR, "d": CT, "e": CT}
    for name, texts in (("refs", refs), ("preds", preds)):
        (tmp_path / f"{name}.json").write_text(json.dumps(texts), "utf-8")
    done = invoke("green", "preds.json", "refs.json", "--out", "run", "--format", "json")
    assert done.exit_code == 3, done.stderr
    notes = json.loads(done.stdout)["notes"]
    assert [note.split(": they have ")[1].split(" than ")[0].split(";")[0] for note in notes] == [
        "a report that seems to be in another language",
        "a report that seems to be of CT, MRI or ultrasound",
    ]
    assert all(note.startswith("2 of 5 studies are not judged by the built-in") for note in notes)
    assert notes == json.loads((tmp_path / "run" / "summary.json").read_text("utf-8"))["notes"]


def test_x_rays_in_english_need_no_note():
    judge = load("lexicon", rubric("green"))
    judge.request(Study("a", CLEAR, "Recommend CT scan. Compared to the prior CT scan, no change."))
    assert not judge.notes
