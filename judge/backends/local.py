"""Models on this machine: files, tokens, what they are asked, and `hf:MODEL` in this process.

A prompt in GREEN's layout has the token ids of transformers 4.40.0, made by `tokenizers` alone.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from judge import jsonio
from judge.backends import options
from judge.backends.base import ChatJudge, Judge, JudgeSettings, StudyError, in_words
from judge.plugins import install
from judge.prompts import CHAT, GREEN, STRUCTURED, Prompt
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, JudgeError, Message, Usage

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Tokens of prompt and answer together, and prompts that are generated for together, as in the
# official pipeline [Ostmeier et al. 2024, published code].
LIMIT, BATCH = 2048, 8

_SMALL = ("*.json", "tokenizer.model", "*.jinja")
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.gguf")
_BLOCKS, _BLOCK = 256, 4096
_LLAMA_CLASSES = frozenset({"LlamaTokenizer", "LlamaTokenizerFast"})
_LLAMA_MODELS = frozenset({"llama", "mistral", "mixtral"})
_SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}
# The first pieces of Llama's tokenizers: unknown, begin and end.
_N_SPECIAL = 3
_BLANK = "\u2581"
# Tokens of a model that does not say how many it takes.
_CONTEXT = 4096


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
        if self.commit is None:
            return str(self.folder.resolve())
        return self.model

    def json(self, name: str) -> dict[str, Any]:
        """Return the content of a JSON file of the folder; empty where there is no such file."""
        try:
            data = jsonio.read((self.folder / name).read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise JudgeError(
                f"cannot read {name} of the model {self.model}: {error}"
            ) from error
        if not isinstance(data, dict):
            raise JudgeError(f"{name} of the model {self.model} holds no mapping")
        return data


def find(
    model: str, environ: Mapping[str, str], revision: str | None = None
) -> ModelFiles:
    """Return the files of `model`, a folder or a name on the hub, without a hub's weights."""
    folder = Path(model).expanduser()
    is_on_hub = not folder.is_dir()
    if is_on_hub:
        if model.startswith((".", "/", "~")) or model.count("/") != 1:
            raise JudgeError(
                f"no model {model!r}: there is no such folder, and a name on the hub is OWNER/NAME"
            )
        folder = _downloaded(model, environ, revision)
    if not (folder / "config.json").is_file():
        raise JudgeError(f"the folder {folder} holds no model: it has no config.json")
    if is_on_hub:
        # The hub's cache names a folder by the commit.
        commit = folder.name
        return ModelFiles(model, folder, f"{model}@{commit[:12]}", commit)
    version = f"{folder.resolve().name}+{digest(folder)}"
    return ModelFiles(model, folder, version)


