"""A judge with all that asking it takes, and the line that names all that changes a number."""

from __future__ import annotations

import hashlib
import json
import numbers
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from judge import backends, plugins, rubrics
from judge.backends import Judge, JudgeSettings
from judge.backends.base import Mode, StudyError
from judge.backends.hosted import HostedJudge
from judge.manifest import FORMAT
from judge.plugins import version
from judge.prompts import TEXT
from judge.rubrics import Rubric
from judge.rubrics.derived import for_prompt, on_scale
from judge.rubrics.questions import is_complete
from judge.running.engine import (
    PASSING,
    Interruption,
    Progress,
    ProgressListener,
    Question,
    StopSignal,
    judge_set,
)
from judge.running.folder import SERVER_LOG, RunWriter, claim, writing
from judge.running.records import CachedAnswer, StudyResult
from judge.signature import Signature, safe_name, studies_digest
from judge.stats.summary import DEFAULT_BY, TableBuilder, check_fields, summarise
from judge.studies import StudySet
from judge.studies.study_set import compares, first_ids, prior_report
from judge.text import says_nothing
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.backends.refusals import Refusals
    from judge.cache.store import CompletionCache
    from judge.running.cached_client import CachedClient
    from judge.running.combining import Shard
    from judge.running.cost import SpendingLimit
    from judge.running.panel import Rule
    from judge.running.spending import UnansweredRequests

_PACKAGE = "package"


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How many requests at a time, how often again, and when to give up.

    `concurrency` requests are in flight (None: as the server takes); an unreadable answer is asked
    for `reask` times more; a question takes at most `max_requests`; a server may be gone for
    `max_outage` seconds; judging the studies may cost `max_cost` US dollars in all, with what
    earlier runs of the same questions have cost. It is given up where more than half of the first
    `give_up_after` answers cannot be read (0: never). Raises `JudgeError` for a value that is no
    such number; NumPy's are taken.
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
            # NumPy's numbers too; a manifest has plain ones.
            kinds = numbers.Integral if is_whole else numbers.Real
            is_number = isinstance(value, kinds) and not isinstance(value, bool)
            if not is_number or not value >= least:
                kind = "whole number" if is_whole else "number"
                raise JudgeError(
                    f"{name} is a {kind} from {least} on, not {value!r:.80}"
                )
            plain = int(value) if isinstance(value, numbers.Integral) else float(value)
            object.__setattr__(self, name, plain)


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
        self.spending: UnansweredRequests | None = None
        self._interruption: Interruption | None = None
        self._is_interrupted = False
        if budget is None and policy.max_cost is not None:
            from judge.running.cost import SpendingLimit

            budget = SpendingLimit(policy.max_cost)
        self.budget = budget
        self._counts_earlier = budget is not None and budget.counts_earlier
        self._folder = folder
        self._opened = ExitStack()
        if isinstance(judge, HostedJudge) and judge.refusals.address:
            self._recall_server(judge.refusals)
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

    def _recall_server(self, refusals: Refusals) -> None:
        """Begin with what earlier runs learned of the server, and keep what this one learns."""
        from judge.cache import servers

        name = f"{refusals.address} {refusals.model}"
        refusals.recall(servers.recall(self._folder, name))

        def remember(facts: Mapping[str, object]) -> None:
            servers.remember(self._folder, name, facts)

        refusals.remember = remember

    @cached_property
    def cache(self) -> CompletionCache | None:
        """The answers that are kept; raises `JudgeError` where the cache cannot be used."""
        if self.judge.runs_inline:
            return None
        # The built-in judge needs neither it nor diskcache.
        from judge.cache.store import CompletionCache

        return self._opened.enter_context(CompletionCache(self._folder))

    def signature(
        self,
        studies: StudySet,
        class_source: str,
        shard: Shard | None = None,
        *,
        as_asked: bool = False,
    ) -> str:
        """Return the signature of a run, such as `green:3|judge:lexicon-1+3fa9c1d2|...`.

        It says what is sent, as far as that is known by now; `as_asked`, what was asked for.
        """
        is_untold = self.rubric.takes_context and not studies.judge_context.context
        parts = [
            *self.judged_by(as_asked=as_asked),
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

    def judged_by(self, *, as_asked: bool = False) -> list[str]:
        """Return the parts of a signature that say who judged by what, whatever the studies."""
        parts = [
            *_rubric(self.rubric),
            f"judge:{self.judge.version}",
            _prompt(self.judge),
        ]
        if self.judge.runs_inline:
            return parts
        judge = self.judge
        if as_asked:
            asked = _asked(self.rubric, judge, judge.sampling, None)
        else:
            asked = _asked(self.rubric, judge, judge.sent_sampling, judge.mode)
        return [*parts, *asked, f"reask:{self.policy.reask}"]

    @cached_property
    def kind(self) -> str:
        """What all questions of this judge with this prompt and sampling have in common.

        As in the keys of answers, it is what was asked for, whatever the model refuses of it.
        """
        asked = _asked(self.rubric, self.judge, self.judge.sampling, None)
        return _kind(self.judge.version, _prompt(self.judge), *asked)

    @property
    def concurrency(self) -> int:
        """The most requests in flight."""
        return self.policy.concurrency or self.judge.concurrency

    def begin(self, n_studies: int = 0) -> None:
        """Reset the counts and the stop signal for a new run."""
        self.progress, self.stop = Progress(total=n_studies), StopSignal()
        self._asker: CachedClient | None = None

    @contextmanager
    def interruptible(self, interruption: Interruption) -> Iterator[None]:
        """Let `interrupt` end what is done in the block."""
        self._interruption = interruption
        try:
            if self._is_interrupted:  # before it had begun
                interruption.from_thread()
            yield
        finally:
            self._interruption = None

    def interrupt(self) -> None:
        """End the run of this session within a second; called in another thread."""
        self._is_interrupted = True
        if self._interruption is not None:
            self._interruption.from_thread()

    async def landed(self) -> None:
        """Return when all that was sent has been answered and kept, or has failed."""
        if self._asker is not None:
            await self._asker.landed()

    def count_earlier(self, studies: StudySet) -> None:
        """Count what these studies have cost in earlier commands towards `max_cost`, once."""
        if self.cache is None or not self._counts_earlier:
            return
        from judge.running.cost import count_earlier
        from judge.running.spending import UnansweredRequests

        self._counts_earlier = False
        self.spending = self._opened.enter_context(UnansweredRequests(self.cache.path))
        count_earlier(self, self.cache, studies)

    def find(self, question: Question) -> CachedAnswer | None:
        """Return the answer to a question in the cache, None where it has none.

        A whole answer to the question as an earlier version asked it is one too.
        """
        assert self.cache is not None
        completion = self.cache.find(question.key)
        if completion is not None:
            return CachedAnswer(completion, question.key)
        if not isinstance(self.judge, HostedJudge):
            return None
        earlier = self.judge.as_earlier(question.request)
        if earlier is None:
            return None
        asked = replace(question, request=earlier)
        completion = self.cache.find(asked.key)
        if completion is None or not is_complete(completion):
            return None
        return CachedAnswer(completion, asked.key)

    async def answer(self, question: Question) -> CachedAnswer:
        """Return an answer from the cache or the judge; raises `AskError` without one."""
        if self.cache is None:
            return CachedAnswer(await self.judge.complete(question.request), key=None)
        if self._asker is None:
            from judge.running.cached_client import CachedClient

            self._asker = CachedClient(self, self.cache)
        return await self._asker.answer(question)

    def conclude(self) -> None:
        """Raise `JudgeError` where the server has refused all that it was asked in this run."""
        if self._asker is not None:
            self._asker.refusals.conclude()

    def __exit__(self, *_error: object) -> None:
        self._opened.close()
        self.spending = None
        vars(self).pop("cache", None)  # the next block opens it anew


def _kind(*parts: str) -> str:
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]


