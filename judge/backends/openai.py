"""Judges behind an API that speaks OpenAI's chat completions: OpenAI, Azure, vLLM, ..."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

from judge.backends import options, structured
from judge.backends.base import Form, Judge, JudgeSettings, RefusedError
from judge.backends.servers import CHAT, NO_KEY, OPENAI_URL, Connection, Pool, Servers
from judge.backends.structured import LABELS, NEXT, Mode, Structured
from judge.prompts import STRUCTURED, Prompt
from judge.rubrics import Rubric
from judge.rubrics.derived import on_scale
from judge.rubrics.questions import Step
from judge.types import Completion, CompletionRequest, JudgeError, Study, Unparsed

if TYPE_CHECKING:
    from pydantic import BaseModel

# Where a model refuses a parameter, its replacement if there is one; others are left out.
_REPLACEMENTS = {"max_tokens": "max_completion_tokens"}


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge for a model behind an API."""
    named = settings.environ.get("OPENAI_BASE_URL", "").strip().rstrip("/")
    urls = settings.base_urls or (named or OPENAI_URL,)
    connections = [Connection(url, settings.timeout) for url in urls]
    if named and not settings.base_urls:
        settings.say(f"The server is the one that OPENAI_BASE_URL names: {named}")
    sends, environ = settings.sends, settings.environ
    places = [(place, place.key(environ) if sends else NO_KEY) for place in connections]
    prompt, reply = options.prompt_and_reply(rubric, model, settings)
    return OpenAIJudge(
        name=model,
        version=model,
        served_as=model,
        rubric=rubric,
        prompt=prompt,
        reply=reply,
        servers=Pool(places, model, settings.say, sends=sends),
        max_tokens=options.max_tokens(model, settings),
        asked=settings.sampling,
        say=settings.say,
    )


@dataclass(eq=False, repr=False, kw_only=True)
class OpenAIJudge(Judge):
    """A model behind an OpenAI-compatible server, which knows it by `served_as`.

    `asked` are the user's sampling parameters, `mode` is the first that the server accepts.
    """

    name: str
    version: str
    served_as: str
    rubric: InitVar[Rubric]
    prompt: Prompt
    reply: str
    servers: Servers
    max_tokens: InitVar[int]
    asked: Mapping[str, object]
    say: Callable[[str], None]
    mode: Mode | None = field(init=False, default=None)
    _is_mode_taken: bool = field(init=False, default=False)
    _refused: set[str] = field(init=False, default_factory=set)
    _forms: dict[type[BaseModel], Structured] = field(init=False, default_factory=dict)
    _form: Structured | None = field(init=False, default=None)

    def __post_init__(self, rubric: Rubric, max_tokens: int) -> None:
        form = on_scale(rubric, self.prompt.scale).reply_model if self.reply == STRUCTURED else None
        if form:
            self._form, self.mode = self._formed(form()), Mode.JSON_SCHEMA
        self.sampling = {"temperature": 0, "max_tokens": max_tokens, **self.asked}
        self.billing_url = self.servers.billing_url

    def request(self, study: Study) -> CompletionRequest:
        """Return the prompt's turns around the study's reports."""
        return self._request(self.prompt, self._form, study)

    def request_step(self, step: Step) -> CompletionRequest:
        """Return the turns of the step's question around its texts."""
        prompt, form = self.questions[step.asks]
        return self._request(prompt, self._formed(form), step.study)

    def _request(self, prompt: Prompt, form: Structured | None, study: Study) -> CompletionRequest:
        schema = form.schema if form else None
        return CompletionRequest("chat", self.version, prompt.about(study), self.sampling, schema)

    def _formed(self, form: Form) -> Structured | None:
        if form and form not in self._forms:
            self._forms[form] = Structured(form)
        return self._forms[form] if form else None

    async def complete(self, request: CompletionRequest) -> Completion:
        """Ask the server once, and again where it refuses a part of how it was asked."""
        while True:
            try:
                completion = await self.servers.ask(self.body(request), CHAT, self.mode)
            except RefusedError as error:
                self.leave_out(error.what, error.detail)
            else:
                self._is_mode_taken = True
                return completion

    def body(self, request: CompletionRequest) -> dict[str, Any]:
        """Return what is sent for `request`, without all that the model is known to refuse."""
        forms = (form for form in self._forms.values() if form.schema == request.schema)
        form = next(forms, None)
        if form and self.mode:
            turns = form.body(self.mode, request.messages)
        else:
            turns = {"messages": structured.messages_of(request.messages)}
        refused = self._refused
        named = {
            _REPLACEMENTS.get(name, name) if name in refused else name: value
            for name, value in request.sampling.items()
        }
        sampling = {name: value for name, value in named.items() if name not in refused}
        return {"model": self.served_as, **turns, **sampling}

    def leave_out(self, refused: str | Mode, detail: str = "") -> None:
        """Leave out a refused parameter, or use the next mode.

        Raises `JudgeError` where none is left.
        """
        if isinstance(refused, Mode):
            if self.mode is not refused:  # another request came first
                return
            if self._is_mode_taken or refused not in NEXT:
                raise JudgeError(f"the model {self.version} refuses the request: {detail}")
            self.mode = NEXT[refused]
            refused_label, instead = LABELS[refused], f"asking for {LABELS[self.mode]}"
        elif refused in self.asked:
            raise JudgeError(f"the model {self.version} refuses {refused}; ask without it")
        elif refused in self._refused:
            return
        else:
            self._refused.add(refused)
            replacement = _REPLACEMENTS.get(refused)
            refused_label = refused
            instead = f"sending {replacement} instead" if replacement else "leaving it out"
        self.say(f"The model {self.version} refuses {refused_label}; {instead}.")

    @property
    def tool(self) -> str | None:
        """The tool that a reply calls in today's mode, None where it calls none."""
        return self._form.tool if self._form and self.mode is Mode.TOOLS else None

    def repair_request(
        self, request: CompletionRequest, completion: Completion, unparsed: Unparsed
    ) -> CompletionRequest:
        """Return the conversation with that answer and what was wrong with it."""
        return structured.repair_request(request, completion.text, unparsed)
