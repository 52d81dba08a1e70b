"""Batches that somebody else answers: their questions as files, the answers from files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from judge.backends.errors import UnreadableReplyError
from judge.backends.openai import OpenAIJudge
from judge.batching.collecting import Taken, lines_of, take
from judge.batching.ledger import ELSEWHERE, OPEN, OVER, Batch, Ledger
from judge.batching.making import Files, Limits, check_single, like_of, own_files
from judge.cache import CompletionCache
from judge.running.progress import Prices
from judge.running.questions import Question, asked
from judge.running.session import JudgeSession
from judge.studies import StudySet
from judge.types import JudgeError


def write_files(
    session: JudgeSession, studies: StudySet, file: Path, most: int, say: Callable[[str], None]
) -> list[tuple[Path, Batch]]:
    """Write the questions that have no answer and are in no batch; returns each file's batch.

    The first goes to `file`, the others beside it, at most `most` questions in each. Raises
    `JudgeError` for a judge that is not asked over the chat endpoint, and where a file cannot be
    written.
    """
    judge, cache = session.judge, session.cache
    check_single(session)
    if not isinstance(judge, OpenAIJudge) or cache is None:
        raise JudgeError(
            f"{judge.name} is not asked in a chat, which is all that a batch's file knows: name "
            "a model behind an API, or vllm:MODEL with --reply structured"
        )
    with Ledger(cache.path) as ledger, ledger.making(say), own_files(ledger) as place:
        like = like_of(session, studies, judge, server="", command="")
        prices = Prices(judge.version, None)
        files = Files(ledger, judge, like, Limits(most), prices)
        written: list[tuple[Path, Batch]] = []
        questions = _unasked(session, cache, ledger, studies)
        for batch, path in files.write(questions, place, ELSEWHERE):
            name = f"{file.stem}-{len(written) + 1}{file.suffix}" if written else file.name
            to = file.with_name(name)
            if to.exists():
                ledger.drop(batch.id)
                raise JudgeError(f"cannot write {to}: it exists already")
            try:
                shutil.move(path, to)
            except OSError as error:
                ledger.drop(batch.id)
                raise JudgeError(f"cannot write {to}: {error.strerror}") from error
            written.append((to, batch))
    return written


def _unasked(
    session: JudgeSession, cache: CompletionCache, ledger: Ledger, studies: StudySet
) -> Iterator[Question]:
    for study in studies:
        now = asked(session, cache, study).open
        entry = ledger.entry(now.key) if now else None
        if now is not None and (entry is None or entry.state != OPEN):
            yield now


def read_files(
    ledger: Ledger, files: Sequence[Path], say: Callable[[str], None]
) -> tuple[Taken, list[tuple[Batch, int]]]:
    """Take the answers in `files`; returns what was there and the batches that lack some.

    Raises `JudgeError` for a file that holds something else; the answers before that are kept.
    """
    taken = Taken()
    with CompletionCache(ledger.folder.parent) as cache, ledger.making(say):
        for file in files:
            try:
                take(ledger, cache, lines_of(file), ledger.batches(), taken)
            except (OSError, UnreadableReplyError) as error:
                why = error.strerror if isinstance(error, OSError) else error.detail
                raise JudgeError(f"cannot read {file}: {why}") from error
        left = [(batch, ledger.n_open(batch.id)) for batch in ledger.batches(state=ELSEWHERE)]
        for batch, n in left:
            if not n:
                ledger.end(batch.id, OVER)
    return taken, [(batch, n) for batch, n in left if n]
