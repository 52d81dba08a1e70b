"""What a refusal is about: how judge asks, or one study. What was accepted decides, not words.

Providers word the same refusal in a hundred ways. Whether the same server has accepted another
request in the same form says more: then the form is right, and the refusal is about this study.
Until then it is about the form, the model or the key. `verdict` is that table; `Refusals` keeps
what it looks at, for one server and model, for direct requests and for batches.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from types import MappingProxyType

from judge.backends.base import AskError, Mode, RefusedError, StudyError, TransientError
from judge.backends.connection import FORM_KEY
from judge.types import JudgeError

SYSTEM = "system"
"""What a server may refuse besides parameters: a turn of the system."""
REFUSED = "refused by the server"
"""The reason of a study that a server refuses while it answers others."""
IN_A_ROW, OF_LAST, LAST = 10, 25, 50
"""The run stops after so many refused studies in a row, or more than so many of the last."""
ENOUGH = 3
"""So many different studies, all refused in one form that was never accepted, decide."""
_CACHED_A_REFUSAL = 20
NO_COMPLETIONS = 10
"""The run stops after so many replies in a row that are no completion."""


@dataclass(frozen=True, slots=True)
class RequestForm:
    """How requests are put: the same for all studies.

    `changed` are parameters that are not sent, each with what is sent instead, "" for nothing;
    `room` is the longest answer in tokens where the server has less than judge would give.
    """

    mode: Mode | None = None
    changed: tuple[tuple[str, str], ...] = ()
    room: int | None = None

    def without(self, name: str, instead: str = "") -> RequestForm:
        """Return the form in which the parameter `name` is not sent, but perhaps another."""
        changed = {**dict(self.changed), name: instead}
        return replace(self, changed=tuple(sorted(changed.items())))


class Accepted(Enum):
    """Where an answer in a form was accepted; a larger value says more."""

    NEVER = 0
    # An answer is in the cache, in the same mode; an older version did not say from which server.
    PERHAPS = 1
    BEFORE = 2  # by the same server, in an earlier run
    NOW = 3  # in this run


class Verdict(StrEnum):
    """What to do about a refused request."""

    ADAPT = (
        "adapt"  # ask without the parameter that the server names, or in another mode
    )
    AGAIN = "again"  # ask the same once more: the fault may pass
    WAIT = "wait"  # others are under way in the same form: they decide
    STUDY = "study"  # the study has failed
    ASIDE = (
        "aside"  # it has failed unless no study at all is answered: then the run stops
    )
    STOP = "stop"  # the run stops


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a verdict looks at.

    Attributes:
        status: The reply's HTTP status.
        accepted: Whether an answer in the same form was accepted.
        is_named: Whether the server names a parameter that can be left out, moved or made smaller.
        is_last_mode: Whether there is no other mode to ask in.
        is_again: Whether this study was refused in the same form before.
        others_under_way: Whether requests about other studies are unanswered in this form.
        n_refused: How many different studies were refused in this form, this one among them.
        is_too_long: Whether the request is too long for the model.
    """

    status: int
    accepted: Accepted
    is_named: bool = False
    is_last_mode: bool = True
    is_again: bool = False
    others_under_way: bool = False
    n_refused: int = 1
    is_too_long: bool = False


_KEY, _RIGHTS, _MODEL = 401, 403, 404


def verdict(seen: Evidence) -> Verdict:
    """Return what to do about a refusal.

    | answers were accepted | in this run | before, or perhaps | never |
    |---|---|---|---|
    | too long | study | study | adapt, wait, study, stop after three |
    | a parameter is named | once more, study | once more, adapt | adapt |
    | 401, 404 | once more, study | stop | stop |
    | 403 | once more, study | once more, study | wait, once more, aside, stop after three |
    | any other | once more, study | once more, study | wait, once more, other mode, aside, stop |

    A key and a model may be others than they were in an earlier run. What was accepted by a server
    that is not known stands until three different studies were refused.
    """
    is_known = seen.accepted is Accepted.NOW
    is_like_before = seen.status not in (_KEY, _MODEL)
    if seen.accepted is Accepted.BEFORE or (
        seen.accepted is Accepted.PERHAPS and seen.n_refused < ENOUGH
    ):
        is_known = is_like_before
    if seen.is_too_long:
        return _too_long(seen, is_known=is_known)
    if is_known:
        if not seen.is_again:
            return Verdict.AGAIN
        is_adaptable = seen.is_named and seen.accepted is not Accepted.NOW
        return Verdict.ADAPT if is_adaptable else Verdict.STUDY
    if seen.is_named:
        return Verdict.ADAPT
    if seen.status in (_KEY, _MODEL):
        return Verdict.STOP
    if seen.others_under_way:
        return Verdict.WAIT
    is_mode_left = not seen.is_last_mode and seen.status != _RIGHTS
    if seen.n_refused < ENOUGH and not seen.is_again:
        return Verdict.AGAIN
    if is_mode_left:
        return Verdict.ADAPT
    return Verdict.ASIDE if seen.n_refused < ENOUGH else Verdict.STOP


