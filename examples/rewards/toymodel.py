"""A language model small enough to train on a laptop in a minute: its words are whole sentences.

It knows the sentences of the example reports and nothing else, so that what it writes can be judged
from the first step on. Stands in for a report-generation model of yours.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

EXAMPLES = Path(__file__).resolve().parents[1]
BETWEEN_SENTENCES = r"(?<=\.)\s+"


def studies() -> list[dict[str, str]]:
    """Return a prompt and a reference report for each example study."""
    references = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
    return [
        {"prompt": f"Findings of {name}.", "report": one["section_findings"]}
        for name, one in references.items()
        if one.get("section_findings")
    ]


def make(texts: list[str]) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """Return a model with random weights and its tokenizer, one token a sentence."""
    split = pre_tokenizers.Split(Regex(BETWEEN_SENTENCES), behavior="removed")
    sentences = {piece for text in texts for piece, _ in split.pre_tokenize_str(text)}
    words = ["<pad>", "<end>", "<unknown>", *sorted(sentences)]
    pad, end, unknown = words[:3]
    known = {word: n for n, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token=unknown))
    tokenizer.pre_tokenizer = split
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=pad,
        eos_token=end,
        unk_token=unknown,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=32,
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config), fast
