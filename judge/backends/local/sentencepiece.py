"""Reads a Llama tokenizer that comes as a sentencepiece model alone.

Made as transformers 4.40.0 makes it: the text gets a blank before it, blanks are written as
the lower block, and pieces are merged in the order of their scores.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from judge.distribution import install
from judge.types import JudgeError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_BLANK = "\u2581"


def convert(path: Path) -> Tokenizer:
    """Return the tokenizer of a sentencepiece model of merged pairs.

    Raises `JudgeError` where `sentencepiece` is not installed or the file is no such model.
    """
    try:
        from sentencepiece import SentencePieceProcessor
    except ModuleNotFoundError:
        raise JudgeError(
            "the model's tokenizer is a sentencepiece model, and sentencepiece is not installed; "
            + install("sentencepiece")
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
    """Return every pair of pieces that makes a piece, the best-scored piece first."""
    found = []
    for piece, score in scores.items():
        pairs = [(piece[:at], piece[at:]) for at in range(1, len(piece))]
        known = [(left, right) for left, right in pairs if left in ids and right in ids]
        found += [(score, pair) for pair in sorted(known, key=lambda p: (ids[p[0]], ids[p[1]]))]
    found.sort(key=lambda scored: -scored[0])
    return [pair for _, pair in found]
