"""The ReXrank challenge as one experiment: 24 models, 4 data sets of 2,500 studies, one file.

All answers are recorded: they lie in the cache, so that the time is judge's own. `judge run` is
killed when half of the runs are finished, and run again; both are counted. Prints wall seconds,
CPU seconds and peak memory. Target: three minutes for both together.

    python bench/bench_experiment.py [--models 24] [--data 4] [--studies 2500] [--folder DIR]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import cycle, islice
from pathlib import Path

from judge import backends, rubrics
from judge.backends.base import Mode
from judge.cache.answers import answer_to
from judge.cache.store import CompletionCache
from judge.experiments.execution import ExperimentRunner, plan_of
from judge.experiments.experiment import read_experiment
from judge.run_files.manifest import MANIFEST
from judge.running.asking import StudyQuestion
from judge.studies import read_pair
from judge.types import Completion, Study, Usage

JUDGE, SERVER = "recorded", "http://127.0.0.1:9/v1"
WRITERS = ("preds.json", "preds_alder.json", "preds_birch.json")


def example_answers() -> list[tuple[Study, str]]:
    """The example studies by their three writers, with the built-in judge's answers to them."""
    rubric = rubrics.load("green")
    lexicon = backends.load(backends.LEXICON, rubric)
    folder = files("judge.examples")
    refs = str(folder.joinpath("refs.json"))

    async def answer(study: Study) -> str:
        completion = await lexicon.complete(lexicon.request(study))
        annotation = rubric.parse(completion.text, study, complete=True)
        return rubric.structured.render(annotation)

    answered = []
    for name in WRITERS:
        for study in read_pair(str(folder.joinpath(name)), refs):
            answered.append((study, asyncio.run(answer(study))))
    return answered


def write_reports(folder: Path, models: int, data: int, studies: int) -> list[str]:
    """Write the reports and the experiment; returns the answers to the studies of each model."""
    examples = example_answers()
    texts = []
    for at in range(data):
        made = list(islice(cycle(examples), studies))
        refs = {
            f"s{row}": {
                "section_findings": f"{study.reference} Examination {row} of {at}.",
                "study_class": study.study_class,
            }
            for row, (study, _) in enumerate(made)
        }
        place = folder / f"data{at}"
        place.mkdir()
        (place / "refs.json").write_text(json.dumps(refs), "utf-8")
        for model in range(models):
            preds = {
                f"s{row}": f"{study.candidate} Image {row} of {model}."
                for row, (study, _) in enumerate(made)
            }
            (place / f"model{model}.json").write_text(json.dumps(preds), "utf-8")
        texts = [text for _, text in made]
    names = [f"data{at}" for at in range(data)]
    entries = [
        f"  {name}: {{references: {name}/refs.json, candidates: [{name}/model*.json]}}"
        for name in names
    ]
    lines = [
        "data:",
        *entries,
        f"judges: [{JUDGE}]",
        f"base_url: {SERVER}",
        "max_outage: 0",
    ]
    (folder / "challenge.yaml").write_text(
        "\n".join([*lines, "by: study_class", "out: runs", ""]), "utf-8"
    )
    return texts


def record_answers(folder: Path, texts: list[str]) -> int:
    """Keep an answer to every question of the experiment; returns how many."""
    plan = plan_of(read_experiment(folder / "challenge.yaml"))
    runner = ExperimentRunner(plan, environ={}, say=print, cache=folder / "cache")
    n = 0
    with runner, CompletionCache(folder / "cache") as cache:
        for planned in plan.runs:
            session = runner.session(planned)
            for study, text in zip(runner.studies(planned), texts, strict=True):
                question = StudyQuestion(session.judge.request(study))
                usage = Usage(900, len(text) // 4)
                completion = Completion(
                    text, "stop", JUDGE, usage, mode=Mode.JSON_SCHEMA.value
                )
                cache.put(
                    answer_to(
                        question.key, question.record, completion, kind=session.kind
                    )
                )
                n += 1
    return n


def finished(folder: Path) -> Iterator[Path]:
    return folder.glob(f"runs/*/{MANIFEST}")


def timed(folder: Path, what: str, until: Callable[[], bool] | None) -> float:
    """Run the experiment, killed once `until` holds; prints and returns the wall seconds."""
    words = [sys.executable, "-m", "judge", "run", "challenge.yaml", "--cache", "cache"]
    words += ["--table", "leaderboard"]
    began = time.perf_counter()
    with (folder / "output.txt").open("w") as output:
        child = subprocess.Popen(words, cwd=folder, stdout=output, stderr=output)
        while until is not None and child.poll() is None:
            if until():
                child.send_signal(signal.SIGKILL)
                break
            time.sleep(0.05)
        _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    if until is None and status:
        sys.exit((folder / "output.txt").read_text("utf-8")[-2000:])
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(f"{what:>28} {wall:>8.1f} {cpu:>8.1f} {peak:>8.0f}", flush=True)
    return wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=24)
    parser.add_argument("--data", type=int, default=4)
    parser.add_argument("--studies", type=int, default=2500)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as work:
        folder = Path(work)
        texts = write_reports(folder, asked.models, asked.data, asked.studies)
        print(f"{record_answers(folder, texts):,} recorded answers")
        n_runs = asked.models * asked.data
        print(f"{'what':>28} {'wall s':>8} {'cpu s':>8} {'peak MB':>8}")
        total = timed(
            folder,
            "until kill -9",
            lambda: sum(1 for _ in finished(folder)) >= n_runs // 2,
        )
        total += timed(folder, "the same command again", None)
        assert sum(1 for _ in finished(folder)) == n_runs
        print(f"{'both':>28} {total:>8.1f}  (target 180)")
        timed(folder, "once more, all finished", None)


if __name__ == "__main__":
    main()
