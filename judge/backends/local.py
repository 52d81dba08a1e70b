"""Models on this machine: their files, their tokens and what they are asked.

A prompt in GREEN's layout has the token ids of transformers 4.40.0, made by `tokenizers` alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge import jsonio
from judge.backends import structured
from judge.backends.base import CountedNote, Judge, StudyError
from judge.plugins import install
from judge.prompts import CHAT, GREEN, Prompt
from judge.rubrics.questions import Step
from judge.types import Completion, CompletionRequest, JudgeError, Message, Study, Unparsed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LIMIT = 2048
"""How many tokens prompt and answer have together [Ostmeier et al. 2024, published code]."""

_SMALL = ("*.json", "tokenizer.model", "*.jinja")
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.gguf")
_BLOCKS, _BLOCK = 256, 4096
_LLAMA_CLASSES = frozenset({"LlamaTokenizer", "LlamaTokenizerFast"})
_LLAMA_MODELS = frozenset({"llama", "mistral", "mixtral"})
_BLANK = "\u2581"
_NOTES = {
    "words": "{{n}} of {{of}} prompts show only the first {words} words of a report, as the "
    "prompt {prompt} wants it.",
    "tokens": "{{n}} of {{of}} prompts are longer than the {limit} tokens that the model has "
    "for prompt and answer, and leave no room for one.",
    "greedy": "{{n}} answers that could not be read were not asked for again: the model decodes "
    "greedily, cannot be told what was wrong, and would say the same.",
}


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model's folder with at least its configuration and tokenizer.

    `version` is a hub name and commit, or a folder's name and digest; `commit` is None for a
    folder.
    """

    model: str
    folder: Path
    version: str
    commit: str | None = None

    @property
    def source(self) -> str:
        """Where the weights are loaded from: the name on the hub, or the folder's full path."""
        return self.model if self.commit else str(self.folder.resolve())

    def json(self, name: str) -> dict[str, Any]:
        """Return the content of a JSON file of the folder; empty where there is no such file."""
        try:
            data = jsonio.read((self.folder / name).read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise JudgeError(f"cannot read {name} of the model {self.model}: {error}") from error
        if not isinstance(data, dict):
            raise JudgeError(f"{name} of the model {self.model} holds no mapping")
        return data


def find(model: str, environ: Mapping[str, str], revision: str | None = None) -> ModelFiles:
    """Return the files of `model`, a folder or a name on the hub, without a hub's weights."""
    folder, commit = Path(model).expanduser(), None
    if not folder.is_dir():
        if model.startswith((".", "/", "~")) or model.count("/") != 1:
            raise JudgeError(
                f"no model {model!r}: there is no such folder, and a name on the hub is OWNER/NAME"
            )
        folder = _downloaded(model, environ, revision)
        commit = folder.name
    if not (folder / "config.json").is_file():
        raise JudgeError(f"the folder {folder} holds no model: it has no config.json")
    version = f"{model}@{commit[:12]}" if commit else f"{folder.resolve().name}+{_digest(folder)}"
    return ModelFiles(model, folder, version, commit)


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _SMALL for path in folder.glob(pattern)}):
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    for path in sorted({path for pattern in _WEIGHTS for path in folder.glob(pattern)}):
        size = path.stat().st_size
        digest.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as weights:
            for place in range(0, max(size, 1), max(size // _BLOCKS, _BLOCK)):
                weights.seek(place)
                digest.update(weights.read(_BLOCK))
    return digest.hexdigest()[:8]


def _downloaded(model: str, environ: Mapping[str, str], revision: str | None) -> Path:
    hub = library("huggingface_hub")
    try:
        folder = hub.snapshot_download(
            model,
            revision=revision,
            allow_patterns=list(_SMALL),
            endpoint=environ.get("HF_ENDPOINT"),
            token=environ.get("HF_TOKEN"),
        )
    except (OSError, ValueError) as error:
        words = " ".join(str(error).split())[:200] or type(error).__name__
        raise JudgeError(
            f"the hub does not give the model {model} ({words}); set HF_TOKEN if it is gated"
        ) from error
    return Path(folder)


def library(name: str) -> Any:  # noqa: ANN401 - a module
    """Return a library that only models on this machine need; raises `JudgeError` without it."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise JudgeError(f"{name} is not installed; {install(name)}") from None


@dataclass(frozen=True, slots=True)
class Encoded:
    """A prompt as token ids; `cut` says how many tokens the limit took off it."""

    ids: tuple[int, ...]
    cut: int


@dataclass(slots=True)
class Encoder:
    """The tokens of one model. `limit` is how many tokens prompt and answer have together."""

    _tokenizer: Tokenizer
    layout: str
    limit: int
    eos_id: int
    _text: Callable[[Sequence[Message]], str]
    _side: str = "right"

    def encode(self, messages: Sequence[Message]) -> Encoded:
        """Return the ids of `messages`; GREEN's layout is cut to the limit as in its pipeline."""
        body = self._tokenizer.encode(self._text(messages), add_special_tokens=False)
        if self.layout == CHAT:  # the template wrote the frame
            return Encoded(tuple(body.ids), 0)
        room = self.limit - self._tokenizer.num_special_tokens_to_add(is_pair=False)
        cut = max(0, len(body.ids) - room)
        body.truncate(room, direction=self._side)
        return Encoded(tuple(self._tokenizer.post_process(body).ids), cut)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of an answer, without special tokens."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))


def load_encoder(files: ModelFiles, prompt: Prompt) -> Encoder:
    """Return the encoder for a model and the prompt that it is asked with.

    A model without a usable chat template gets GREEN's layout, whatever the prompt wants.
    """
    config, model = files.json("tokenizer_config.json"), files.json("config.json")
    kind = config.get("tokenizer_class")
    is_llama = kind in _LLAMA_CLASSES if kind else model.get("model_type") in _LLAMA_MODELS
    tokenizer = _tokenizer(files, config, is_llama=is_llama)
    known = files.json("special_tokens_map.json")
    bos, eos = (
        token["content"] if isinstance(token, dict) else token
        for token in (
            config.get("bos_token") or known.get("bos_token") or "<s>",
            config.get("eos_token") or known.get("eos_token") or "</s>",
        )
    )
    bos_id, eos_id = tokenizer.token_to_id(bos), tokenizer.token_to_id(eos)
    if eos_id is None:
        raise JudgeError(
            f"the model {files.model} has no end-of-sequence token: {eos!r} is unknown"
        )
    context = int(model.get("max_position_embeddings") or model.get("n_positions") or 4096)
    if prompt.layout != GREEN and (template := _chat_template(files, config)):
        return Encoder(tokenizer, CHAT, context, eos_id, template)
    if is_llama:
        frame, special = ["$A", eos], [(eos, eos_id)]
        if config.get("add_bos_token", True) and bos_id is not None:
            frame, special = [bos, *frame], [(bos, bos_id), *special]
        processors = library("tokenizers").processors
        tokenizer.post_processor = processors.TemplateProcessing(
            single=frame, special_tokens=special
        )

    def render(messages: Sequence[Message]) -> str:
        turns = [*messages, Message("assistant", "")]
        text = "".join(f"<|{turn.role}|>\n{turn.content}{eos}\n" for turn in turns)
        return f"{text}<|assistant|>\n"

    side = "left" if config.get("truncation_side") == "left" else "right"
    return Encoder(tokenizer, GREEN, min(LIMIT, context), eos_id, render, side)


def _tokenizer(files: ModelFiles, config: dict[str, Any], *, is_llama: bool) -> Tokenizer:
    tokenizers = library("tokenizers")
    path, pieces = files.folder / "tokenizer.json", files.folder / "tokenizer.model"
    if not path.is_file() and not (pieces.is_file() and is_llama):
        raise JudgeError(f"the model {files.model} has no tokenizer.json")
    try:
        is_ready = path.is_file()
        tokenizer = tokenizers.Tokenizer.from_file(str(path)) if is_ready else _converted(pieces)
    except JudgeError:
        raise
    except Exception as error:  # the libraries raise nothing narrower
        raise JudgeError(f"cannot read the tokenizer of {files.model}: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for _, token in sorted(config.get("added_tokens_decoder", {}).items(), key=lambda t: int(t[0])):
        if tokenizer.token_to_id(token["content"]) is None:
            tokenizer.add_tokens([tokenizers.AddedToken(**{"special": False, **token})])
    return tokenizer


def _converted(path: Path) -> Tokenizer:
    tokenizers = library("tokenizers")
    pieces = library("sentencepiece").SentencePieceProcessor()
    pieces.Load(str(path))
    ids = {pieces.IdToPiece(number): number for number in range(pieces.GetPieceSize())}
    scored = []
    for piece, number in ids.items():
        halves = [(piece[:cut], piece[cut:]) for cut in range(1, len(piece))]
        known = [(left, right) for left, right in halves if left in ids and right in ids]
        known.sort(key=lambda pair: (ids[pair[0]], ids[pair[1]]))
        scored += [(pieces.GetScore(number) if number > 2 else 0.0, pair) for pair in known]
    merges = [pair for _, pair in sorted(scored, key=lambda merge: -merge[0])]
    unknown = pieces.IdToPiece(pieces.unk_id())
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.BPE(ids, merges, unk_token=unknown, fuse_unk=True, byte_fallback=True)
    )
    special = [pieces.IdToPiece(number) for number in range(3)]
    tokenizer.add_special_tokens(
        [tokenizers.AddedToken(piece, normalized=False, special=True) for piece in special]
    )
    normal, decoders = tokenizers.normalizers, tokenizers.decoders
    tokenizer.normalizer = normal.Sequence([normal.Prepend(_BLANK), normal.Replace(" ", _BLANK)])
    blanks = decoders.Replace(_BLANK, " "), decoders.ByteFallback(), decoders.Fuse()
    tokenizer.decoder = decoders.Sequence([*blanks, decoders.Strip(" ", 1, 0)])
    return tokenizer


def _chat_template(
    files: ModelFiles, config: dict[str, Any]
) -> Callable[[Sequence[Message]], str] | None:
    if not config.get("chat_template") and not (files.folder / "chat_template.jinja").is_file():
        return None
    jinja2 = library("jinja2")
    tokenizer = library("transformers").AutoTokenizer.from_pretrained(files.folder)

    def render(messages: Sequence[Message]) -> str:
        turns = [{"role": turn.role, "content": turn.content} for turn in messages]
        return str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))

    try:
        return render if "a question" in render([Message("user", "a question")]) else None
    except jinja2.TemplateError:
        return None