def _too_long(seen: Evidence, *, is_known: bool) -> Verdict:
    if is_known:
        return Verdict.STUDY
    if seen.is_named:
        return Verdict.ADAPT
    if seen.others_under_way:
        return Verdict.WAIT
    return Verdict.STUDY if seen.n_refused < ENOUGH else Verdict.STOP


# What a server names


_NAMES: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "temperature": re.compile(r"\btemperature\b"),
        "top_p": re.compile(r"\btop[_ -]?p\b|\bnucleus\b"),
        "top_k": re.compile(r"\btop[_ -]?k\b"),
        "max_completion_tokens": re.compile(r"\bmax[_ -]?completion[_ -]?tokens\b"),
        "max_tokens": re.compile(r"\bmax[_ -]?(?:output[_ -]?|new[_ -]?)?tokens\b"),
        "seed": re.compile(r"\bseed\b"),
        "reasoning_effort": re.compile(
            r"\breasoning[_ .]?effort\b|\beffort\b|\bthinking (?:level|budget)\b"
        ),
        "frequency_penalty": re.compile(r"\bfrequency[_ ]penalty\b"),
        "presence_penalty": re.compile(r"\bpresence[_ ]penalty\b"),
        SYSTEM: re.compile(
            r"\b(?:system|developer)\b[`'\" ]*(?:role|message|prompt|instruction|turn)"
            r"|\brole[s]?\b[^.]{0,40}\b(?:system|developer)\b"
            r"|\bonly\b[^.]{0,30}\buser\b[^.]{0,20}\bassistant\b[^.]{0,20}\broles?\b"
            r"|\broles? must alternate\b"
        ),
        FORM_KEY: re.compile(
            r"\bresponse[_ ]?format\b|\bjson[_ ]?(?:schema|mode|object)\b"
            r"|\bstructured[_ ](?:output|response|generation)|\bguided[_ ](?:json|decoding)"
            r"|\boutput_config\b|\b(?:x?grammar|outlines)\b|\binvalid schema\b"
        ),
    }
)
_ROLE = re.compile(r"^messages\b.*\brole\b")


def named_in(sent: Collection[str], words: str, param: str = "") -> str | None:
    """Return which of the parameters `sent` a refusal names, None where it names none.

    `param` is what the server gives as the parameter, such as `body.temperature`, `words` its
    sentence. A turn of the system counts as `system`, a reply's form as `response_format`.
    """
    if _ROLE.match(param) and SYSTEM in sent:
        return SYSTEM
    parts = re.split(r"[.\[\]/]+", param.strip("/"))
    for part in parts:
        if part in sent:
            return part
    text = words.lower()
    for name in sent:  # as it stands in the request
        if re.search(rf"[`'\"]{re.escape(name.lower())}[`'\"]", text):
            return name
    found = [
        name
        for name, pattern in _NAMES.items()
        if name in sent and pattern.search(text)
    ]
    if found:
        return found[0]
    others = (name for name in sent if name not in _NAMES and len(name) > 3)
    return next(
        (name for name in others if re.search(rf"\b{re.escape(name)}\b", text)), None
    )


