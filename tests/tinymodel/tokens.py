"""A Llama tokenizer in the layout of Llama 2: sentencepiece-like pieces with byte fallback."""

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
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        trainers,
    )

    learning = Tokenizer(models.BPE())
    learning.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split("\n", "isolated"), pre_tokenizers.Metaspace(BLANK)]
    )
    known = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))]
    learning.train_from_iterator(
        (line for text in corpus() for line in text.split("\n")),
        trainers.BpeTrainer(
            vocab_size=VOCABULARY, special_tokens=known, show_progress=False
        ),
    )
    learnt = json.loads(learning.to_str())["model"]
    merges = [
        tuple(m.split(" ")) if isinstance(m, str) else tuple(m)
        for m in learnt["merges"]
    ]
    unk, bos, eos = SPECIAL
    tokenizer = Tokenizer(
        models.BPE(
            learnt["vocab"], merges, unk_token=unk, fuse_unk=True, byte_fallback=True
        )
    )
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend(BLANK), normalizers.Replace(" ", BLANK)]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A", pair=f"{bos} $A {bos}:1 $B:1", special_tokens=[(bos, 1)]
    )
    blanks = [decoders.Replace(BLANK, " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*blanks, decoders.Strip(" ", 1, 0)])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"bos_token": bos, "eos_token": eos, "unk_token": unk}
    config = names | {
        "add_bos_token": True,
        "add_eos_token": False,
        "clean_up_tokenization_spaces": False,
        "legacy": True,
        "model_max_length": MAX_POSITIONS,
        "tokenizer_class": "LlamaTokenizer",
    }
    if chat_template is not None:
        config["chat_template"] = chat_template
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    (folder / "special_tokens_map.json").write_text(json.dumps(names), "utf-8")