def kind_of(signature: str) -> str:
    """Return the `kind` of the questions of a run with this signature.

    It is that of the session that made the run where all was sent that was asked for.
    """
    known = Signature.parse(signature)
    asked = [
        f"{name}:{known[name]}"
        for name in ("prompt", "sampling", "reply")
        if name in known
    ]
    return _kind(known.get("judge", ""), *asked)


def _prompt(judge: Judge) -> str:
    prompts = (
        f"{prompt.name}@{prompt.version}+{prompt.digest}" for prompt in judge.prompts
    )
    return f"prompt:{','.join(prompts) or 'none'}"


def _asked(
    rubric: Rubric, judge: Judge, sampling: Mapping[str, object], mode: Mode | None
) -> list[str]:
    """Return the parts of a signature that say how a judge was asked."""
    values = (
        f"{name}={json.dumps(sampling[name], sort_keys=True)}"
        for name in sorted(sampling)
    )
    parts = [f"sampling:{','.join(values)}"]
    if judge.reply == TEXT:
        return [*parts, f"reply:{TEXT}"]
    plain = [Mode.JSON.value] if mode is Mode.JSON else []  # without the schema's hold
    # Without a choice a reply is in the only form that the rubric reads.
    if rubric.reply_model is None or (
        judge.reply is None and rubric.structured is not None
    ):
        return parts
    forms = [form for _, form in judge.questions.values() if form] or [
        rubric.reply_model()
    ]
    written = "".join(
        json.dumps(form.model_json_schema(), sort_keys=True) for form in forms
    )
    digest = hashlib.sha256(written.encode()).hexdigest()[:8]
    return [*parts, f"reply:{','.join([digest, *plain])}"]