def digest(folder: Path) -> str:
    """Return eight digits that stand for a model's small files and samples of its weights."""
    sha256 = hashlib.sha256()
    for path in _matching(folder, _SMALL):
        sha256.update(f"{path.name}\0".encode())
        sha256.update(path.read_bytes())
        sha256.update(b"\0")
    for path in _matching(folder, _WEIGHTS):
        size = path.stat().st_size
        sha256.update(f"{path.name}\0{size}\0".encode())
        # Reading all weights would take minutes.
        step = max(size // _BLOCKS, _BLOCK)
        with path.open("rb") as weights:
            for place in range(0, max(size, 1), step):
                weights.seek(place)
                sha256.update(weights.read(_BLOCK))
    return sha256.hexdigest()[:8]


def _matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """Return the files of a folder that fit one of the patterns, in order."""
    found: set[Path] = set()
    for pattern in patterns:
        found.update(folder.glob(pattern))
    return sorted(found)


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


@dataclass(slots=True)
class Encoder:
    """The tokens of one model. `limit` is how many tokens prompt and answer have together."""

    _tokenizer: Tokenizer
    layout: str
    limit: int
    eos_id: int
    _text: Callable[[Sequence[Message]], str]
    _side: str = "right"

    def encode(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids of `messages`; GREEN's layout is cut to the limit as in its pipeline."""
        body = self._tokenizer.encode(self._text(messages), add_special_tokens=False)
        if self.layout != CHAT:  # else the template wrote the frame
            room = self.limit - self._tokenizer.num_special_tokens_to_add(is_pair=False)
            body.truncate(room, direction=self._side)
            body = self._tokenizer.post_process(body)
        return list(body.ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of an answer, without special tokens."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))


def load_encoder(files: ModelFiles, prompt: Prompt) -> Encoder:
    """Return the encoder for a model and the prompt that it is asked with.

    A model without a usable chat template gets GREEN's layout, whatever the prompt wants.
    """
    config = files.json("tokenizer_config.json")
    model = files.json("config.json")
    kind = config.get("tokenizer_class")
    if kind:
        is_llama = kind in _LLAMA_CLASSES
    else:
        is_llama = model.get("model_type") in _LLAMA_MODELS
    tokenizer = _tokenizer(files, config, is_llama=is_llama)
    known = files.json("special_tokens_map.json")
    bos = _special_token("bos_token", config, known)
    eos = _special_token("eos_token", config, known)
    bos_id = tokenizer.token_to_id(bos)
    eos_id = tokenizer.token_to_id(eos)
    if eos_id is None:
        raise JudgeError(
            f"the tokenizer of {files.model} does not know the end token {eos!r}"
        )
    # GPT-2 and its like call it `n_positions`.
    length = model.get("max_position_embeddings") or model.get("n_positions")
    context = int(length or _CONTEXT)
    if prompt.layout != GREEN:
        template = _chat_template(files, config)
        if template is not None:
            return Encoder(tokenizer, CHAT, context, eos_id, template)
    if is_llama:
        frame = ["$A", eos]
        special = [(eos, eos_id)]
        if config.get("add_bos_token", True) and bos_id is not None:
            frame.insert(0, bos)
            special.insert(0, (bos, bos_id))
        template_of = library("tokenizers").processors.TemplateProcessing
        tokenizer.post_processor = template_of(single=frame, special_tokens=special)

    def render(messages: Sequence[Message]) -> str:
        turns = [*messages, Message("assistant", "")]
        text = "".join(f"<|{turn.role}|>\n{turn.content}{eos}\n" for turn in turns)
        return f"{text}<|assistant|>\n"

    side = "right"
    if config.get("truncation_side") == "left":
        side = "left"
    return Encoder(
        _tokenizer=tokenizer,
        layout=GREEN,
        limit=min(LIMIT, context),
        eos_id=eos_id,
        _text=render,
        _side=side,
    )


def _special_token(
    name: str, config: Mapping[str, Any], known: Mapping[str, Any]
) -> str:
    """Return a token of a tokenizer's configuration, of its map of special tokens, or Llama's."""
    token = config.get(name) or known.get(name) or _SPECIAL[name]
    if isinstance(token, dict):
        token = token["content"]
    return cast("str", token)


def _tokenizer(
    files: ModelFiles, config: dict[str, Any], *, is_llama: bool
) -> Tokenizer:
    tokenizers = library("tokenizers")
    path = files.folder / "tokenizer.json"
    pieces = files.folder / "tokenizer.model"
    is_ready = path.is_file()
    is_convertible = is_llama and pieces.is_file()
    if not is_ready and not is_convertible:
        raise JudgeError(f"the model {files.model} has no tokenizer.json")
    try:
        if is_ready:
            tokenizer = tokenizers.Tokenizer.from_file(str(path))
        else:
            tokenizer = _converted(pieces)
    except JudgeError:
        raise
    except Exception as error:  # the libraries raise nothing narrower
        raise JudgeError(
            f"cannot read the tokenizer of {files.model}: {error}"
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # By their ids, since each new token gets the next one.
    added = config.get("added_tokens_decoder", {})
    for number in sorted(added, key=int):
        token = {"special": False, **added[number]}
        if tokenizer.token_to_id(token["content"]) is None:
            tokenizer.add_tokens([tokenizers.AddedToken(**token)])
    return tokenizer


def _converted(path: Path) -> Tokenizer:
    tokenizers = library("tokenizers")
    pieces = library("sentencepiece").SentencePieceProcessor()
    pieces.Load(str(path))
    n_pieces = pieces.GetPieceSize()
    ids = {pieces.IdToPiece(number): number for number in range(n_pieces)}
    scored = []
    for piece, number in ids.items():
        score = 0.0
        if number >= _N_SPECIAL:
            score = pieces.GetScore(number)
        scored += [(score, pair) for pair in _halves(piece, ids)]
    # The sort is stable: merges of one score stay in the order of the pieces.
    scored.sort(key=lambda merge: -merge[0])
    model = tokenizers.models.BPE(
        ids,
        [pair for _, pair in scored],
        unk_token=pieces.IdToPiece(pieces.unk_id()),
        fuse_unk=True,
        byte_fallback=True,
    )
    tokenizer = tokenizers.Tokenizer(model)
    special = []
    for number in range(_N_SPECIAL):
        piece = pieces.IdToPiece(number)
        token = tokenizers.AddedToken(piece, normalized=False, special=True)
        special.append(token)
    tokenizer.add_special_tokens(special)
    normalizers, decoders = tokenizers.normalizers, tokenizers.decoders
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Prepend(_BLANK),
            normalizers.Replace(" ", _BLANK),
        ]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace(_BLANK, " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return tokenizer


def _halves(piece: str, ids: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return the pairs of pieces that a piece is made of, in the order of their ids."""
    pairs = []
    for cut in range(1, len(piece)):
        left, right = piece[:cut], piece[cut:]
        if left in ids and right in ids:
            pairs.append((left, right))
    pairs.sort(key=lambda pair: (ids[pair[0]], ids[pair[1]]))
    return pairs


def _chat_template(
    files: ModelFiles, config: dict[str, Any]
) -> Callable[[Sequence[Message]], str] | None:
    has_file = (files.folder / "chat_template.jinja").is_file()
    if not config.get("chat_template") and not has_file:
        return None
    jinja2 = library("jinja2")
    tokenizer = library("transformers").AutoTokenizer.from_pretrained(files.folder)

    def render(messages: Sequence[Message]) -> str:
        turns = [{"role": turn.role, "content": turn.content} for turn in messages]
        text = tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True
        )
        return str(text)

    # Some models have a template that fails, or that leaves out what is said.
    try:
        text = render([Message("user", "a question")])
    except jinja2.TemplateError:
        return None
    if "a question" not in text:
        return None
    return render


@dataclass(eq=False, repr=False, kw_only=True)
class LocalJudge(ChatJudge):
    """A model whose prompts are encoded here and answered in text, greedily by default."""

    endpoint: ClassVar[str] = "completions"
    takes_forms: ClassVar[bool] = False

    encoder: Encoder
    max_tokens: int
    asked: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # How long prompt and answer may be together is part of what was asked.
        lengths = {"max_length": self.encoder.limit, "max_tokens": self.max_tokens}
        self.sampling = {"temperature": 0, **lengths, **self.asked}
        if self.prompt.words:
            self.note = (
                f"its prompt shows the first {self.prompt.words} words of a report"
            )

    @property
    def takes_turns(self) -> bool:
        """Whether it can be told what was wrong: a GREEN model knows one layout alone."""
        return self.encoder.layout == CHAT

    def encoded(self, request: CompletionRequest) -> tuple[list[int], int]:
        """Return the ids of a request and how many tokens its answer may have."""
        limit = self.encoder.limit
        ids = self.encoder.encode(in_words(request.messages))
        room = min(self.max_tokens, limit - len(ids))
        if room < 1:
            raise StudyError(
                "too_long", f"the prompt takes all {limit} tokens that there are"
            )
        return ids, room


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge `hf:MODEL`, which decodes greedily and answers in text."""
    for name, value in settings.sampling.items():
        if (name, value) != ("temperature", 0):
            raise JudgeError(
                f"hf:{model} decodes greedily: leave out {name}, or use vllm:"
            )
    prompt, _ = options.prompt_and_reply(rubric, model, settings, is_own=True)
    if STRUCTURED in (settings.reply, prompt.reply):
        raise JudgeError(
            "a model in this process answers in text; for a structured reply, vllm:"
        )
    files = find(model, settings.environ)
    encoder = load_encoder(files, prompt)
    device, dtype = "cpu", "float32"
    if library("torch").cuda.is_available() and not settings.options.get("cpu"):
        device, dtype = "cuda", "bfloat16"
        # As the official pipeline loads GREEN's models.
        if encoder.layout == GREEN:
            dtype = "float16"
    return TransformersJudge(
        name=f"hf:{model}",
        version=f"hf:{files.version},{dtype},{encoder.layout}",
        prompt=prompt,
        questions=options.questions(rubric, prompt, None, settings),
        encoder=encoder,
        max_tokens=options.max_tokens(model, replace(settings, sampling={})),
        files=files,
        device=device,
        dtype=dtype,
        say=settings.say,
    )


@dataclass(eq=False, repr=False, kw_only=True)
class TransformersJudge(LocalJudge):
    """A transformers model, asked in batches of whatever is waiting."""

    is_deterministic = True  # it decodes greedily
    files: ModelFiles
    device: str
    dtype: str
    say: Callable[[str], None]
    _model: Any = field(init=False, default=None)
    # One batch at a time.
    _lock: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    # Ids, how many tokens the answer may have, and the answer's.
    _waiting: list[tuple[list[int], int, asyncio.Future[list[int]]]] = field(
        init=False, default_factory=list
    )

    async def ready(self) -> None:
        """Load the model; raises `JudgeError` where it cannot be had or does not fit."""
        if self._model is not None:
            return
        async with self._lock:
            # Another request may have loaded it while this one waited.
            if self._model is None:
                where = f"{self.device}, {self.dtype}"
                self.say(f"Loading {self.files.model} ({where}).")
                self._model = await asyncio.to_thread(self._load)

    def _load(self) -> Any:  # noqa: ANN401 - the library's models have no common type
        torch, transformers = library("torch"), library("transformers")
        files = self.files
        transformers.utils.logging.disable_progress_bar()
        try:
            model = transformers.AutoModelForCausalLM.from_pretrained(
                files.source, revision=files.commit, dtype=getattr(torch, self.dtype)
            )
            model = model.to(self.device).eval()
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise self._too_large() from error
        except (OSError, ValueError) as error:
            raise JudgeError(f"cannot load the model {files.model}: {error}") from error
        # A model's own settings, such as a penalty for what it said before, would change answers.
        model.generation_config = transformers.GenerationConfig()
        return model

    def _too_large(self) -> JudgeError:
        return JudgeError(
            f"out of memory on {self.device} with {self.files.model}: give --concurrency 1, use a "
            "smaller model, a device with more memory, or vllm: with several GPUs"
        )

    async def complete(self, request: CompletionRequest) -> Completion:
        """Generate the answer, with those of other requests that are waiting."""
        await self.ready()
        prompt, room = self.encoded(request)
        answered = asyncio.get_running_loop().create_future()
        self._waiting.append((prompt, room, answered))
        async with self._lock:
            while not answered.done():  # else it was in another's batch
                prompts, rooms, futures = zip(*self._waiting[:BATCH], strict=True)
                answers = await asyncio.to_thread(self.generate, prompts, rooms)
                del self._waiting[: len(futures)]
                for future, answer in zip(futures, answers, strict=True):
                    future.set_result(answer)
        ids: list[int] = answered.result()
        finish_reason = "length"
        if ids and ids[-1] == self.encoder.eos_id:
            finish_reason = "stop"
        return Completion(
            text=self.encoder.decode(ids),
            finish_reason=finish_reason,
            model=self.version,
            usage=Usage(prompt_tokens=len(prompt), completion_tokens=len(ids)),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def generate(
        self, prompts: Sequence[Sequence[int]], rooms: Sequence[int]
    ) -> list[list[int]]:
        """Return the ids of each answer, at most `rooms`; raises `JudgeError` for no memory."""
        torch = library("torch")
        eos_id = self.encoder.eos_id
        width = max(map(len, prompts))
        padded, masked = [], []
        # On the left, so that each answer begins right behind its prompt.
        for prompt in prompts:
            n_pads = width - len(prompt)
            padded.append([eos_id] * n_pads + list(prompt))
            masked.append([0] * n_pads + [1] * len(prompt))
        ends = width + torch.tensor(list(rooms), device=self.device)
        try:
            generated = self._model.generate(
                torch.tensor(padded, device=self.device),
                attention_mask=torch.tensor(masked, device=self.device),
                max_new_tokens=max(rooms),
                stopping_criteria=[lambda ids, _scores, **_more: ids.shape[1] >= ends],
                do_sample=False,
                eos_token_id=eos_id,
                pad_token_id=eos_id,
            )
            answers = generated[:, width:].tolist()
        except torch.OutOfMemoryError as error:
            raise self._too_large() from error
        cut = []
        for answer, room in zip(answers, rooms, strict=True):
            ids = answer[:room]
            # What follows the end is padding, since others of the batch went on.
            if eos_id in ids:
                ids = ids[: ids.index(eos_id) + 1]
            cut.append(ids)
        return cut

    async def aclose(self) -> None:
        """Let go of the model."""
        # The next to ask may do so in another event loop.
        self._model, self._lock, self._waiting = None, asyncio.Lock(), []
        await super().aclose()
