"""What the program says today: each golden is computed here, for the recorder and for the tests."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import math
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from exits import exits
from requests_made import cache_keys
from server import RecordedServer

from judge import prompts, rubrics
from judge.cli import main
from judge.rubrics.derived import on_scale
from judge.types import Annotation, Study, UnparsedError

HERE = Path(__file__).parent
INPUTS, RECORDED = HERE / "inputs", HERE / "recorded"
EXAMPLES = HERE.parents[1] / "examples"
SETS = {
    "examples": ("examples/preds.json", "examples/refs.json"),
    "made up": ("made/preds_hazel.json", "made/refs.json"),
}
RUBRICS = ("green", "fineradscore", "crimson", "facts", "counts")
MODELS = ("cedar", "hazel", "maple")
# When a later change renames a JSON key or a column, put the old name and the new one here (None:
# it is gone). An old name with slashes is the path of one value, as a difference prints it.
RENAMED: dict[str, str | None] = {}

# Keys whose values change from day to day, and remarks in prose, whose words are free.
NOT_HELD = {
    "started",
    "finished",
    "versions",
    "seconds",
    "effort",
    "spent",
    "notes",
    "note",
    "why",
    "sentences",
}


class Place:
    """A folder with the inputs, in which commands run; each run is judged once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(EXAMPLES, folder / "examples")
        shutil.copytree(INPUTS, folder / "made")
        self._runs: dict[str, tuple[str, Any]] = {}

    def call(self, *words: object) -> Result:
        """Run a command in the folder."""
        return CliRunner().invoke(main, [*map(str, words)])

    def printed(self, *words: object) -> Any:
        """Return what a command prints as JSON, without what changes from day to day."""
        done = self.call(*words, "--format", "json")
        assert done.exit_code == 0, (words, done.stderr)
        return masked(json.loads(done.stdout))

    def run(self, out: str, *words: object) -> str:
        """Judge into the folder `out`, once; return its name."""
        if out not in self._runs:
            self._runs[out] = out, self.printed(*words, "--out", out)
        return out

    def summary(self, out: str) -> Any:
        """Return what the command that made `out` printed."""
        return self._runs[out][1]

    def built_in(self, rubric: str, which: str) -> str:
        """Return the run of the built-in judge over one of the sets."""
        return self.run(f"{rubric} {which}", rubric, *SETS[which])

    def of_model(self, model: str, rubric: str = "green") -> str:
        """Return the run of the built-in judge over a made-up model's reports."""
        files = f"made/preds_{model}.json", "made/refs.json"
        return self.run(f"{rubric}-{model}", rubric, *files)

    def asked(self, rubric: str, which: str) -> str:
        """Return a run that asked the recorded server."""
        with RecordedServer(rubric) as server:
            how = ("--judge", "model-x", "--base-url", server.url, "--reask", 1)
            how += (
                "--give-up-after",
                0,
                "--min-coverage",
                0,
                "--cache",
                f"cache-{rubric}",
            )
            how += ("--reply", "text" if rubric == "green" else "structured")
            return self.run(f"asked {rubric} {which}", rubric, *SETS[which], *how)


@contextlib.contextmanager
def place_in(folder: Path) -> Iterator[Place]:
    """Give a `Place` in a new folder, as the working folder and without keys."""
    before, environ = Path.cwd(), dict(os.environ)
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "VLLM_API_KEY"):
        os.environ.pop(name, None)
    os.environ |= {"JUDGE_CACHE": str(folder / "cache"), "COLUMNS": "100"}
    place = Place(folder)
    os.chdir(folder)
    try:
        yield place
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environ)


def masked(value: object) -> Any:
    """Return JSON without times and with stars for versions, folders and ports."""
    if isinstance(value, dict):
        return {key: masked(item) for key, item in value.items() if key not in NOT_HELD}
    if isinstance(value, list):
        return [masked(item) for item in value]
    if isinstance(value, str):
        value = re.sub(r"(version|numpy|scipy):[^|,\s]*", r"\1:*", value)
        value = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:*", value)
        return value.replace(f"{Path.cwd()}/", "")
    return value


