"""A run from its studies to its folder."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge import distribution, plugins
from judge.backends import CountedNote, Judge
from judge.backends.base import Notes
from judge.running.cost import Progress
from judge.running.engine import ProgressListener, judge_set
from judge.running.records import FORMAT, Judged
from judge.running.session import JudgeSession
from judge.running.writer import claim, writing
from judge.signature import safe_name
from judge.stats.table import DEFAULT_BY, TableBuilder, check_fields, summarise
from judge.studies import StudySet
from judge.studies.context import mentions_prior, prior_report
from judge.studies.texts import says_nothing

if TYPE_CHECKING:
    from judge.running.shards import Shard

RUNS = Path("judge-runs")
_LIBRARIES = ("instructor", "pandas", "pyarrow", "pyyaml")
# There or not: whatever runs a model on this machine.
_ENGINES = ("vllm", "torch", "transformers", "tokenizers")


@dataclass(frozen=True, slots=True)
class Finished:
    """A run's folder, what is printed of it, and what it took."""

    path: Path
    summary: dict[str, Any]
    progress: Progress


def run(
    session: JudgeSession,
    studies: StudySet,
    *,
    out: Path | None = None,
    by: Sequence[str] = DEFAULT_BY,
    arguments: Mapping[str, object] | None = None,
    shard: Shard | None = None,
    listener: ProgressListener | None = None,
    also: Callable[[Judged], None] = lambda _judged: None,
    asking: AbstractContextManager[object] | None = None,
    about: StudySet | None = None,
) -> Finished:
    """Judge `studies` and write the run's folder, whole or not at all.

    `out` defaults to a folder below `judge-runs` whose name is made from the signature, so
    the same run has the same place. `arguments` are what the user asked for, kept in the
    manifest. `also` is given each study's end beside the folder. Of a `shard` its studies alone
    are judged; what depends on the others is decided by the whole set first. `asking` is entered
    when all that can be wrong with the folder and the fields is known, and left at the end. `about`
    are the studies that the notes count, where `studies` are several questions about each.

    Raises `JudgeError` for a folder that holds another run and for an unknown field in `by`,
    both before the judge is asked, and for what stops the judge; `RunStoppedError` when the run
    was interrupted or ran out of money.
    """
    rubric, judge = session.rubric, session.judge
    started = datetime.now(UTC)
    studies, class_source = with_classes(studies)
    line = session.signature(studies, class_source, shard)
    path = out or default_folder(session, studies.model, line)
    claim(path, line)
    n_whole, rows = len(studies), shard.rows(studies) if shard else []
    studies = studies.take(rows) if shard else studies
    made_by: dict[str, Any] = {
        "signature": line,
        "rubric": rubric.name,
        "model": studies.model,
        "judge": {"name": judge.name, "version": judge.version, "note": judge.note},
        "prompt": judge.prompt.name if judge.prompt else None,
        "section": studies.section,
        "class_source": class_source,
        "omitted": dict(studies.omitted),
        "notes": [],
    }
    # An unknown field is found before the work.
    check_fields(by, TableBuilder(rubric, list(studies.fields)).columns)
    with asking or nullcontext(), writing(path, rubric, list(studies.fields)) as writer:

        def keep(judged: Judged) -> None:
            writer.add(judged)
            also(judged)

        progress = judge_set(session, studies, keep, listener or ProgressListener())
        progress.add_spent(session.asked_before)
        progress.from_cache -= session.asked_before.asked
        if judge.log is not None:
            writer.keep_log(judge.log)
        whole = studies if about is None else about
        asked = Notes((_empty(whole), untold(session.judge, whole))) + session.notes
        part = None
        if shard:
            from judge.running.shards import Part

            part = Part(shard, n_whole, rows, studies.notes, asked)
        made_by["notes"] = part.notes if part else [*studies.notes, *asked.told]
        table = writer.table()
        made_by["reply_modes"] = dict(sorted(writer.modes.items()))
        summary = {**made_by, **summarise(table, rubric, by)}
        manifest = {
            "format": FORMAT,
            **made_by,
            **({"repeat": session.repeat} if session.repeat else {}),
            **({"scale": [*judge.prompt.scale]} if judge.prompt and judge.prompt.scale else {}),
            **({"batches": list(session.batches)} if session.batches else {}),
            **({"shard": part.plain()} if part else {}),
            "arguments": dict(arguments or {}),
            "inputs": [asdict(file) for file in studies.inputs],
            "fields": list(studies.fields),
            **({"of_candidates": sorted(own)} if (own := studies.of_candidates) else {}),
            "read_from": {role: name for role, name in studies.read_from.items() if name},
            "omitted_ids": {why: list(ids) for why, ids in studies.omitted_ids.items()},
            "effort": {**asdict(session.policy), "concurrency": session.concurrency},
            "spent": {k: v for k, v in asdict(progress).items() if k != "trouble"},
            "started": started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
        }
        writer.finish(table, summary, manifest)
    return Finished(path, summary, progress)


def _empty(studies: StudySet) -> CountedNote:
    return CountedNote(
        "{n} of {of} candidates are empty, and are judged like any other: what they lack counts",
        sum(not candidate.strip() for candidate in studies.candidates),
        len(studies),
    )


def untold(judge: Judge, studies: StudySet) -> CountedNote:
    """Count the references that compare and whose judge has no earlier report to go by."""
    field = studies.judge_context.prior
    is_unread = field is not None and not judge.prompts
    column = studies.fields[field] if field else repeat(None)
    n = sum(
        mentions_prior(reference) and (is_unread or prior_report(prior) is None)
        for reference, prior in zip(studies.references, column, strict=False)
    )
    what = "{n} of {of} references seem to compare with an earlier examination, whose report "
    why = "the judge is not shown (--prior-field shows it)"
    return CountedNote(what + ("this judge does not read" if is_unread else why), n, len(studies))


def with_classes(studies: StudySet) -> tuple[StudySet, str]:
    """Return `studies` with every class filled in, and a word for where the classes come from.

    A class that the input lacks is read off the whole reference report by the lexicon and
    marked as inferred. An empty reference has no class to infer: it stays None.
    """
    inferred = [given is None for given in studies.study_classes]
    if not any(inferred) and studies.class_field:
        return studies, studies.class_field
    from judge.backends import lexicon  # loads pydantic, which not every run needs

    rules = lexicon.load()
    classes = list(studies.study_classes)
    for at, report in enumerate(studies.full_references):
        if classes[at] is None and not says_nothing(report):
            classes[at] = lexicon.study_class(report, rules)
    sources = [studies.class_field] if studies.class_field else []
    if any(inferred):
        sources.append(f"inferred({rules.version})")
    return (
        replace(studies, study_classes=tuple(classes), class_inferred=tuple(inferred)),
        "+".join(sources),
    )


def default_folder(session: JudgeSession, model: str | None, line: str) -> Path:
    """Return the folder of the run with this signature, below `judge-runs`."""
    names = (model or "", session.rubric.name, session.judge.name)
    parts = [safe_name(name) for name in names]
    digest = hashlib.sha256(line.encode()).hexdigest()[:8]
    return RUNS / "-".join(filter(None, (*parts, digest)))


def versions() -> dict[str, str]:
    """Return the versions of everything that had a hand in a run."""
    engines = {}
    for name in _ENGINES:
        with suppress(PackageNotFoundError):
            engines[name] = version(name)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "judge": distribution.version(),
        **{name: version(name) for name in _LIBRARIES},
        **engines,
        **plugins.versions(),
    }