def _rubric(rubric: Rubric) -> list[str]:
    packages = plugins.RUBRICS.packages(rubric.name)
    parts = (f"{_PACKAGE}:{package.replace(' ', '@')}" for package in packages)
    return [f"{rubric.name}:{rubric.version}", *parts]


def with_current_version(line: str, rubric: Rubric) -> Signature:
    """Return the signature `line` with today's rubric and program, for answers read again."""
    _, *judged, _ = Signature.parse(line).without(_PACKAGE).parts
    return Signature([*_rubric(rubric), *judged, f"version:{version()}"])


def input_notes(judge: Judge, studies: StudySet) -> list[str]:
    """Return what a run says of all its studies, whichever part of them it judges."""
    return [*studies.notes, *_empty_note(studies), *_earlier_note(judge, studies)]


def _empty_note(studies: StudySet) -> list[str]:
    """Return the note about candidates without a text, none where there is no such."""
    empty = studies.empty_candidates
    if not empty:
        return []
    some = (
        f"{len(empty):,} of {len(studies):,} candidates are empty ({first_ids(empty)})"
    )
    return [f"{some}, and are judged like any other: what they lack counts"]


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
    compare = "reference compares" if n == 1 else "references compare"
    some = f"{n:,} of {len(studies):,} {compare}"
    return [f"{some} with an earlier examination that the judge is not shown"]


RUNS = Path("judge-runs")
_SELDOM = ("repeat", "scale", "served", "batches", "shard", "combined", "of_candidates")
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
    asked = studies

    def signed(*, as_asked: bool = False) -> str:
        signature = session.signature(asked, class_source, shard, as_asked=as_asked)
        if several:
            return str(Signature.parse(signature).adding(f"references:{references}"))
        return signature

    line = signed()
    path = out or default_folder(session, whole.model, signed(as_asked=True))
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
        about_input = input_notes(judge, whole)
        recognised = judge.recognised(judged_pairs.references, judged_pairs.candidates)
        made_by: dict[str, object] = {
            "signature": signed(),  # by now it is known what the model takes
            "rubric": rubric.name,
            "model": studies.model,
            "judge": {"name": judge.name, "version": judge.version, "note": judge.note},
            "prompt": judge.prompt.name if judge.prompt else None,
            "section": studies.section,
            "class_source": class_source,
            "omitted": dict(studies.omitted),
            "notes": [*about_input, *about],
        }
        if recognised is not None:
            made_by["recognised"] = recognised
        manifest = {
            "repeat": session.repeat,
            "scale": [*(judge.prompt.scale or ())] if judge.prompt else [],
            "served": _served(judge, writer),
            "batches": list(session.batches),
            "shard": shard and shard.record(whole, about_input),
            "combined": several and several.record,
            "of_candidates": sorted(studies.of_candidates),
            "arguments": dict(arguments or {}),
            "inputs": [asdict(file) for file in studies.inputs],
            "fields": fields,
            "read_from": {
                role: name for role, name in studies.read_from.items() if name
            },
            "omitted_ids": {why: list(ids) for why, ids in studies.omitted_ids.items()},
            "effort": {**asdict(session.policy), "concurrency": session.concurrency},
            "spent": {k: v for k, v in asdict(progress).items() if k not in PASSING},
            "started": started,
            "finished": now(),
        }
        summary = finish(writer, made_by, manifest, by)
    return RunResult(path, summary, progress)


def _served(judge: Judge, writer: RunWriter) -> dict[str, object] | None:
    """Return who served a model behind an API, under which names it answered, and when.

    A provider may answer with another version of a model from one month to the next.
    """
    if not isinstance(judge, HostedJudge) or not judge.provider:
        return None
    return {
        "provider": judge.provider,
        "model": judge.served_as,
        "answered_as": dict(sorted(writer.answered_as.items())),
        "answered_between": writer.answered_between,
    }


def now() -> str:
    """Return the time, as in manifests."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def finish(
    writer: RunWriter,
    made_by: Mapping[str, Any],
    manifest: Mapping[str, Any],
    by: Sequence[str],
) -> dict[str, Any]:
    """Write what is said of all studies, and put the run in its place; returns the summary."""
    table = writer.table()
    made_by = {"reply_modes": dict(sorted(writer.reply_modes.items())), **made_by}
    summary = {**made_by, **summarise(table, writer.rubric, by)}
    if writer.failures:
        summary["failures"] = writer.failures
    known = {
        name: value for name, value in manifest.items() if value or name not in _SELDOM
    }
    writer.finish(
        table, summary, {"format": FORMAT, **made_by, **known, "versions": versions()}
    )
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
