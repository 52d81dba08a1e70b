"""Makes the fixtures of this folder: token ids as the official pipeline makes them.

Run it in an environment that has transformers 4.40.0 (with sentencepiece and a numpy below
2), from the root of a checkout, with the `green.py` of the package radeval, whose chat
template is read from there and not kept here:

    python tests/official/make_ids.py .../radeval/metrics/green_score/green.py

It runs the steps of the pipeline on the tokenizers in `trained` (as Llama 2's, the same kind as a
sentencepiece model alone, and a byte-level one as Phi 2's) by calling the library:
the reports cut to 300 words, the prompt in the first turn, an empty second turn, the chat
template with a generation prompt, and the encoding of a batch of eight with padding and
truncation. Cases and prompt, a stand-in of our own, are those that `ids.json` has already.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import sentencepiece
import tokenizers
import transformers

HERE = Path(__file__).parent
FOLDER = HERE / "trained"
WORDS, LIMIT, BATCH = 300, 2048, 8

MADE = json.loads((HERE / "ids.json").read_text("utf-8"))


def main(green: Path) -> None:
    assert transformers.__version__ == "4.40.0", transformers.__version__
    chat_template = template_of(green)
    made = {
        folder.name: ids_of(folder, chat_template)
        for folder in sorted(FOLDER.iterdir())
        if folder.is_dir()
    }
    versions = {
        "transformers": transformers.__version__,
        "tokenizers": tokenizers.__version__,
        "sentencepiece": sentencepiece.__version__,
    }
    about = {**MADE, "made with": versions, "ids": made}
    lines = json.dumps(about, indent=1, ensure_ascii=False)
    # A list of ids in one line.
    (HERE / "ids.json").write_text(join_numbers(lines) + "\n", "utf-8")


def join_numbers(text: str) -> str:
    out: list[str] = []
    for line in text.split("\n"):
        bare = line.strip().rstrip(",")
        if out and (
            bare.isdigit() or (bare == "]" and out[-1].rstrip(",")[-1].isdigit())
        ):
            out[-1] += line.strip()
        else:
            out.append(line)
    return "\n".join(out)


def template_of(green: Path) -> str:
    """Return the longest text that green.py gives to the name `chat_template`."""
    values = [
        node.value.value
        for node in ast.walk(ast.parse(green.read_text("utf-8")))
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "chat_template"
        and isinstance(node.value, ast.Constant)
    ]
    assert len(set(values)) == 1
    return values[0]


def ids_of(folder: Path, chat_template: str) -> dict[str, list[int]]:
    """Run the official steps on every case, eight at a time; returns the ids without padding."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        folder,
        add_eos_token=True,
        use_fast=True,
        trust_remote_code=True,
        padding_side="left",
    )
    tokenizer.chat_template = chat_template
    tokenizer.pad_token = tokenizer.eos_token
    texts = []
    for reports in MADE["cases"].values():
        reference, candidate = (
            " ".join(report.split()[:WORDS]) for report in reports.values()
        )
        prompt = MADE["template"].replace("{text1}", "\0").replace("{text2}", candidate)
        chat = [
            {"from": "human", "value": prompt.replace("\0", reference)},
            {"from": "gpt", "value": ""},
        ]
        texts.append(
            tokenizer.apply_chat_template(
                chat, tokenize=False, add_generation_prompt=True
            )
        )
    made: list[list[int]] = []
    for at in range(0, len(texts), BATCH):
        batch = tokenizer(
            texts[at : at + BATCH],
            return_tensors="pt",
            padding=True,
            truncation=True,
            max_length=LIMIT,
        )
        for ids, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True):
            made.append(ids[mask.bool()].tolist())
    return dict(zip(MADE["cases"], made, strict=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
