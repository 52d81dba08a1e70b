"""Judges that packages add: what goes wrong in them is one message that names the package.

A judge of a package that raises, exits or returns something else than it says neither ends the
program nor becomes a number.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from judge.backends.base import AskError, Judge, RefusedError
from judge.plugins import BACKENDS
from judge.types import Completion, CompletionRequest, JudgeError, Usage

# Errors that mean what they mean everywhere.
_OURS = (AskError, RefusedError, JudgeError, MemoryError)
_Method: TypeAlias = Callable[..., Any]


def guarded(kind: str, judge: Judge) -> Judge:
    """Return the judge that a package added as `kind`, its methods held to what they promise."""
    for name in ("name", "version"):
        value = getattr(judge, name, None)
        if not isinstance(value, str) or not value:
            raise BACKENDS.error(
                kind, f"gives a Judge whose {name} is no text but {value!r:.80}"
            )
    if not isinstance(judge.sampling, Mapping):
        raise BACKENDS.error(
            kind, f"gives a Judge whose sampling is {judge.sampling!r:.80}"
        )
    # In the object itself, since its class is the package's.
    vars(judge).update(
        request=_checked(kind, "request", judge.request, _is_request),
        request_step=_checked(kind, "request_step", judge.request_step, _is_request),
        repair_request=_checked(
            kind, "repair_request", judge.repair_request, _is_repair
        ),
        complete=_awaited(kind, "complete", judge.complete, _is_completion),
        ready=_awaited(kind, "ready", judge.ready, _is_anything),
        aclose=_awaited(kind, "aclose", judge.aclose, _is_anything),
    )
    return judge


def _checked(
    kind: str, name: str, method: _Method, is_right: Callable[[Any], bool]
) -> _Method:
    def work(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        try:
            value = method(*args, **kwargs)
        except _OURS:
            raise
        except (Exception, SystemExit) as error:
            raise _failed(kind, name, error) from error
        return _held(kind, name, value, is_right)

    return work


def _awaited(
    kind: str,
    name: str,
    method: Callable[..., Awaitable[Any]],
    is_right: Callable[[Any], bool],
) -> _Method:
    async def work(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        try:
            value = await method(*args, **kwargs)
        except _OURS:
            raise
        except (Exception, SystemExit) as error:
            raise _failed(kind, name, error) from error
        return _held(kind, name, value, is_right)

    return work


def _failed(kind: str, name: str, error: BaseException) -> JudgeError:
    words = " ".join(str(error).split())[:300]
    return BACKENDS.error(
        kind, f"failed in {name}: {type(error).__name__}: {words}".rstrip(": ")
    )


def _held(kind: str, name: str, value: Any, is_right: Callable[[Any], bool]) -> Any:  # noqa: ANN401
    if not is_right(value):
        raise BACKENDS.error(
            kind, f"returns {value!r:.80} from {name}, which is no such value"
        )
    return value


def _is_anything(_value: object) -> bool:
    return True


def _is_request(value: object) -> bool:
    return isinstance(value, CompletionRequest)


def _is_repair(value: object) -> bool:
    return value is None or isinstance(value, CompletionRequest)


def _is_completion(value: object) -> bool:
    """Whether it is an answer that the cache can keep and read again."""
    if not isinstance(value, Completion):
        return False
    texts = (value.text, value.finish_reason, value.model)
    optional = (value.created, value.mode)
    return (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(text, str | None) for text in optional)
        and isinstance(value.usage, Usage | None)
    )