def _runs(make: Callable[[Place, str, str], str], rubric: str, place: Place) -> object:
    """Return the summary and the table of studies of each set's run."""
    goldens = {}
    for which in SETS:
        out = make(place, rubric, which)
        with (place.folder / out / "studies.csv").open(
            encoding="utf-8", newline=""
        ) as file:
            rows = [
                {key: _number(cell) for key, cell in row.items()}
                for row in csv.DictReader(file)
            ]
        goldens[which] = {"summary": place.summary(out), "studies": rows}
    return goldens


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def answers_of(rubric: str) -> list[dict[str, Any]]:
    """Return the stored answers to read: from the cases, and from the tests of the parsers."""
    return load(INPUTS / f"answers-{rubric}.json.gz")


def _answers(rubric: str, _place: Place) -> object:
    """Return the annotation and the measures of each stored answer, or why it cannot be read."""
    return [_read(rubrics.load(rubric), answer) for answer in answers_of(rubric)]


def _read(rubric: rubrics.Rubric, answer: Mapping[str, Any]) -> object:
    study = Study(
        "s", answer["reference"], answer["candidate"], modality=answer.get("modality")
    )
    parse, measured = rubric.parse, rubric.measured
    if answer.get("reply") == "structured":
        assert rubric.structured
        parse = rubric.structured.parse
    if "scale" in answer:
        parse = on_scale(rubric, tuple(answer["scale"])).parse
    try:
        annotation = parse(answer["text"], study, complete=answer["complete"])
    except UnparsedError as error:
        return {"unparsed": error.reason}
    return {
        "annotation": _plain(annotation),
        "measures": dict(measured(annotation, study)),
    }


def _plain(annotation: Annotation) -> object:
    items = [
        {
            "kind": item.kind,
            "text": item.text,
            "labels": {name: list(values) for name, values in item.labels.items()},
            "side": item.side,
            "links": list(item.links),
            "edit": asdict(item.edit) if item.edit else None,
        }
        for item in annotation.items
    ]
    return {
        "items": items,
        "explanation": annotation.explanation,
        "values": dict(annotation.values),
        "stated_counts": dict(annotation.stated_counts),
        "warnings": list(annotation.warnings),
    }


def _signatures(place: Place) -> object:
    built_in = [place.built_in(rubric, which) for rubric in RUBRICS for which in SETS]
    models = [place.of_model(model) for model in MODELS]
    asked = [
        place.asked(rubric, which)
        for rubric in ("green", "fineradscore")
        for which in SETS
    ]
    return {
        out: place.summary(out)["signature"] for out in (*built_in, *models, *asked)
    }


def _prompts(_place: Place) -> object:
    found = {name: prompts.load(name) for name in prompts.names()}
    return {name: [one.rubric, one.version, one.digest] for name, one in found.items()}


def _compare(place: Place) -> object:
    runs = [place.of_model(model, rubric) for model in MODELS for rubric in RUBRICS[:3]]
    few = ("--resamples", 200, "--flips", 500, "--seed", 7)
    green = [f"{model}=green-{model}" for model in MODELS]
    return {
        "three rubrics, by class": place.printed(
            "compare", *runs, *few, "--by", "study_class"
        ),
        "by site": place.printed(
            "compare", *green, "--by", "site", "--sort", "green_errors", *few
        ),
        "without patients": place.printed(
            "compare", *green, "--patient-field", "none", *few
        ),
        "no tests": place.printed("compare", *green, "--no-tests"),
    }


def _readers(place: Place) -> str:
    """Return the folder of the runs of the example readers."""
    if not Path("readers").exists():
        place.printed(
            "readers",
            "import",
            "tidy",
            "examples/readers/readings.csv",
            "--out",
            "readers",
        )
    return "readers"


def _judges(place: Place) -> tuple[str, str]:
    """Return the runs of two judges over the example studies."""
    second = ("--judge", "lexicon:examples/lexicon.yaml")
    first = place.built_in("green", "examples")
    return first, place.run("second", "green", *SETS["examples"], *second)


def _validate(place: Place) -> object:
    first, second = _judges(place)
    readers = ("--readers", _readers(place), "--resamples", 200)
    return {
        "two judges": place.printed("validate", f"a={first}", f"b={second}", *readers),
        "one judge": place.printed("validate", first, *readers, "--epsilon", 0.1),
    }


