"""A Llama tokenizer in the layout of Llama 2: sentencepiece-like pieces with byte fallback.

The file is written so that `tokenizers` 0.19, which transformers 4.40.0 asks for, and
today's both read it.
"""

from __future__ import annotations

import json
from pathlib import Path

from tinymodel.text import corpus

VOCABULARY = 1024
MAX_POSITIONS = 4096
BLANK = "\u2581"
SPECIAL = ("<unk>", "<s>", "</s>")

# Renders what the official pipeline's own template renders: turns as `from` and `value`.
GREEN = (
    "{% for message in messages %}"
    "{% if message['from'] == 'human' %}{{ '<|user|>\n' }}"
    "{% elif message['from'] == 'system' %}{{ '<|system|>\n' }}"
    "{% else %}{{ '<|assistant|>\n' }}{% endif %}"
    "{{ message['value'] + eos_token + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)
# An ordinary chat template, as general models have.
CHAT = (
    "{% for message in messages %}"
    "{{ '[' + message['role'] + ']\n' + message['content'] + eos_token + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '[assistant]\n' }}{% endif %}"
)


def train_tokenizer(folder: Path, *, chat_template: str | None = GREEN) -> None:
    """Write `tokenizer.json`, `tokenizer_config.json` and `special_tokens_map.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary, merges = _pieces()
    (folder / "tokenizer.json").write_text(
        json.dumps(_layout(vocabulary, merges), ensure_ascii=False, indent=1), "utf-8"
    )
    unk, bos, eos = SPECIAL
    config = {
        "add_bos_token": True,
        "add_eos_token": False,
        "added_tokens_decoder": {
            str(at): _added(token) | {"special": True} for at, token in enumerate(SPECIAL)
        },
        "bos_token": bos,
        "eos_token": eos,
        "unk_token": unk,
        "clean_up_tokenization_spaces": False,
        "legacy": True,
        "model_max_length": MAX_POSITIONS,
        "tokenizer_class": "LlamaTokenizer",
    }
    if chat_template is not None:
        config["chat_template"] = chat_template
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1), "utf-8")
    (folder / "special_tokens_map.json").write_text(
        json.dumps({"bos_token": bos, "eos_token": eos, "unk_token": unk}), "utf-8"
    )


def _pieces() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Train the pieces; returns their ids and the merges in order."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    learning = Tokenizer(models.BPE())
    learning.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split("\n", "isolated"), pre_tokenizers.Metaspace(BLANK)]
    )
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    learning.train_from_iterator(
        (line for text in corpus() for line in text.split("\n")),
        trainers.BpeTrainer(
            vocab_size=VOCABULARY, special_tokens=[*SPECIAL, *bytes_], show_progress=False
        ),
    )
    learned = json.loads(learning.to_str())["model"]
    merges = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in learned["merges"]]
    return learned["vocab"], merges


def _added(token: str) -> dict[str, object]:
    return {
        "content": token,
        "lstrip": False,
        "normalized": False,
        "rstrip": False,
        "single_word": False,
    }


def _layout(vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> dict[str, object]:
    blank = {"String": BLANK}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": at} | _added(token) | {"special": True} for at, token in enumerate(SPECIAL)
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": BLANK},
                {"type": "Replace", "pattern": {"String": " "}, "content": BLANK},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "<s>", "type_id": 1}},
                {"Sequence": {"id": "B", "type_id": 1}},
            ],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": blank, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": vocabulary,
            "merges": [" ".join(merge) for merge in merges],
        },
    }