_NUMBER = r"([0-9][0-9,_]*)"
# The longest answer that there may be.
_MOST_OUT = (
    re.compile(rf"supports at most {_NUMBER} (?:completion|output)? ?tokens", re.I),
    re.compile(
        rf"{_NUMBER},? which is the maximum allowed number of output tokens", re.I
    ),
    re.compile(rf"`?max_new_tokens`? must be <= {_NUMBER}", re.I),
    re.compile(
        rf"max(?:imum)?[ _](?:completion|output)[ _]tokens?\b[^0-9]{{0,40}}{_NUMBER}",
        re.I,
    ),
    re.compile(
        rf"max_tokens[`'\"]?[^.]{{0,60}}(?:less than or equal to|<=|at most) {_NUMBER}",
        re.I,
    ),
)
# How long question and answer may be together.
_CONTEXT = (
    re.compile(
        rf"(?:context|model|allowed|total)[ _](?:length|size|window|len)\b[^0-9]{{0,30}}{_NUMBER}",
        re.I,
    ),
    re.compile(rf"`inputs` tokens \+ `max_new_tokens` must be <= {_NUMBER}", re.I),
)
_PROMPT = (
    re.compile(rf"{_NUMBER} (?:input|prompt) tokens", re.I),
    re.compile(
        rf"{_NUMBER} (?:tokens )?(?:in|from) the (?:input |prompt )?(?:messages|prompt)",
        re.I,
    ),
    re.compile(rf"Given: {_NUMBER} `inputs` tokens", re.I),
)


def names_longest(words: str) -> bool:
    """Whether a refusal is about the longest answer that may be asked for."""
    return _first(_MOST_OUT, words) is not None


