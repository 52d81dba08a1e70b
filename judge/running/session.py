"""A judge with all that asking it takes, and the line that names all that changes a number."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from judge import backends, plugins, rubrics
from judge.backends import Judge, JudgeSettings
from judge.backends.base import StudyError
from judge.plugins import version
from judge.prompts import TEXT
from judge.rubrics import Rubric
from judge.rubrics.derived import for_prompt, on_scale
from judge.running.engine import Progress, ProgressListener, Question, StopSignal, judge_set
from judge.running.folder import SERVER_LOG, RunWriter, claim, writing
from judge.running.records import FORMAT, CachedAnswer, StudyResult
from judge.signature import Signature, safe_name, studies_digest
from judge.stats.summary import DEFAULT_BY, TableBuilder, check_fields, summarise
from judge.studies import StudySet
from judge.studies.sections import says_nothing
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.cache.store import CompletionCache
    from judge.running.cached_client import CachedClient
    from judge.running.combining import Shard
    from judge.running.cost import SpendingLimit
    from judge.running.panel import Rule

_PACKAGE = "package"


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How many requests at a time, how often again, and when to give up.

    `concurrency` requests are in flight (None: as the server takes); an unreadable answer is asked
    for `reask` times more; a question takes at most `max_requests`; a server may be gone for
    `max_outage` seconds; the run may spend `max_cost` US dollars. It is given up where more than
    half of the first `give_up_after` answers cannot be read (0: never).
    """

    concurrency: int | None = None
    reask: int = 1
    max_requests: int = 8
    max_outage: float = 1800.0
    max_cost: float | None = None
    give_up_after: int = 50

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is None and name in ("concurrency", "max_cost"):
                continue
            least = int(name in ("concurrency", "max_requests"))
            is_whole = name not in ("max_outage", "max_cost")
            if type(value) not in (int, int if is_whole else float) or not value >= least:
                kind = "whole number" if is_whole else "number"
                raise JudgeError(f"{name} is a {kind} from {least} on, not {value!r:.80}")


class JudgeSession(AbstractContextManager["JudgeSession"]):
    """A judge for one rubric, how it is asked, and the folder that keeps its answers.

    `repeat` numbers the runs that ask the same; `batches`, `unanswerable` and `asked_before` are
    what batches brought.
    """

    def __init__(
        self,
        rubric: Rubric,
        judge: Judge,
        policy: RequestPolicy,
        folder: Path,
        budget: SpendingLimit | None = None,
        repeat: int = 0,
    ) -> None:
        if judge.prompt is not None:
            rubric = on_scale(rubric, judge.prompt.scale)
            rubric = for_prompt(rubric, judge.prompt.name, judge.version)
        self.rubric, self.judge = rubric, judge
        if judge.runs_inline:  # one at a time, and the same each time
            policy = replace(policy, concurrency=1, reask=0, give_up_after=0)
        self.policy, self.repeat = policy, repeat
        self.batches: Sequence[Mapping[str, object]] = ()
        self.unanswerable: Mapping[str, StudyError] = {}
        self.asked_before = Progress(total=0)
        if budget is None and policy.max_cost is not None:
            from judge.running.cost import SpendingLimit

            budget = SpendingLimit(policy.max_cost)
        self.budget = budget
        self._folder = folder
        self._opened = ExitStack()
        self.begin()

    @classmethod
    def load(
        cls,
        rubric: str,
        judge: str,
        settings: JudgeSettings,
        *,
        policy: RequestPolicy | None = None,
        cache: str | Path | None = None,
        budget: SpendingLimit | None = None,
        repeat: int = 0,
    ) -> Self:
        """Return the session of the judge and the rubric of these names; nothing is asked."""
        chosen = rubrics.load(rubric)
        loaded, folder = backends.load(judge, chosen, settings), Path()
        if not loaded.runs_inline:
            from judge.cache import place

            folder = place(Path(cache) if cache else None, settings.environ)
        return cls(chosen, loaded, policy or RequestPolicy(), folder, budget, repeat)

    @cached_property
    def cache(self) -> CompletionCache | None:
        """The answers that are kept; raises `JudgeError` where the cache cannot be used."""
        if self.judge.runs_inline:
            return None
        # The built-in judge needs neither it nor diskcache.
        from judge.cache.store import CompletionCache

        return self._opened.enter_context(CompletionCache(self._folder))

    def signature(self, studies: StudySet, class_source: str, shard: Shard | None = None) -> str:
        """Return the signature of a run, such as `green:3|judge:lexicon-1+3fa9c1d2|...`."""
        is_untold = self.rubric.takes_context and not studies.judge_context.context
        parts = [
            *self.judged_by(),
            *([f"repeat:{self.repeat}"] if self.repeat else []),
            f"section:{studies.section}",
            *(["context:none"] if is_untold else []),
            *studies.judge_context.signature,
            f"class:{class_source}",
            f"omitted:{sum(studies.omitted.values())}",
            f"studies:{studies_digest(studies)}",
            *([f"shard:{shard}"] if shard else []),
            f"version:{version()}",
        ]
        return str(Signature(parts))

    def judged_by(self) -> list[str]:
        """Return the parts of a signature that say who judged by what, whatever the studies."""
        parts = [*_rubric(self.rubric), f"judge:{self.judge.version}", _prompt(self.judge)]
        if self.judge.runs_inline:
            return parts
        return [*parts, *_asked(self.rubric, self.judge), f"reask:{self.policy.reask}"]

    @cached_property
    def kind(self) -> str:
        """What all questions of this judge with this prompt and sampling have in common."""
        parts = (self.judge.version, _prompt(self.judge), *_asked(self.rubric, self.judge))
        return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]

    @property
    def concurrency(self) -> int:
        """The most requests in flight."""
        return self.policy.concurrency or self.judge.concurrency

    def begin(self, n_studies: int = 0) -> None:
        """Reset the counts and the stop signal for a new run."""
        self.progress, self.stop = Progress(total=n_studies), StopSignal()
        self._asker: CachedClient | None = None

    async def answer(self, question: Question) -> CachedAnswer:
        """Return an answer from the cache or the judge; raises `AskError` without one."""
        if self.cache is None:
            return CachedAnswer(await self.judge.complete(question.request), key=None)
        if self._asker is None:
            from judge.running.cached_client import CachedClient

            self._asker = CachedClient(self, self.cache)
        return await self._asker.answer(question)

    def __exit__(self, *_error: object) -> None:
        self._opened.close()
        vars(self).pop("cache", None)  # the next block opens it anew


