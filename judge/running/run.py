"""One run from its studies to its folder."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import (
    AbstractContextManager,
    nullcontext,
    suppress,
)
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from judge import plugins
from judge.backends import Judge
from judge.backends.base import Recognised
from judge.backends.hosted import HostedJudge
from judge.plugins import version
from judge.rubrics import Rubric
from judge.run_files.entries import (
    ExperimentEntry,
    InputEntry,
    RecognisedEntries,
    ServedEntry,
    SpentEntry,
)
from judge.run_files.identity import RunIdentity
from judge.run_files.manifest import ManifestFields, RunManifest
from judge.run_files.summary import RunSummary
from judge.run_settings import DEFAULT_BY, RunSettings
from judge.running.coverage import coverage_notes
from judge.running.folder import SERVER_LOG, RunWriter, claim, writing
from judge.running.judging import judge_set
from judge.running.progress import PASSING, Progress, ProgressListener
from judge.running.records import StudyResult
from judge.running.session import JudgeSession
from judge.running.underway import BEGUN, with_progress_file
from judge.signature import safe_name
from judge.stats.summary import TableBuilder, check_fields, summarise
from judge.studies import StudySet
from judge.studies.study_set import compares, first_ids, prior_report
from judge.text import says_nothing

if TYPE_CHECKING:
    from judge.rubrics.derived import Rule
    from judge.running.shard import Shard


def input_notes(judge: Judge, studies: StudySet) -> list[str]:
    """Return what a run says of all its studies, whichever part of them it judges."""
    return [*studies.notes, *_empty_note(studies), *_earlier_note(judge, studies)]


def _empty_note(studies: StudySet) -> list[str]:
    """Return the note about candidates without a text, none where there is no such."""
    empty = studies.empty_candidates
    if not empty:
        return []
    are, they = ("is", "it leaves") if len(empty) == 1 else ("are", "they leave")
    some = f"{len(empty):,} of {len(studies):,} candidates {are} empty"
    return [f"{some} ({first_ids(empty)}) and judged: what {they} out counts"]


def _earlier_note(judge: Judge, studies: StudySet) -> list[str]:
    """Return the note about references that compare with a report that the judge is not shown."""
    field = studies.judge_context.prior
    # The built-in judge has no prompt, and reads no earlier report.
    priors = (
        studies.fields[field] if field and judge.prompts else (None,) * len(studies)
    )
    n = 0
    for reference, prior in zip(studies.references, priors, strict=True):
        if compares(reference) and prior_report(prior) is None:
            n += 1
    if not n:
        return []
    compare = "compares" if n == 1 else "compare"
    some = f"{n:,} of {len(studies):,} references {compare}"
    return [f"{some} with an earlier examination that the judge is not shown"]


RUNS = Path("judge-runs")


# The packages that had a hand in a run; those that run a model on this machine may be missing.
_PACKAGES = (
    "instructor",
    "pandas",
    "pyarrow",
    "pyyaml",
    "vllm",
    "torch",
    "transformers",
    "tokenizers",
)


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run's folder, what is printed of it, and what it took."""

    path: Path
    summary: RunSummary
    progress: Progress


def run(
    session: JudgeSession,
    studies: StudySet,
    *,
    out: Path | None = None,
    by: Sequence[str] = DEFAULT_BY,
    settings: RunSettings | None = None,
    experiment: ExperimentEntry | None = None,
    shard: Shard | None = None,
    references: Rule | None = None,
    listener: ProgressListener | None = None,
    also: Callable[[StudyResult], None] = lambda _judged: None,
    asking: AbstractContextManager[object] | None = None,
) -> RunResult:
    """Judge `studies` and write the run's folder, whole or not at all.

    `settings` are what it is asked to do, which the manifest keeps, as it does the `experiment`
    that the run belongs to; session and studies are made of them. `out` defaults to a folder below
    `judge-runs`; `also` is given the end of each question; `asking` is entered once folder and
    fields are checked. Raises `JudgeError` for a folder with another run or an unknown field,
    `RunStoppedError` for a run that was interrupted or ran out of money.
    """
    rubric, judge, started = session.rubric, session.judge, now()
    studies, class_source = with_classes(studies)
    whole, several = studies, None
    if references:
        from judge.running.panel import SeveralReferences

        several = SeveralReferences(studies, references)
        studies, rubric = several.asked, several.rubric(rubric)
    asked = studies
    about_input = [
        *input_notes(judge, whole),
        *coverage_notes(session.judged_by(as_asked=True), whole),
    ]

    def identified(*, as_asked: bool = False) -> RunIdentity:
        return session.identity(
            asked,
            class_source,
            shard=shard.entry(whole, about_input) if shard else None,
            combined=several.entry if several else None,
            as_asked=as_asked,
        )

    path = out
    if path is None:
        line = identified(as_asked=True).signature
        path = default_folder(session, whole.model, line)
    claim(path, identified().signature)
    studies = studies.take(shard.rows(whole)) if shard else studies
    fields = [*whole.fields, *(several.fields if several else ())]
    check_fields(by, TableBuilder(rubric, fields).columns)
    made: ManifestFields = {
        "model": whole.model,
        "prompt": judge.prompt.name if judge.prompt else None,
        "notes": about_input,
        "fields": fields,
        "inputs": input_entries(whole),
        "settings": settings,
        "experiment": experiment,
        "read_from": {role: name for role, name in whole.read_from.items() if name},
        "omitted_ids": {why: list(ids) for why, ids in whole.omitted_ids.items()},
        "of_candidates": sorted(whole.of_candidates),
        "scale": list(judge.prompt.scale or ()) if judge.prompt else [],
        "started": started,
    }
    with asking or nullcontext(), writing(path, rubric, fields) as writer:

        def keep(judged: StudyResult) -> None:
            (several or writer).add(judged)
            also(judged)

        begun = RunManifest.of_session(identified(), **made)
        (writer.staging / BEGUN).write_text(
            json.dumps(begun.plain()), "utf-8", "replace"
        )
        listener = with_progress_file(writer.staging, listener or ProgressListener())
        progress = judge_set(session, studies, keep, listener)
        progress.add_spent(session.asked_before)
        progress.from_cache -= session.asked_before.asked
        if judge.log is not None:
            # A server that goes on for the next run goes on writing.
            if session.runner is None:
                shutil.move(judge.log, writer.staging / SERVER_LOG)
            else:
                shutil.copy(judge.log, writer.staging / SERVER_LOG)
        about: list[str] = []
        judged_pairs = studies
        if several:
            studies, about = whole, several.write(writer, session.rubric)
        recognised = judge.recognised(judged_pairs.references, judged_pairs.candidates)
        spent = {k: v for k, v in asdict(progress).items() if k not in PASSING}
        made["notes"] = [*about_input, *about]
        made["recognised"] = recognised_entries(recognised)
        made["served"] = _served(judge, writer)
        made["batches"] = [dict(batch) for batch in session.batches]
        made["effort"] = {**asdict(session.policy), "concurrency": session.concurrency}
        made["spent"] = SpentEntry(**spent)
        made["finished"] = now()
        # By now it is known what the model takes.
        manifest = RunManifest.of_session(identified(), **made)
        summary = finish(writer, manifest, by)
    return RunResult(path, summary, progress)


