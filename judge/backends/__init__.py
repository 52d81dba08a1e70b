"""The judges: who answers. One file, or one folder, a judge.

A judge is made for one rubric and prompt. It says what it would ask about a study
(`request`), which is all that decides the answer, then asks it (`complete`), and says what
it would ask after an answer that could not be read (`again`).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from judge import official
from judge.prompts import Prompt
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, JudgeError, Study, Unparsed

LEXICON = "lexicon"
# What a name begins with before its colon, where it is not a model's name itself.
KINDS = (LEXICON, "vllm", "hf")
TIMEOUT = 120.0
VLLM_TIMEOUT = 3600.0
MAX_TOKENS = 2048


class Judge(Protocol):
    """Who answers.

    `version` names everything of the judge that changes an answer and stands in the
    signature, with `sampling`, the sampling parameters; `prompt` is None for a judge that
    reads none; `note` is what a reader of its
    numbers must be told, or None. A judge that `is_free` answers at once, in this process,
    and needs neither cache nor patience.
    """

    @property
    def name(self) -> str:
        """What the user calls it."""
        ...

    @property
    def version(self) -> str:
        """Its full name, as it stands in the signature."""
        ...

    @property
    def prompt(self) -> Prompt | None:
        """The wording it is asked with."""
        ...

    @property
    def note(self) -> str | None:
        """A warning that goes wherever its name does."""
        ...

    @property
    def sampling(self) -> Mapping[str, object]:
        """The sampling parameters that are asked for."""
        ...

    @property
    def is_free(self) -> bool:
        """Whether it answers at once, in this process."""
        ...

    @property
    def paid_at(self) -> str | None:
        """The address whose answers are paid for; None where they cost nothing."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must be told of the questions asked so far: what was cut from them."""
        ...

    @property
    def log(self) -> Path | None:
        """What a server wrote that was started for this judge; None where none was."""
        ...

    def request(self, study: Study) -> CompletionRequest:
        """Return what the judge is asked about `study`."""
        ...

    async def ready(self) -> None:
        """Return when it can be asked, having started what must be; raises `JudgeError`."""
        ...

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the judge's raw answer; raises `judge.backends.errors.AskError` without one."""
        ...

    def again(
        self, request: CompletionRequest, completion: Completion, unparsed: Unparsed
    ) -> CompletionRequest:
        """Return what to ask after `completion`, an answer to `request` that is `unparsed`.

        The same request, or one that tells the judge what was wrong; decided by the three
        alone, so that a run that goes on finds the answers it already has.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections, and of whatever was started."""
        ...


def _silent(_text: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Settings:
    """What a judge may need besides its name.

    `prompt` is a prompt's name or path, None for the rubric's own; `base_url` is where the
    model is served, several where several servers share the load; `environ` is where keys
    are looked up; `timeout` is in seconds and `max_tokens` bounds one answer; `say` tells
    the user something. `vllm_args` are flags for `vllm serve` and `vllm_timeout` the seconds
    that it may take to start.
    """

    prompt: str | None = None
    base_url: str | Sequence[str] | None = None
    timeout: float = TIMEOUT
    max_tokens: int = MAX_TOKENS
    environ: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = _silent
    vllm_args: Sequence[str] = ()
    vllm_timeout: float = VLLM_TIMEOUT

    @property
    def base_urls(self) -> tuple[str, ...]:
        """The addresses of `base_url`, each once; none where there is none."""
        given = (self.base_url,) if isinstance(self.base_url, str) else self.base_url or ()
        return tuple(dict.fromkeys(url.rstrip("/") for url in given))


def load(spec: str, rubric: Rubric, settings: Settings | None = None) -> Judge:
    """Return the judge that `spec` names, for `rubric`.

    `lexicon` is the built-in judge, `lexicon:FILE` the same with a lexicon of your own;
    `vllm:MODEL` is a model that vLLM serves, started here or running at `base_url`, and
    `hf:MODEL` one in this process; any other name is a model behind an OpenAI-compatible
    server. Raises `JudgeError` for a name that looks like a slip of these, a bad prompt and
    a key that is not set.
    """
    settings = settings or Settings()
    kind, colon, rest = spec.partition(":")
    if settings.vllm_args and kind != "vllm":
        raise JudgeError("--vllm-arg belongs to --judge vllm:MODEL")
    if kind == LEXICON:
        return _lexicon(rubric, Path(rest) if rest else None, settings)
    if kind == "vllm" and colon:
        from judge.backends.vllm.load import load as load_vllm

        return load_vllm(rest, rubric, settings)
    if kind == "hf" and colon:
        return _hf(rest, rubric, settings)
    if not spec.strip() or _is_slip(kind, colon):
        raise JudgeError(
            f"unknown judge {spec!r}; write {LEXICON} for the built-in judge, {LEXICON}:FILE for a "
            "lexicon of your own, vllm:MODEL or hf:MODEL for a model on a machine of yours, or "
            "a model's name such as gpt-4o"
        )
    return _served(spec, rubric, settings)


def _is_slip(kind: str, colon: str) -> bool:
    """Return whether a name is one of ours written wrongly: `lexcion`, `vlm:...`, `vllm`."""
    # Not so close that `llama3:8b`, a model's name, is taken for one.
    kinds = KINDS if colon else (LEXICON,)
    return kind in KINDS or bool(difflib.get_close_matches(kind.lower(), kinds, cutoff=0.7))


def _served(spec: str, rubric: Rubric, settings: Settings) -> Judge:
    from judge.backends.connection import OPENAI_URL, Connection
    from judge.backends.openai import OpenAIJudge
    from judge.backends.pool import Pool

    urls = settings.base_urls or (OPENAI_URL,)
    connections = [Connection(url, settings.timeout) for url in urls]
    try:
        servers = [(connection, connection.key(settings.environ)) for connection in connections]
    except JudgeError as error:
        raise JudgeError(f"judge {spec!r} is a model behind an API: {error}") from error
    return OpenAIJudge(
        spec,
        rubric,
        prompt_for(rubric, settings.prompt or rubric.prompt, settings.environ),
        Pool(servers, spec, settings.say),
        max_tokens=settings.max_tokens,
        say=settings.say,
    )


def _hf(model: str, rubric: Rubric, settings: Settings) -> Judge:
    from judge.backends.hf import HfJudge
    from judge.backends.local.wording import prompt_name

    if settings.base_urls:
        raise JudgeError("--base-url belongs to a model behind an API, not to hf:")
    return HfJudge(
        model,
        prompt_for(rubric, prompt_name(rubric, settings.prompt), settings.environ),
        environ=settings.environ,
        max_tokens=settings.max_tokens,
        say=settings.say,
    )


def prompt_for(rubric: Rubric, name: str, environ: Mapping[str, str]) -> Prompt:
    """Return the prompt of that name or path; raises `JudgeError` if it asks for another rubric."""
    prompt = official.load(name, environ)
    if prompt.rubric != rubric.name:
        raise JudgeError(f"prompt {name!r} is for the rubric {prompt.rubric}, not {rubric.name}")
    return prompt


def _lexicon(rubric: Rubric, path: Path | None, settings: Settings) -> Judge:
    from judge.backends.lexicon.judge import LexiconJudge

    if settings.base_urls:
        raise JudgeError(f"--base-url belongs to a model behind an API, not to {LEXICON}")
    judge = LexiconJudge(rubric, path)
    if settings.prompt:
        prompt_for(rubric, settings.prompt, settings.environ)
        settings.say(f"--prompt has no effect: the judge {judge.name} reads no prompt.")
    return judge