def _prompt(judge: Judge) -> str:
    prompts = (f"{prompt.name}@{prompt.version}+{prompt.digest}" for prompt in judge.prompts)
    return f"prompt:{','.join(prompts) or 'none'}"


def _asked(rubric: Rubric, judge: Judge) -> list[str]:
    settings = sorted(judge.sampling.items())
    values = (f"{name}={json.dumps(value, sort_keys=True)}" for name, value in settings)
    sampling = f"sampling:{','.join(values)}"
    if judge.reply == TEXT:
        return [sampling, f"reply:{TEXT}"]
    # Without a choice a reply is in the only form that the rubric reads.
    if rubric.reply_model is None or (judge.reply is None and rubric.structured is not None):
        return [sampling]
    forms = [form for _, form in judge.questions.values() if form] or [rubric.reply_model()]
    written = "".join(json.dumps(form.model_json_schema(), sort_keys=True) for form in forms)
    return [sampling, f"reply:{hashlib.sha256(written.encode()).hexdigest()[:8]}"]


def _rubric(rubric: Rubric) -> list[str]:
    packages = plugins.RUBRICS.packages(rubric.name)
    parts = (f"{_PACKAGE}:{package.replace(' ', '@')}" for package in packages)
    return [f"{rubric.name}:{rubric.version}", *parts]


def with_current_version(line: str, rubric: Rubric) -> Signature:
    """Return the signature `line` with today's rubric and program, for answers read again."""
    _, *judged, _ = Signature.parse(line).without(_PACKAGE).parts
    return Signature([*_rubric(rubric), *judged, f"version:{version()}"])


def empty_note(n: int, of: int) -> list[str]:
    """Return the note about candidates without a text, none where there is no such."""
    note = f"{n} of {of} candidates are empty, and are judged like any other: what they lack counts"
    return [note] if n else []


RUNS = Path("judge-runs")
_SELDOM = ("repeat", "scale", "batches", "shard", "combined", "of_candidates")
# The packages that had a hand in a run; those that run a model on this machine may be missing.
_PACKAGES = (
    *("instructor", "pandas", "pyarrow", "pyyaml"),
    *("vllm", "torch", "transformers", "tokenizers"),
)