@dataclass(eq=False, repr=False, kw_only=True)
class LocalJudge(Judge):
    """A model whose prompts are encoded here and answered in text, greedily by default."""

    name: str
    version: str
    prompt: Prompt
    encoder: Encoder
    max_tokens: int
    asked: Mapping[str, object] = field(default_factory=dict)
    _counts: Counter[str] = field(init=False, default_factory=Counter)

    def __post_init__(self) -> None:
        # How long prompt and answer may be together is part of what was asked.
        lengths = {"max_length": self.encoder.limit, "max_tokens": self.max_tokens}
        self.sampling = {"temperature": 0, **lengths, **self.asked}

    @property
    def counted(self) -> tuple[CountedNote, ...]:
        """What a reader of the numbers must know of the prompts built so far."""
        prompt, limit = self.prompt, self.encoder.limit
        words = {"words": prompt.words, "prompt": prompt.name, "limit": limit}
        return tuple(
            CountedNote(note.format(**words), self._counts[kind], self._counts["prompts"])
            for kind, note in _NOTES.items()
        )

    def request(self, study: Study) -> CompletionRequest:
        """Return the prompt around the study's reports; counts what is cut."""
        return self._request(self.prompt, study)

    def request_step(self, step: Step) -> CompletionRequest:
        """Return the prompt of the step's question around its texts; counts what is cut."""
        prompt, _ = self.questions[step.asks]
        return self._request(prompt, step.study)

    def _request(self, prompt: Prompt, study: Study) -> CompletionRequest:
        messages = prompt.about(study)
        self._counts["prompts"] += 1
        self._counts["words"] += prompt.cuts(study.reference, study.candidate)
        self._counts["tokens"] += self.encoder.encode(messages).cut > 0
        return CompletionRequest("completions", self.version, messages, self.sampling)

    def repair_request(
        self, request: CompletionRequest, completion: Completion, unparsed: Unparsed
    ) -> CompletionRequest | None:
        """Return the conversation with the error, or for a GREEN model the next seed."""
        if self.encoder.layout == CHAT:
            return structured.repair_request(request, completion.text, unparsed)
        if request.sampling.get("temperature") == 0:
            self._counts["greedy"] += 1
            return None
        seed = request.sampling.get("seed")
        if not isinstance(seed, int):
            return request
        return replace(request, sampling={**request.sampling, "seed": seed + 1})

    def encoded(self, request: CompletionRequest) -> tuple[Encoded, int]:
        """Return the ids of a request and how many tokens its answer may have."""
        encoded = self.encoder.encode(structured.in_words(request.messages))
        limit = self.encoder.limit
        room = min(self.max_tokens, limit - len(encoded.ids))
        if room < 1:
            raise StudyError("too_long", f"the prompt takes all {limit} tokens that there are")
        return encoded, room
