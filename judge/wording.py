"""Messages in the words of Python, which has keywords where the command line has options.

The messages of `judge` are written for the command line. `annotate` and `run` raise and print them
with the keyword in place of each option; a test holds that every option of judging has one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from judge.types import JudgeError

_OPTIONS = {
    "allow-missing": "allow_missing=True",
    "base-url": "base_url=",
    "batch": "batches (command line only)",
    "batch-poll": "batches (command line only)",
    "batch-size": "batches (command line only)",
    "body": "sampling=",
    "by": "by=",
    "cache": "cache=",
    "column": "columns=",
    "concurrency": "RequestPolicy(concurrency=...)",
    "dry-run": "a dry run (command line only)",
    "encoding": "the encoding",
    "format": "the format",
    "give-up-after": "RequestPolicy(give_up_after=...)",
    "judge": "judge=",
    "limit": "a part of the studies",
    "max-cost": "RequestPolicy(max_cost=...)",
    "max-outage": "RequestPolicy(max_outage=...)",
    "max-tokens": "max_tokens=",
    "min-coverage": "the least coverage",
    "modality": "modality=",
    "model": "model=",
    "no-context": "context_fields=()",
    "out": "out=",
    "prompt": "prompt=",
    "reasoning-effort": "sampling={'reasoning_effort': ...}",
    "reask": "RequestPolicy(reask=...)",
    "references": "several references (command line only)",
    "reply": "reply=",
    "section": "section=",
    "server": "options=",
    "service-tier": "service_tier=",
    "shard": "shard=",
    "table": "the tables (command line only)",
    "temperature": "sampling={'temperature': ...}",
    "timeout": "timeout=",
}
_COLUMN = re.compile(
    r"--column (?P<role>id|candidate|reference|class|patient|prior|context)\b"
)
_COLUMN_OF = re.compile(_COLUMN.pattern + r"=(?P<field>[^\s,;:.)]+)")
_OPTION = re.compile(
    rf"--(?P<name>{'|'.join(sorted(_OPTIONS, key=len, reverse=True))})(?![\w-])"
)

_OF_EXPERIMENT = re.compile(rf"--(?P<name>only|{'|'.join(_OPTIONS)})(?![\w-])")


def for_python(text: str, *, of_experiment: bool = False) -> str:
    """Return a message with keywords of `annotate` and `run` in place of options.

    With `of_experiment` they are those of `experiment`, which has the keys of its file.
    """
    if of_experiment:
        return _OF_EXPERIMENT.sub(
            lambda match: f"{match['name'].replace('-', '_')}=", text
        )
    text = _COLUMN_OF.sub(
        lambda match: f"columns={{'{match['role']}': '{match['field']}'}}", text
    )
    text = _COLUMN.sub(lambda match: f"columns={{'{match['role']}': ...}}", text)
    return _OPTION.sub(lambda match: _OPTIONS[match["name"]], text)


@contextmanager
def in_python(*, of_experiment: bool = False) -> Iterator[None]:
    """Raise the errors of the block or function in the words of Python, as `for_python`."""
    from judge.running.progress import RunStoppedError

    try:
        yield
    except JudgeError as error:
        error.args = (for_python(str(error), of_experiment=of_experiment),)
        raise
    except RunStoppedError as error:
        error.why = for_python(error.why, of_experiment=of_experiment)
        error.args = (error.why,)
        raise
