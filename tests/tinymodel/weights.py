"""The weights: a random Llama of two layers."""

from __future__ import annotations

from pathlib import Path

from tinymodel.tokens import GREEN, MAX_POSITIONS, train_tokenizer


def make_model(
    folder: Path,
    *,
    seed: int = 0,
    layers: int = 2,
    hidden: int = 128,
    heads: int = 4,
    chat_template: str | None = GREEN,
) -> None:
    """Write a random float32 Llama and its tokenizer into `folder`."""
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    train_tokenizer(folder, chat_template=chat_template)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=_vocabulary(folder),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=MAX_POSITIONS,
        bos_token_id=1,
        eos_token_id=2,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config).float()
    model.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=2)
    model.save_pretrained(folder)


def _vocabulary(folder: Path) -> int:
    """Return the number of tokens, rounded up as hardware likes it."""
    from tokenizers import Tokenizer

    size = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
    return -(-size // 64) * 64