@dataclass(frozen=True, slots=True)
class RunResult:
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
    also: Callable[[StudyResult], None] = lambda _judged: None,
    asking: AbstractContextManager[object] | None = None,
) -> RunResult:
    """Judge `studies` and write the run's folder, whole or not at all.

    `out` defaults to a folder below `judge-runs`; `also` is given the end of each question;
    `asking` is entered once folder and fields are checked. Raises `JudgeError` for a folder with
    another run or an unknown field, `RunStoppedError` for a run that was interrupted or ran out of
    money.
    """
    rubric, judge, started = session.rubric, session.judge, now()
    studies, class_source = with_classes(studies)
    whole, several = studies, None
    if references:
        from judge.running.panel import SeveralReferences

        several = SeveralReferences(studies, references)
        studies, rubric = several.asked, several.rubric(rubric)
    line = session.signature(studies, class_source, shard)
    if several:
        line = str(Signature.parse(line).adding(f"references:{references}"))
    path = out or default_folder(session, whole.model, line)
    claim(path, line)
    studies = studies.take(shard.rows(whole)) if shard else studies
    fields = [*whole.fields, *(several.fields if several else ())]
    check_fields(by, TableBuilder(rubric, fields).columns)
    with asking or nullcontext(), writing(path, rubric, fields) as writer:

        def keep(judged: StudyResult) -> None:
            (several or writer).add(judged)
            also(judged)

        progress = judge_set(session, studies, keep, listener or ProgressListener())
        progress.add_spent(session.asked_before)
        progress.from_cache -= session.asked_before.asked
        if judge.log is not None:
            shutil.move(judge.log, writer.staging / SERVER_LOG)
        about: list[str] = []
        judged_pairs = studies
        if several:
            studies, about = whole, several.write(writer, session.rubric)
        recognised = judge.recognised(judged_pairs.references, judged_pairs.candidates)
        n_empty = sum(not candidate.strip() for candidate in studies.candidates)
        made_by: dict[str, Any] = {
            "signature": line,
            "rubric": rubric.name,
            "model": studies.model,
            "judge": {"name": judge.name, "version": judge.version, "note": judge.note},
            "prompt": judge.prompt.name if judge.prompt else None,
            "section": studies.section,
            "class_source": class_source,
            "omitted": dict(studies.omitted),
            "notes": [*studies.notes, *about, *empty_note(n_empty, len(studies))],
        }
        if recognised is not None:
            made_by["recognised"] = recognised
        manifest = {
            "repeat": session.repeat,
            "scale": [*(judge.prompt.scale or ())] if judge.prompt else [],
            "batches": list(session.batches),
            "shard": shard and shard.record(whole, n_empty),
            "combined": several and several.record,
            "of_candidates": sorted(studies.of_candidates),
            "arguments": dict(arguments or {}),
            "inputs": [asdict(file) for file in studies.inputs],
            "fields": fields,
            "read_from": {role: name for role, name in studies.read_from.items() if name},
            "omitted_ids": {why: list(ids) for why, ids in studies.omitted_ids.items()},
            "effort": {**asdict(session.policy), "concurrency": session.concurrency},
            "spent": {k: v for k, v in asdict(progress).items() if k != "trouble"},
            "started": started,
            "finished": now(),
        }
        summary = finish(writer, made_by, manifest, by)
    return RunResult(path, summary, progress)


def now() -> str:
    """Return the time, as in manifests."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def finish(
    writer: RunWriter, made_by: Mapping[str, Any], manifest: Mapping[str, Any], by: Sequence[str]
) -> dict[str, Any]:
    """Write what is said of all studies, and put the run in its place; returns the summary."""
    table = writer.table()
    made_by = {"reply_modes": dict(sorted(writer.reply_modes.items())), **made_by}
    summary = {**made_by, **summarise(table, writer.rubric, by)}
    known = {name: value for name, value in manifest.items() if value or name not in _SELDOM}
    writer.finish(table, summary, {"format": FORMAT, **made_by, **known, "versions": versions()})
    return summary


def write_run(
    path: Path,
    rubric: Rubric,
    ends: Iterable[StudyResult],
    made_by: Mapping[str, Any],
    manifest: Mapping[str, Any],
    by: Sequence[str],
) -> None:
    """Write the run of studies whose ends are known, whole or not at all."""
    with writing(path, rubric, manifest["fields"]) as writer:
        check_fields(by, writer.builder.columns)
        for end in ends:
            writer.add(end)
        finish(writer, made_by, manifest, by)


def with_classes(studies: StudySet) -> tuple[StudySet, str]:
    """Fill in the classes that are not given from the references; returns their source too."""
    inferred = tuple(study_class is None for study_class in studies.study_classes)
    if not any(inferred):
        return studies, studies.class_field or ""
    from judge.backends import lexicon  # loads pydantic, which not every run needs

    rules = lexicon.load()
    classes = [
        lexicon.study_class(report, rules) if given is None and not says_nothing(report) else given
        for given, report in zip(studies.study_classes, studies.full_references, strict=True)
    ]
    source = "+".join(filter(None, (studies.class_field, f"inferred({rules.version})")))
    return replace(studies, study_classes=tuple(classes), class_inferred=inferred), source


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
