"""The prompts of the rubrics' authors: their text is not ours, so it is fetched, like weights.

Each is read from its authors' published source without running it, accepted only if it is
the text that is known, and kept in the user's configuration folder.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.machinery import PathFinder
from pathlib import Path, PurePosixPath

import yaml

from judge import prompts
from judge.distribution import install
from judge.official.reading import Turns, literals, parsed, prompts_in, value_of
from judge.prompts import CHAT, GREEN, TEXT, Prompt
from judge.types import JudgeError, Message

HOST = "https://raw.githubusercontent.com"
"""Where the files of a public repository are had one by one."""

_TIMEOUT = 30.0

_IN_CONTEXT = "user in context"
"""The role of the question that is asked where something is known of the patient."""


@dataclass(frozen=True, slots=True)
class Official:
    """One official prompt.

    `sources` has the sha256 of each file of the authors' repository, by its path there. `function`,
    in the last of them, puts the prompt together: in an f-string or in the `messages` of a call.
    `reports` gives for its name of each report that of `judge.prompts`. `sha256` is of the turns
    (see `digest`). `installed` is an installed package that holds the function too, and the path in
    it.

    A prompt without a `function` is put together of `parts`, each the name of a text in the
    sources, or text itself. Those in `in_context` are left out where nothing is known of the
    patient. `models` is a pattern of the names of models which know this wording alone.
    """

    name: str
    rubric: str
    repository: str
    commit: str
    sources: Mapping[str, str]
    function: str
    reports: Mapping[str, str]
    sha256: str
    words: int | None = None
    layout: str = CHAT
    installed: tuple[str, str] | None = None
    models: str | None = None
    parts: tuple[str, ...] = ()
    in_context: frozenset[str] = frozenset()
    system: str = ""
    reply: str | None = None

    def read(self, sources: Mapping[str, str]) -> Prompt:
        """Return the prompt that stands in `sources`, given by path; nothing of them is run."""
        turns = self.turns(sources)
        if digest(turns) != self.sha256:
            raise JudgeError(f"{', '.join(sources)} holds another prompt than {self.name}")
        return self.build(turns)

    def turns(self, sources: Mapping[str, str]) -> Turns:
        """Return the turns in `sources`, whatever their text."""
        trees = [parsed(source, path) for path, source in sources.items()]
        if self.parts:
            return self._assembled(literals(trees), ", ".join(sources))
        found = [
            value_of(node, literals(trees), self.reports)
            for function in ast.walk(trees[-1])
            if isinstance(function, ast.FunctionDef) and function.name == self.function
            for node in prompts_in(function)
        ]
        match found:
            case [str(text)]:
                return [("user", text)]
            case [list(turns)]:
                return turns
        raise JudgeError(
            f"{', '.join(sources)} holds not one prompt in one function {self.function}"
        )

    def _assembled(self, texts: Mapping[str, object], where: str) -> Turns:
        parts = {part: texts.get(part) if part.isidentifier() else part for part in self.parts}
        if lacking := [part for part, text in parts.items() if not isinstance(text, str)]:
            raise JudgeError(f"{where} holds no text called {lacking[0]}")
        always = [str(text) for part, text in parts.items() if part not in self.in_context]
        turns = [("system", self.system), ("user", "\n\n".join(always))]
        if self.in_context:
            turns.append((_IN_CONTEXT, "\n\n".join(map(str, parts.values()))))
        return turns

    def build(self, turns: Turns) -> Prompt:
        """Return the prompt of turns: the first of several is the system, the last the question."""
        *before, (role, user) = turns
        in_context = None
        if role == _IN_CONTEXT:
            in_context = self._template(user)
            *before, (_, user) = before
        system = before.pop(0)[1] if before else ""
        return Prompt(
            self.name,
            1,
            self.rubric,
            self._template(user),
            system,
            turns=tuple(Message(role, content) for role, content in before),
            words=self.words,
            layout=self.layout,
            reply=self.reply,
            user_in_context=in_context,
        )

    def _template(self, text: str) -> str:
        text = text.replace("$", "$$")
        for theirs, ours in self.reports.items():
            text = text.replace(f"{{{theirs}}}", f"${{{ours}}}")
        return text

    def is_genuine(self, prompt: Prompt) -> bool:
        """Return whether `prompt` is the official one, nothing changed in it or around it."""
        asked = [("user", prompt.user), (_IN_CONTEXT, prompt.user_in_context)]
        turns = [("system", prompt.system)] if prompt.system else []
        turns += [(turn.role, turn.content) for turn in prompt.turns]
        for role, text in asked:
            if text is not None:
                for theirs, ours in self.reports.items():
                    text = text.replace(f"${{{ours}}}", f"{{{theirs}}}")
                turns.append((role, text.replace("$$", "$")))
        return digest(turns) == self.sha256 and self.build(turns) == prompt


def digest(turns: Turns) -> str:
    """Return the sha256 of the turns as JSON: a list of pairs, in ASCII, without blanks."""
    return hashlib.sha256(json.dumps(turns, separators=(",", ":")).encode()).hexdigest()


_GREEN = Official(
    name="green-official",
    rubric="green",
    repository="Stanford-AIMI/GREEN",
    commit="d72c1951e69683b93405968901fd4f14cc6c27b0",
    sources={
        "green_score/utils.py": "285e076c8707dc5d506497b922d44e73458e0a88de69bfc73ee07a37e9fd1062"
    },
    function="make_prompt",
    reports={"text1": "reference", "text2": "candidate"},
    sha256="97d25a7b93a0a27f0f34f043588a31a4f69802b6556461065f4078babd3681b8",
    # What the published pipeline shows of a report (`max_len` of `make_prompt`).
    words=300,
    layout=GREEN,
    installed=("radeval", "metrics/green_score/utils.py"),
    models="",
)

_FINERADSCORE = Official(
    name="fineradscore-official",
    rubric="fineradscore",
    repository="rajpurkarlab/FineRadScore",
    commit="3f5e1dc708d953a92aca536492d78f4e248c44f6",
    # The instruction and the worked corrections, then the call that puts them together.
    sources={
        "few_shot_prompt.py": "450e499499423de76a1e98a70042c42a024ae19754bf7f03365e99eb036eb711",
        "gpt4_generations.py": "3ec94336153d0118bb8ea03aa3c1d07264cd10d50829959b97051f386ed2d2bb",
    },
    function="generate_gpt4_response",
    # The candidate comes with its lines numbered.
    reports={"pred_target": "row", "gt_target": "reference"},
    sha256="7cc147d8582647d05498a3829828bbc51d746e97912cdb1bb337b6f1300d2801",
)

_CRIMSON = Official(
    name="crimson-official",
    rubric="crimson",
    repository="rajpurkarlab/CRIMSON",
    commit="07e333152f2cb9c3429ec4d4eba12a1a7fce979e",
    sources={
        "CRIMSON/prompt_parts.py": (
            "e97fe82d4fbb097c1c37bf0d7e96c0551f80b30e5ebf5cf5107c0502527c5a3e"
        )
    },
    function="",
    reports={"reference": "reference", "candidate": "candidate", "context": "context"},
    sha256="95879c9ff9697e1b2e4351d37d4314261e46c5447f328a17c04c834474e0091d",
    installed=("radeval", "metrics/crimson/prompt_parts.py"),
    parts=(
        "OBJECTIVE",
        "Patient Context:\n{context}\n",
        "Reference Findings (Ground Truth):\n{reference}",
        "Predicted Findings (Candidate):\n{candidate}",
        "TASK_STEPS",
        "CLINICAL_SIGNIFICANCE_LEVELS",
        "SIGNIFICANCE_EXAMPLES",
        "SIGNIFICANCE_APPLICATION",
        "ATTRIBUTE_SEVERITY_LEVELS",
        "ERROR_CATEGORIES",
        "MATCHING_CRITERIA",
        "ATTRIBUTE_ERROR_INSTRUCTIONS",
        "ATTRIBUTE_SEVERITY_GUIDELINES",
        "CONTEXT_GUIDELINES",
        "OUTPUT_FORMAT",
        "IMPORTANT_NOTES",
    ),
    in_context=frozenset({"Patient Context:\n{context}\n", "CONTEXT_GUIDELINES"}),
    system="You are an expert radiology evaluator that assesses the accuracy of radiology reports.",
)

_GUIDELINES = {"SIGNIFICANCE_EXAMPLES", "ATTRIBUTE_SEVERITY_GUIDELINES", "CONTEXT_GUIDELINES"}
# The authors' own model was trained without the guidelines and on text.
_CRIMSON_MEDGEMMA = replace(
    _CRIMSON,
    name="crimson-medgemma-official",
    sha256="416f49a96764e9974cea6500f5aa8961b2bd17c45395d6fb103cbdb04cbf3626",
    parts=tuple(part for part in _CRIMSON.parts if part not in _GUIDELINES),
    models=r"(?:^|/)medgemma-[^/]*crimson",
    reply=TEXT,
)

KNOWN: Mapping[str, Official] = {
    one.name: one for one in (_GREEN, _FINERADSCORE, _CRIMSON, _CRIMSON_MEDGEMMA)
}


def for_model(rubric: str, model: str) -> str | None:
    """Return the name of the official prompt that a model on one's own machine knows alone."""
    own = (one for one in KNOWN.values() if one.rubric == rubric and one.models is not None)
    return next((one.name for one in own if re.search(str(one.models), model, re.I)), None)