def room_of(words: str, limit: int, context: int | None = None) -> int | None:
    """Return how many tokens an answer may have by what a refusal of `limit` tokens says.

    None where it is silent. Of a context it is the half, so that it is the same for all studies;
    less where the question, if its tokens are said, leaves less.
    """
    if (most := _first(_MOST_OUT, words, limit)) is not None:
        return most
    whole = context or _first(_CONTEXT, words)
    if whole is None:
        return None
    room = whole // 2
    if (prompt := _first(_PROMPT, words)) is not None and prompt < whole:
        room = min(room, (whole - prompt) * 3 // 4)
    return room or None


def _first(
    patterns: Collection[re.Pattern[str]], words: str, below: float = float("inf")
) -> int | None:
    for pattern in patterns:
        for match in pattern.finditer(words):
            number = int(re.sub("[,_]", "", match[1]))
            if number < below:  # else it is what was asked for
                return number
    return None


# What is kept of one server and model


class AdaptedError(TransientError):
    """The form was changed: the same question is asked in the new one, at once."""


class OnceMoreError(TransientError):
    """The same request is sent once more."""


Remember = Callable[[Mapping[str, object]], None]


@dataclass(slots=True, kw_only=True)
class Refusals:
    """What one server, or several that serve one model, refused and accepted in a run.

    Attributes:
        model: The model, as messages name it.
        address: The server, as messages name it; "" for one that judge started.
        key_name: The variable that the server's key is read from.
        form: How requests are put now.
        replacements: What takes the place of a refused parameter; others are left out.
        asked: The parameters that the user set: these are not left out, the run stops.
        schema: What tells the forms of replies apart.
        limit: The longest answer that judge asks for by itself; None where the user said it.
        say: Tells the user something.
        suggest: Returns a sentence about a model of nearly the same name.
        remember: Keeps `facts` for later runs.
    """

    model: str = ""
    address: str = ""
    key_name: str = "OPENAI_API_KEY"
    form: RequestForm = RequestForm()
    schema: str = ""
    replacements: Mapping[str, str] = field(default_factory=dict)
    asked: Collection[str] = ()
    limit: int | None = None
    say: Callable[[str], None] = lambda _text: None
    suggest: Callable[[], str] = lambda: ""
    remember: Remember = lambda _facts: None
    _accepted: dict[RequestForm, Accepted] = field(default_factory=dict)
    _n_cached: int = 0
    _in_cache: set[Mode | None] = field(default_factory=set)
    _under_way: Counter[RequestForm] = field(default_factory=Counter)
    _refused: dict[RequestForm, dict[str, int]] = field(default_factory=dict)
    _ends: deque[tuple[str, bool]] = field(default_factory=lambda: deque(maxlen=LAST))
    _aside: str = ""
    _no_completions: int = 0
    _first_mode: Mode | None = None

    # What happens

    def begin(self, form: RequestForm) -> None:
        """Note that a request goes out."""
        self._under_way[form] += 1

    def end(self, form: RequestForm) -> None:
        """Note that a request has its reply, or never will."""
        self._under_way[form] -= 1

    def accept(self, form: RequestForm) -> None:
        """Note an answer to a request in this form."""
        self._no_completions = 0
        if self._accepted.get(form) is not Accepted.NOW:
            self._accepted[form] = Accepted.NOW
            self._tell()

    def answered(self, study: str) -> None:
        """Note that a question about a study has its answer."""
        self._ends.append((study, False))

    def note_cached(self, mode: Mode | None) -> None:
        """Note that the cache has an answer of this model in this mode, from whatever server."""
        self._in_cache.add(mode)
        self._n_cached += 1

    def accepted(self, form: RequestForm) -> Accepted:
        """Return where an answer in this form was accepted."""
        known = self._accepted.get(form, Accepted.NEVER)
        if known is Accepted.NEVER and form.mode in self._in_cache and not form.changed:
            return Accepted.PERHAPS
        return known

    def no_completion(self, error: AskError) -> JudgeError | None:
        """Note a reply that is no completion; returns the end of the run after ten in a row."""
        self._no_completions += 1
        if self._no_completions < NO_COMPLETIONS:
            return None
        url = self.address or "the server"
        return JudgeError(
            f"{NO_COMPLETIONS} replies of {url} in a row were no completion ({error.detail}): is "
            f"it the address of an API? Check --base-url{version_hint(url)}"
        )

    def refuse(
        self,
        error: RefusedError,
        form: RequestForm,
        study: str,
        *,
        is_in_order: bool = True,
    ) -> Exception | None:
        """Return what a refusal of a study's request in `form` means; None to wait and ask again.

        `AdaptedError` and `OnceMoreError` ask again, a `StudyError` fails the study, a
        `JudgeError` stops the run. Refusals of a batch are in no order (`is_in_order`), so that
        nothing follows from many in a row.
        """
        self._no_completions = 0
        if form != self.form:  # another request came first
            return AdaptedError("asked in another form")
        refused = self._refused.setdefault(form, {})
        room = self._room(error)
        name = self._name(error)
        seen = Evidence(
            status=error.status,
            accepted=self.accepted(form),
            is_named=room is not None if error.is_too_long else name is not None,
            is_last_mode=form.mode is not Mode.JSON_SCHEMA,
            is_again=refused.get(study, 0) > 0,
            others_under_way=self._under_way[form] > 0,
            n_refused=len({*refused, study}),
            is_too_long=error.is_too_long,
        )
        what = verdict(seen)
        if what is Verdict.WAIT:
            return None
        refused[study] = refused.get(study, 0) + 1
        match what:
            case Verdict.ADAPT:
                return self._adapt(error, name, room)
            case Verdict.AGAIN:
                return OnceMoreError(REFUSED, error.detail)
            case Verdict.STOP:
                return self.stop(error)
            case Verdict.ASIDE:
                self._aside = error.detail
                self.form = replace(self.form, mode=self._first_mode or self.form.mode)
                return StudyError(REFUSED, error.detail)
        return self._fail(error, study, is_in_order=is_in_order)

    def conclude(self) -> None:
        """Raise `JudgeError` where studies were refused and none at all was answered."""
        is_answered = any(known is Accepted.NOW for known in self._accepted.values())
        if self._aside and not is_answered and not self._in_cache:
            raise JudgeError(self._refusal(self._aside))

    # What follows

    def _name(self, error: RefusedError) -> str | None:
        name = error.named
        if name == FORM_KEY:
            return name if self.form.mode is Mode.JSON_SCHEMA else None
        return None if name in dict(self.form.changed) else name

    def _room(self, error: RefusedError) -> int | None:
        if self.limit is None or self.form.room is not None:
            return None
        room = room_of(error.detail, self.limit, error.context)
        return room if room is not None and room < self.limit else None

    def _adapt(
        self, error: RefusedError, name: str | None, room: int | None
    ) -> Exception:
        said = f"({error.detail})" if error.detail else f"(status {error.status})"
        if error.is_too_long and room is not None:
            self.form = replace(self.form, room=room)
            self.say(
                f"The server has no room for answers of {self.limit:,} tokens {said}: asking for "
                f"at most {room:,}. --max-tokens sets another number."
            )
        elif name is None or name == FORM_KEY:
            self._first_mode = self.form.mode
            self.form = replace(self.form, mode=Mode.JSON)
            self.say(
                f"The model {self.model} refuses a JSON schema {said}; asking for plain JSON."
            )
        elif name in self.asked:
            return JudgeError(
                f"the model {self.model} refuses {name} {said}; ask without it, or --body "
                f"{name}=null where judge sets it by itself"
                if name == "temperature"
                else f"the model {self.model} refuses {name} {said}; ask without it"
            )
        else:
            instead = self.replacements.get(name, "")
            if instead in dict(self.form.changed):
                instead = ""
            self.form = self.form.without(name, instead)
            way = f"sending {instead}" if instead else "leaving it out"
            if name == SYSTEM:
                way = "putting it into the user's first turn"
            self.say(
                f"The model {self.model} refuses {_LABELS.get(name, name)} {said}; {way}."
            )
        self._tell()
        return AdaptedError("asked in another form")

    def _fail(self, error: RefusedError, study: str, *, is_in_order: bool) -> Exception:
        if error.is_too_long:
            return StudyError("too long", error.detail)
        if not is_in_order:
            return StudyError(REFUSED, error.detail)
        if (study, True) not in self._ends:
            self._ends.append((study, True))
        n_refused = sum(is_refused for _, is_refused in self._ends)
        in_a_row = 0
        for _, is_refused in reversed(self._ends):
            if not is_refused:
                break
            in_a_row += 1
        is_many = in_a_row >= IN_A_ROW or (
            len(self._ends) == LAST and n_refused > OF_LAST
        )
        # A run that finds all but a few answers in the cache asks the refused studies alone.
        if is_many and n_refused >= min(self._n_cached // _CACHED_A_REFUSAL, LAST):
            return self.stop(error)
        return StudyError(REFUSED, error.detail)

    def stop(self, error: RefusedError) -> JudgeError:
        """Return the end of the run, with the server's sentence."""
        return JudgeError(
            self._refusal(error.detail, error.status, is_too_long=error.is_too_long)
        )

    def _refusal(
        self, detail: str, status: int = 400, *, is_too_long: bool = False
    ) -> str:
        url = self.address or "the server"
        words = f"({status}: {detail})"
        if is_too_long:
            return (
                f"{url} has no room for the questions with answers of this length {words}; lower "
                "--max-tokens, or give the server a longer context"
            )
        if status in (_KEY, _RIGHTS):
            return f"{url} refuses the key or the request {words}; check the key in {self.key_name}"
        if status == _MODEL:
            hint = version_hint(url)
            near = self.suggest()
            return (
                f"{url} does not have the model {words}; check --judge and --base-url{hint}"
                f"{'.' if near else ''}{near}"
            )
        return f"{url} refuses the request {words}; what was answered is in the cache"

    # Over runs

    def _tell(self) -> None:
        self.remember(self.facts())

    def _place(self, mode: Mode | None) -> str:
        """Return what is accepted: a mode, and for which schema."""
        return f"{mode.value}+{self.schema}" if mode else "text"

    def facts(self) -> dict[str, object]:
        """Return what later runs need to know, as JSON's values."""
        modes = set()
        for form, where in self._accepted.items():
            is_same = (form.changed, form.room) == (self.form.changed, self.form.room)
            if is_same and where in (Accepted.BEFORE, Accepted.NOW):
                modes.add(self._place(form.mode))
        return {
            "changed": [[*pair] for pair in self.form.changed],
            "room": self.form.room,
            "modes": sorted(modes),
        }

    def recall(self, facts: Mapping[str, object]) -> None:
        """Take over what an earlier run learned; anything odd in it is ignored."""
        changed, room, modes = (
            facts.get(name) for name in ("changed", "room", "modes")
        )
        if not isinstance(changed, list) or not isinstance(modes, list):
            return
        form = self.form
        if type(room) is int and self.limit is not None:
            form = replace(form, room=room)
        for pair in changed:
            match pair:
                case [str(name), str(instead)] if name not in self.asked:
                    form = form.without(name, instead)
        is_refused = (
            form.mode is Mode.JSON_SCHEMA and self._place(form.mode) not in modes
        )
        if is_refused and self._place(Mode.JSON) in modes:
            form = replace(form, mode=Mode.JSON)
        self.form = form
        if self._place(form.mode) in modes:
            self._accepted[form] = Accepted.BEFORE


_LABELS = {SYSTEM: "a turn of the system", FORM_KEY: "a JSON schema"}


def version_hint(url: str) -> str:
    """Return a clause that says how most addresses end, "" where this one does."""
    path = url.partition("://")[2].partition("/")[2].strip("/")
    if not url.startswith("http") or re.search(r"(?:^|/)v[0-9]+\w*$", path):
        return ""
    return f", which for most servers ends with /v1: {url.rstrip('/')}/v1"