def recognised_entries(recognised: Recognised | None) -> RecognisedEntries | None:
    """Return what a manifest says of how much the built-in judge recognised."""
    if recognised is None:
        return None
    return RecognisedEntries.model_validate(recognised)


def input_entries(studies: StudySet) -> list[InputEntry]:
    """Return what a manifest says of the files that the studies were read from."""
    return [InputEntry(**asdict(file)) for file in studies.inputs]


def _served(judge: Judge, writer: RunWriter) -> ServedEntry | None:
    """Return who served a model behind an API, under which names it answered, and when.

    A provider may answer with another version of a model from one month to the next.
    """
    if not isinstance(judge, HostedJudge) or not judge.provider:
        return None
    return ServedEntry(
        provider=judge.provider,
        model=judge.served_as,
        answered_as=dict(sorted(writer.answered_as.items())),
        answered_between=writer.answered_between,
    )


def now() -> str:
    """Return the time, as in manifests."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def finish(writer: RunWriter, manifest: RunManifest, by: Sequence[str]) -> RunSummary:
    """Write what is said of all studies, and put the run in its place; returns the summary."""
    table = writer.table()
    modes = dict(sorted(writer.reply_modes.items()))
    manifest = manifest.model_copy(
        update={"reply_modes": modes, "versions": versions()}
    )
    counted = summarise(table, writer.rubric, by)
    summary = RunSummary.of(manifest, counted, writer.failures)
    writer.finish(table, summary, manifest)
    return summary


def write_run(
    path: Path,
    rubric: Rubric,
    ends: Iterable[StudyResult],
    manifest: Callable[[], RunManifest],
    *,
    fields: Sequence[str],
    by: Sequence[str],
) -> RunSummary:
    """Write the run of studies whose ends are known, whole or not at all; returns its summary.

    `manifest` is called once all `ends` are written.
    """
    with writing(path, rubric, list(fields)) as writer:
        check_fields(by, writer.builder.columns)
        for end in ends:
            writer.add(end)
        return finish(writer, manifest(), by)


def with_classes(studies: StudySet) -> tuple[StudySet, str]:
    """Fill in the classes that are not given from the references; returns their source too."""
    inferred = tuple(study_class is None for study_class in studies.study_classes)
    if not any(inferred):
        return studies, studies.class_field or ""
    from judge.backends import lexicon  # loads pydantic, which not every run needs

    rules = lexicon.load()
    classes = [
        lexicon.study_class(report, rules)
        if given is None and not says_nothing(report)
        else given
        for given, report in zip(
            studies.study_classes, studies.full_references, strict=True
        )
    ]
    source = "+".join(filter(None, (studies.class_field, f"inferred({rules.version})")))
    return replace(
        studies, study_classes=tuple(classes), class_inferred=inferred
    ), source


def default_folder(session: JudgeSession, model: str | None, line: str) -> Path:
    """Return the folder of the run with this signature, below `judge-runs`."""
    parts = map(safe_name, (model or "", session.rubric.name, session.judge.name))
    digest = hashlib.sha256(line.encode()).hexdigest()[:8]
    return RUNS / "-".join(filter(None, (*parts, digest)))


def versions() -> dict[str, str]:
    """Return the versions of everything that had a hand in a run."""
    installed = {}
    for name in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            installed[name] = metadata.version(name)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "judge": version(),
        **installed,
        **plugins.versions(),
    }
