"""Turns a prompt into token ids: for GREEN's layout, those of the official pipeline.

The official pipeline runs under transformers 4.40.0, where a Llama tokenizer that is loaded
with `add_eos_token=True` puts the beginning-of-sequence token before the text and the
end-of-sequence token behind it. Newer versions of that library lay tokenizers out in another
way (docs/faithful.md), so the ids come from the model's files through `tokenizers` alone, set
up as 4.40.0 would; tests hold them to ids that 4.40.0 has made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.backends.local.files import ModelFiles
from judge.distribution import install
from judge.prompts import CHAT, GREEN, Prompt
from judge.types import JudgeError, Message

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_LLAMA_CLASSES = frozenset({"LlamaTokenizer", "LlamaTokenizerFast"})
_LLAMA_MODELS = frozenset({"llama", "mistral", "mixtral"})
_BLANK = "\u2581"
_DEFAULT_CONTEXT = 4096
LIMIT = 2048
"""How many tokens prompt and answer have together [Ostmeier et al. 2024, published code]."""


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
        """Return the ids of `messages`.

        GREEN's layout is cut to the limit with the tokens that frame it kept, as the official
        pipeline does. Any other is left whole.
        """
        text = self._text(messages)
        if self.layout == CHAT:  # the template wrote the frame
            return Encoded(tuple(self._tokenizer.encode(text, add_special_tokens=False).ids), 0)
        body = self._tokenizer.encode(text, add_special_tokens=False)
        room = self.limit - self._tokenizer.num_special_tokens_to_add(is_pair=False)
        cut = max(0, len(body.ids) - room)
        body.truncate(room, direction=self._side)
        return Encoded(tuple(self._tokenizer.post_process(body).ids), cut)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of an answer, without special tokens."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))


def lay_out(messages: Sequence[Message], eos: str) -> str:
    """Return `messages` in GREEN's layout, as the official pipeline's chat template does."""
    turns = [*messages, Message("assistant", "")]
    laid = "".join(f"<|{turn.role}|>\n{turn.content}{eos}\n" for turn in turns)
    return f"{laid}<|assistant|>\n"


def load(files: ModelFiles, prompt: Prompt) -> Encoder:
    """Return the encoder for a model and the prompt that it is asked with.

    A prompt that wants the model's own chat template gets GREEN's layout where the model has none
    that takes a role and a content, as GREEN models have not.
    """
    config = files.json("tokenizer_config.json")
    tokenizer = _tokenizer(files, config)
    eos = _special(files, config, "eos_token") or "</s>"
    eos_id = tokenizer.token_to_id(eos)
    if eos_id is None:
        raise JudgeError(
            f"the model {files.model} has no end-of-sequence token: {eos!r} is unknown"
        )
    template = None if prompt.layout == GREEN else _chat_template(files, config)
    if template is not None:
        return Encoder(tokenizer, CHAT, _context(files), eos_id, template)
    if _is_llama(files, config):
        _frame(tokenizer, files, config, (eos, eos_id))
    side = "left" if config.get("truncation_side") == "left" else "right"
    limit = min(LIMIT, _context(files))
    return Encoder(tokenizer, GREEN, limit, eos_id, lambda messages: lay_out(messages, eos), side)


def _tokenizer(files: ModelFiles, config: dict[str, Any]) -> Tokenizer:
    try:
        from tokenizers import AddedToken, Tokenizer
    except ModuleNotFoundError:
        raise JudgeError(f"tokenizers is not installed; {install('tokenizers')}") from None
    if (files.folder / "tokenizer.json").is_file():
        try:
            tokenizer = Tokenizer.from_file(str(files.folder / "tokenizer.json"))
        except Exception as error:
            raise JudgeError(f"cannot read the tokenizer of {files.model}: {error}") from error
    elif (files.folder / "tokenizer.model").is_file() and _is_llama(files, config):
        tokenizer = _converted(files.folder / "tokenizer.model")
    else:
        raise JudgeError(f"the model {files.model} has no tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    known = config.get("added_tokens_decoder", {})
    for at in sorted(known, key=int):
        token = dict(known[at])
        if tokenizer.token_to_id(token["content"]) is None:
            special = token.pop("special", False)
            tokenizer.add_tokens([AddedToken(**token, special=special)])
    return tokenizer


def _converted(path: Path) -> Tokenizer:
    try:
        from sentencepiece import SentencePieceProcessor
    except ModuleNotFoundError:
        raise JudgeError(
            f"the model's tokenizer needs sentencepiece; {install('sentencepiece')}"
        ) from None
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers

    pieces = SentencePieceProcessor()
    try:
        pieces.Load(str(path))
    except (OSError, RuntimeError) as error:
        raise JudgeError(f"cannot read the tokenizer {path}: {error}") from error
    ids = {pieces.IdToPiece(at): at for at in range(pieces.GetPieceSize())}
    scores = {piece: pieces.GetScore(at) if at > 2 else 0.0 for piece, at in ids.items()}
    tokenizer = Tokenizer(
        models.BPE(
            ids,
            _merges(ids, scores),
            unk_token=pieces.IdToPiece(pieces.unk_id()),
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    tokenizer.add_special_tokens(
        [AddedToken(pieces.IdToPiece(at), normalized=False, special=True) for at in range(3)]
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend(_BLANK), normalizers.Replace(" ", _BLANK)]
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


def _merges(ids: dict[str, int], scores: dict[str, float]) -> list[tuple[str, str]]:
    found = []
    for piece, score in scores.items():
        pairs = [(piece[:at], piece[at:]) for at in range(1, len(piece))]
        known = [(left, right) for left, right in pairs if left in ids and right in ids]
        found += [(score, pair) for pair in sorted(known, key=lambda p: (ids[p[0]], ids[p[1]]))]
    found.sort(key=lambda scored: -scored[0])
    return [pair for _, pair in found]


def _is_llama(files: ModelFiles, config: dict[str, Any]) -> bool:
    named = config.get("tokenizer_class")
    if named is not None:
        return named in _LLAMA_CLASSES
    return files.json("config.json").get("model_type") in _LLAMA_MODELS


def _frame(
    tokenizer: Tokenizer, files: ModelFiles, config: dict[str, Any], eos: tuple[str, int]
) -> None:
    from tokenizers.processors import TemplateProcessing

    frame, special = ["$A", eos[0]], [eos]
    bos = _special(files, config, "bos_token") or "<s>"
    bos_id = tokenizer.token_to_id(bos)
    if config.get("add_bos_token", True) and bos_id is not None:
        frame, special = [bos, *frame], [(bos, bos_id), eos]
    tokenizer.post_processor = TemplateProcessing(single=frame, special_tokens=special)


def _special(files: ModelFiles, config: dict[str, Any], name: str) -> str | None:
    for found in (config.get(name), files.json("special_tokens_map.json").get(name)):
        if found is not None:
            return str(found["content"] if isinstance(found, dict) else found)
    return None


def _context(files: ModelFiles) -> int:
    config = files.json("config.json")
    found = config.get("max_position_embeddings") or config.get("n_positions")
    return int(found) if found else _DEFAULT_CONTEXT


def _chat_template(
    files: ModelFiles, config: dict[str, Any]
) -> Callable[[Sequence[Message]], str] | None:
    if not config.get("chat_template") and not (files.folder / "chat_template.jinja").is_file():
        return None
    try:
        from transformers import AutoTokenizer
    except ModuleNotFoundError:
        raise JudgeError(
            f"a chat template needs transformers; {install('transformers', 'jinja2')}"
        ) from None
    from jinja2.exceptions import TemplateError

    tokenizer = AutoTokenizer.from_pretrained(files.folder)

    def render(messages: Sequence[Message]) -> str:
        turns = [{"role": turn.role, "content": turn.content} for turn in messages]
        return str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))

    probe = "a question"
    try:
        return render if probe in render([Message("user", probe)]) else None
    except TemplateError:
        return None