def _rates(place: Place) -> object:
    first, _ = _judges(place)
    at_random = ("--drawn-at-random",)
    one = f"{_readers(place)}/reader-reed"
    return {
        "plain": place.printed("rates", first, "--by", "site"),
        "all readers": place.printed(
            "rates", first, "--readers", "readers", *at_random
        ),
        "one reader": place.printed(
            "rates", first, "--readers", one, *at_random, "--by", "site"
        ),
    }


def _panel(place: Place) -> object:
    runs = _judges(place)
    rules = {
        rule: place.run(f"panel-{rule}", "runs", "panel", *runs, "--rule", rule)
        for rule in ("majority", "mean")
    }
    return {
        rule: {
            "summary": place.summary(out),
            "rates": place.printed("rates", out, "--by", "site"),
        }
        for rule, out in rules.items()
    }


def _stress(place: Place) -> object:
    return place.printed(
        "stress",
        "made/refs.json",
        "--limit",
        40,
        "--draw-seed",
        1,
        "--out",
        "stress",
    )


def _errors(place: Place) -> object:
    cedar, maple = place.of_model("cedar"), place.of_model("maple")
    return {
        "one run": place.printed("errors", maple),
        "two models": place.printed("errors", cedar, maple, "--min-studies", 3),
    }


GOLDENS: dict[str, Callable[[Place], object]] = {
    **{f"runs-{rubric}": partial(_runs, Place.built_in, rubric) for rubric in RUBRICS},
    "runs-attributes": partial(_runs, Place.built_in, "attributes"),
    "asked-green": partial(_runs, Place.asked, "green"),
    "asked-fineradscore": partial(_runs, Place.asked, "fineradscore"),
    "signatures": _signatures,
    **{
        f"answers-{rubric}": partial(_answers, rubric)
        for rubric in (*RUBRICS, "direct")
    },
    "keys": lambda _place: cache_keys(),
    "prompts": _prompts,
    "compare": _compare,
    "validate": _validate,
    "rates": _rates,
    "panel": _panel,
    "stress": _stress,
    "errors": _errors,
    "exits": exits,
}


def load(path: Path) -> Any:
    """Return what a compressed file holds."""
    return json.loads(gzip.decompress(path.read_bytes()))


def save(path: Path, value: object) -> None:
    """Write compressed JSON, the same bytes for the same value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def renamed(value: object, path: str = "") -> Any:
    """Return a recorded value under the names of today (`RENAMED`)."""
    if isinstance(value, list):
        return [renamed(item, f"{path}/{at}") for at, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    names = {key: RENAMED.get(f"{path}/{key}", RENAMED.get(key, key)) for key in value}
    return {
        new: renamed(value[key], f"{path}/{key}")
        for key, new in names.items()
        if new is not None
    }


def differences(recorded: object, now: object, path: str = "") -> Iterator[str]:
    """Give a line for each value that differs: its path, what was recorded, and what it is now."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        for key in recorded.keys() | now.keys():
            if key not in now:
                yield f"{path}/{key}: recorded, and gone now"
            elif key not in recorded:
                yield f"{path}/{key}: new, {now[key]!r:.80}"
            else:
                yield from differences(recorded[key], now[key], f"{path}/{key}")
    elif isinstance(recorded, list) and isinstance(now, list):
        if len(recorded) != len(now):
            yield f"{path}: recorded {len(recorded)} entries, now {len(now)}"
        for at, (old, new) in enumerate(zip(recorded, now, strict=False)):
            yield from differences(old, new, f"{path}/{at}")
    elif not _same(recorded, now):
        yield f"{path}: recorded {recorded!r:.200}, now {now!r:.200}"


def _same(old: object, new: object) -> bool:
    numbers = (int, float)
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, numbers) and isinstance(new, numbers):
        both_nan = math.isnan(old) and math.isnan(new)
        # Versions of scipy differ in the ninth digit of Student's t.
        return both_nan or math.isclose(old, new, rel_tol=1e-9, abs_tol=1e-8)
    return old == new


def check(name: str, place: Place) -> None:
    """Fail where a golden is not what was recorded."""
    now = json.loads(json.dumps(GOLDENS[name](place)))
    found = sorted(
        differences(
            renamed(load(RECORDED / f"{name}.json.gz"), f"/{name}"), now, f"/{name}"
        )
    )
    shown = "\n".join(found[:20])
    assert not found, f"{len(found)} values of the golden {name} differ:\n{shown}"