def place(name: str, environ: Mapping[str, str]) -> Path:
    """Return the file that the prompt `name` is kept in: under `JUDGE_CONFIG`, if that is set."""
    from platformdirs import user_config_path

    named = environ.get("JUDGE_CONFIG")
    folder = Path(named).expanduser() if named else user_config_path("judge", appauthor=False)
    return folder / "prompts" / f"{name}.yaml"


def load(name: str, environ: Mapping[str, str], known: Mapping[str, Official] = KNOWN) -> Prompt:
    """Return an official prompt by its name, any other as `judge.prompts.load` does."""
    if name not in known:
        return prompts.load(name)
    path = place(name, environ)
    if not path.is_file():
        raise JudgeError(
            f"the prompt {name} is not on this machine yet: run `judge prompts fetch {name}`, or "
            f"ask with another, such as --prompt {known[name].rubric}"
        )
    prompt = prompts.load(str(path))
    if not known[name].is_genuine(prompt):
        raise JudgeError(
            f"{path} is not the prompt {name} as published: run `judge prompts fetch {name}`"
        )
    return prompt


def download(official: Official, base_url: str) -> dict[str, str]:
    """Return the sources of a prompt, by path, each checked against its sha256."""
    texts = {}
    for path, sha256 in official.sources.items():
        data = _get(f"{base_url.rstrip('/')}/{official.repository}/{official.commit}/{path}")
        found = hashlib.sha256(data).hexdigest()
        if found != sha256:
            raise JudgeError(f"{path} as downloaded is not the known file (sha256 {found[:12]}...)")
        texts[path] = data.decode()
    return texts


