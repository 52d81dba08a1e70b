"""Errors of a user: how each ends, and the file, field or option that its message names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from golden import Place

PREDS, REFS = "made/preds_hazel.json", "made/refs.json"
JUDGE = ("green", PREDS, REFS)
OUT = ("--out", "not-made")
GREEN, OTHER = "green made up", "green examples"

# The words of each command, and what its message must name. None of them may make `not-made`.
SITUATIONS: dict[str, tuple[tuple[object, ...], tuple[str, ...]]] = {
    "missing predictions": (("green", "nowhere.json", REFS, *OUT), ("nowhere.json",)),
    "missing references": (("green", PREDS, "nowhere.json", *OUT), ("nowhere.json",)),
    "not JSON": (("green", "broken.json", REFS, *OUT), ("broken.json",)),
    "an empty file": (("green", "empty.json", REFS, *OUT), ("empty.json",)),
    "an id twice": (("green", "twice.json", REFS, *OUT), ("made-001", "twice.json")),
    "other ids": (("green", "other.json", REFS, *OUT), ("other.json",)),
    "a field that is not there": (
        (*JUDGE, "--candidate-field", "said", *OUT),
        ("said",),
    ),
    "grouped by an unknown field": ((*JUDGE, "--by", "ward", *OUT), ("ward",)),
    "an unknown judge": (
        (*JUDGE, "--judge", "lexicon:none.yaml", *OUT),
        ("none.yaml",),
    ),
    "a lexicon that is none": (
        (*JUDGE, "--judge", "lexicon:broken.json", *OUT),
        ("broken.json",),
    ),
    "a prompt file that is none": (
        (*JUDGE, "--judge", "gpt-4o", "--prompt", "./broken.json", "--dry-run", *OUT),
        ("broken.json",),
    ),
    "metrics that cannot be read": (
        ("compare", GREEN, "--metrics", "broken.json"),
        ("broken.json",),
    ),
    "no key for a judge": ((*JUDGE, "--judge", "gpt-4o", *OUT), ("OPENAI_API_KEY",)),
    "an unknown prompt": (
        (*JUDGE, "--judge", "gpt-4o", "--prompt", "poem", "--dry-run", *OUT),
        ("poem",),
    ),
    "a prompt of another rubric": (
        (*JUDGE, "--judge", "gpt-4o", "--prompt", "crimson", "--dry-run", *OUT),
        ("crimson",),
    ),
    "no rules for a rubric": (("direct", PREDS, REFS, *OUT), ("--judge",)),
    "the folder has another run": ((*JUDGE, "--out", OTHER), (OTHER,)),
    "a number out of range": ((*JUDGE, "--reask", "-1", *OUT), ("--reask",)),
    "a word for a number": (
        (*JUDGE, "--concurrency", "many", *OUT),
        ("--concurrency",),
    ),
    "a section that does not exist": ((*JUDGE, "--section", "title", *OUT), ("title",)),
    "an unknown option": ((*JUDGE, "--loud", *OUT), ("--loud",)),
    "the cache is a file": (
        (
            *JUDGE,
            "--judge",
            "m",
            "--base-url",
            "http://127.0.0.1:9/v1",
            "--cache",
            "broken.json",
            *OUT,
        ),
        ("broken.json",),
    ),
    "a bad shard": ((*JUDGE, "--shard", "9/8", *OUT), ("9/8",)),
    "compare runs of other studies": (("compare", GREEN, OTHER), (OTHER,)),
    "compare without common studies": (
        ("compare", f"a={GREEN}", f"b={OTHER}", "--common"),
        (OTHER,),
    ),
    "compare one model twice": (("compare", f"a={GREEN}", f"a={GREEN}"), (GREEN,)),
    "compare by an unknown metric": (
        ("compare", GREEN, "green-cedar", "--sort", "beauty"),
        ("beauty",),
    ),
    "rates of no run": (("rates", "made"), ("made",)),
    "rates by an unknown field": (("rates", GREEN, "--by", "ward"), ("ward",)),
    "a panel of other studies": (
        ("runs", "panel", GREEN, OTHER, "--rule", "mean", *OUT),
        (OTHER,),
    ),
    "readers of other studies": (("validate", GREEN, "--readers", OTHER), (OTHER,)),
    "no study of that name": (("audit", GREEN, "made-999"), ("made-999",)),
    "an unknown layout of readers": (
        ("readers", "import", "poem", "broken.json", *OUT),
        ("poem",),
    ),
    "errors of two rubrics": (("errors", GREEN, "crimson made up"), ("crimson",)),
    "stress of an unknown change": (
        ("stress", REFS, "--changes", "rhyme", *OUT),
        ("rhyme",),
    ),
    "an unknown command": (("gren", PREDS), ("gren",)),
}


def exits(place: Place) -> dict[str, object]:
    """Return the exit code of each, whether it names what it must, and what it does not do."""
    for rubric, which in (
        ("green", "made up"),
        ("green", "examples"),
        ("crimson", "made up"),
    ):
        place.built_in(rubric, which)
    place.of_model("cedar")
    Path("broken.json").write_text(
        '{"made-001": {"model_prediction": "Clear lun', "utf-8"
    )
    Path("empty.json").write_text("", "utf-8")
    record = {"study_id": "made-001", "model_prediction": "Clear lungs."}
    Path("twice.json").write_text(json.dumps([record, record]), "utf-8")
    Path("other.json").write_text(
        json.dumps({"elsewhere-1": {"model_prediction": "Clear."}}), "utf-8"
    )
    return {what: _end(place, *SITUATIONS[what]) for what in SITUATIONS}


def _end(
    place: Place, words: tuple[object, ...], named: tuple[str, ...]
) -> dict[str, object]:
    done = place.call(*words)
    said = " ".join(done.stderr.split())
    return {
        "exit code": done.exit_code,
        "names": {name: name in said for name in named},
        "has a traceback": "Traceback" in done.output
        or not isinstance(done.exception, SystemExit),
        "made a folder": Path("not-made").exists(),
    }
