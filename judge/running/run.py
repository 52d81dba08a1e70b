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

from judge import plugins
from judge.backends import CountedNote, Judge
from judge.backends.base import Notes
from judge.running.engine import Progress, ProgressListener, judge_set
from judge.running.folder import RunWriter, claim, writing
from judge.running.records import FORMAT, Judged
from judge.running.session import JudgeSession
from judge.signature import Signature, safe_name
from judge.stats.table import DEFAULT_BY, TableBuilder, check_fields, summarise
from judge.studies import StudySet
from judge.studies.names import says_nothing
from judge.studies.study_set import mentions_prior, prior_report

if TYPE_CHECKING:
    from judge.running.aggregate import Rule
    from judge.running.shards import Shard

RUNS = Path("judge-runs")
_SELDOM = ("repeat", "scale", "batches", "shard", "combined", "of_candidates")
# The packages that had a hand in a run; those that run a model on this machine may be missing.
_PACKAGES = (
    *("instructor", "pandas", "pyarrow", "pyyaml"),
    *("vllm", "torch", "transformers", "tokenizers"),
)


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
    references: Rule | None = None,
    listener: ProgressListener | None = None,
    also: Callable[[Judged], None] = lambda _judged: None,
    asking: AbstractContextManager[object] | None = None,
) -> Finished:
    """Judge `studies` and write the run's folder, whole or not at all.

    `out` defaults to a folder below `judge-runs` that is named after the signature. `arguments` are
    what the user asked for. What depends on other studies than a `shard`'s is decided by the whole
    set first. With a rule for several `references` each of them is asked about. `also` is given the
    end of each question. `asking` is entered when all that can be wrong with folder and fields is
    known.

    Raises `JudgeError` for a folder that holds another run and for an unknown field in `by`, both
    before the judge is asked, and for what stops the judge; `RunStoppedError` when the run was
    interrupted or ran out of money.
    """
    rubric, judge = session.rubric, session.judge
    started = datetime.now(UTC)
    studies, class_source = with_classes(studies)
    whole, several = studies, None
    if references:
        from judge.running.aggregate import SeveralReferences

        several = SeveralReferences(studies, references)
        studies, rubric = several.asked, several.rubric(rubric)
    line = session.signature(studies, class_source, shard)
    if several:
        line = str(Signature.parse(line).adding(f"references:{references}"))
    path = out or default_folder(session, whole.model, line)
    claim(path, line)
    studies = studies.take(shard.rows(whole)) if shard else studies
    fields = [*whole.fields, *(several.fields if several else ())]
    # An unknown field is found before the work.
    check_fields(by, TableBuilder(rubric, fields).columns)
    with asking or nullcontext(), writing(path, rubric, fields) as writer:

        def keep(judged: Judged) -> None:
            (several or writer).add(judged)
            also(judged)

        progress = judge_set(session, studies, keep, listener or ProgressListener())
        progress.add_spent(session.asked_before)
        progress.from_cache -= session.asked_before.asked
        if judge.log is not None:
            writer.keep_log(judge.log)
        about: list[str] = []
        if several:
            studies, about = whole, several.write(writer, session.rubric)
        elif shard:
            about.append(
                f"this is shard {shard.index} of {shard.count}: {len(studies):,} of "
                f"{len(whole):,} studies; judge merge joins the shards"
            )
        notes = Notes((_empty(studies), untold(judge, studies))) + Notes.of(judge)
        made_by = {
            "signature": line,
            "rubric": rubric.name,
            "model": studies.model,
            "judge": {"name": judge.name, "version": judge.version, "note": judge.note},
            "prompt": judge.prompt.name if judge.prompt else None,
            "section": studies.section,
            "class_source": class_source,
            "omitted": dict(studies.omitted),
            "notes": [*studies.notes, *about, *notes.told],
        }
        manifest = {
            "repeat": session.repeat,
            "scale": [*(judge.prompt.scale or ())] if judge.prompt else [],
            "batches": list(session.batches),
            "shard": shard and shard.record(whole, notes),
            "combined": several and several.record,
            "of_candidates": sorted(studies.of_candidates),
            "arguments": dict(arguments or {}),
            "inputs": [asdict(file) for file in studies.inputs],
            "fields": fields,
            "read_from": {role: name for role, name in studies.read_from.items() if name},
            "omitted_ids": {why: list(ids) for why, ids in studies.omitted_ids.items()},
            "effort": {**asdict(session.policy), "concurrency": session.concurrency},
            "spent": {k: v for k, v in asdict(progress).items() if k != "trouble"},
            "started": started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        summary = finish(writer, made_by, manifest, by)
    return Finished(path, summary, progress)


def finish(
    writer: RunWriter,
    made_by: Mapping[str, Any],
    manifest: Mapping[str, Any],
    by: Sequence[str],
) -> dict[str, Any]:
    """Write what is said of all studies, and put the run in its place; returns the summary."""
    table = writer.table()
    made_by = {"reply_modes": writer.reply_modes, **made_by}
    summary = {**made_by, **summarise(table, writer.rubric, by)}
    if alphas := (manifest.get("combined") or {}).get("agreement"):
        summary["agreement"] = alphas
    known = {name: value for name, value in manifest.items() if value or name not in _SELDOM}
    whole = {"format": FORMAT, **made_by, **known, "versions": versions()}
    writer.finish(table, summary, whole)
    return summary


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

    A class that is not given is read off the whole reference, None where that is empty.
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
    packages = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            packages[name] = version(name)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "judge": plugins.version(),
        **packages,
        **plugins.versions(),
    }