def _get(url: str) -> bytes:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import urlopen

    if not url.startswith(("https://", "http://")):
        raise JudgeError(f"{url} is no address that a prompt can be fetched from")
    try:
        with urlopen(url, timeout=_TIMEOUT) as answer:  # noqa: S310 - http and https alone
            data: bytes = answer.read()
    except HTTPError as error:
        error.close()
        raise JudgeError(f"{url} is not to be had: the server says {error.code}") from error
    except URLError as error:
        raise JudgeError(
            f"cannot reach {url} ({error.reason}): fetch it elsewhere, and name it with --from FILE"
        ) from error
    except (HTTPException, OSError) as error:
        raise JudgeError(f"the download of {url} broke off ({error}): try again") from error
    return data


def read_copy(official: Official, path: Path) -> dict[str, str]:
    """Return the sources from a file, or a folder that has them; they may be of another commit."""
    names = {source: PurePosixPath(source).name for source in official.sources}
    if path.is_dir():
        return {
            source: _read(full if (full := path / source).is_file() else path / name)
            for source, name in names.items()
        }
    if len(names) > 1:
        raise JudgeError(
            f"{official.name} is in {' and '.join(names.values())}: name the folder that has them"
        )
    return {source: _read(path) for source in names}


def read_installed(official: Official) -> dict[str, str]:
    """Return the sources from an installed package, which is found and read but not imported."""
    if official.installed is None:
        raise JudgeError(f"no package that can be installed holds {official.name}")
    package, path = official.installed
    # On the path, whatever a module of that name in this process may be.
    spec = PathFinder.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise JudgeError(f"the package {package} is not installed; {install(package)}")
    return read_copy(official, Path(spec.submodule_search_locations[0]) / path)


def as_yaml(prompt: Prompt, official: Official) -> str:
    """Return the file of a prompt, as `judge.prompts.load` reads it."""
    head = (
        f"# The text of {official.repository}, commit {official.commit}.\n"
        "# Fetched by `judge prompts fetch`, which knows it by its sha256: not to be edited.\n"
    )
    fields = {name: value for name, value in asdict(prompt).items() if value}
    # Quoted, every character of a text comes back as it was.
    return head + yaml.safe_dump(fields, default_style='"', sort_keys=False, width=1_000_000)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise JudgeError(f"{path} is no text in UTF-8: {error}") from error
