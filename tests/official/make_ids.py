"""Makes the fixtures of this folder: token ids as the official pipeline makes them.

Run it in an environment that has transformers 4.40.0 (with sentencepiece and a numpy below
2), from the root of a checkout, with the `green.py` of the package radeval, whose chat
template is read from there and not kept here:

    PYTHONPATH=tests python tests/official/make_ids.py .../radeval/metrics/green_score/green.py

It trains three tokenizers (as Llama 2's, the same kind as a sentencepiece model alone, and a
byte-level one as Phi 2's) and runs the steps of the pipeline on them by calling the library:
the reports cut to 300 words, the prompt in the first turn, an empty second turn, the chat
template with a generation prompt, and the encoding of a batch of eight with padding and
truncation. The prompt is a stand-in of our own.
"""

from __future__ import annotations

import ast
import io
import json
import shutil
import sys
from pathlib import Path

import sentencepiece
import tokenizers
import transformers
from tinymodel.text import corpus, sentences
from tinymodel.tokens import train_tokenizer

HERE = Path(__file__).parent
FOLDER = HERE / "trained"
WORDS, LIMIT, BATCH = 300, 2048, 8

TEMPLATE = (
    "Aim: compare a candidate report with the reference report.\n\n    You are given:\n\n"
    "    1. The reference.\n    2. The candidate, in {braces} and for $5.\n\n"
    "    1. Reference:\n    {text1}\n\n    2. Candidate:\n    {text2}\n\n"
    "    Answer so:\n    ```\n    [Explanation]:\n    <why>\n    ```\n"
)
LONG = " ".join(sentences(60, seed=1))
CASES = {
    "ordinary": (" ".join(sentences(4, seed=2)), " ".join(sentences(5, seed=3))),
    "empty candidate": ("No pneumothorax is seen.", ""),
    "white space": ("  Heart  normal.\n\n\tLungs clear.  ", "\nHeart\r\nnormal.\u00a0Lungs clear."),
    "other letters": ("Œdème, 3 ≥ 2 µm ± ½", "Pneumothorax à gauche 肺 🫁 \u2581 \u200b"),
    "special tokens": ("A </s> B <s> C <unk> D</s>", "<|user|> E\n<|assistant|>\nF <pad>"),
    "signs of templates": ("{text2} {{ x }} $5 $reference", "{% if %} {text1} {} $$ %s"),
    "more than 300 words": (LONG, " ".join(sentences(3, seed=4))),
    "both longer": (LONG, " ".join(sentences(70, seed=5))),
    "301 words": (" ".join(["no"] * 301), " ".join(["no"] * 300)),
    "more than 2048 tokens": (" ".join(["zwölfundzwanzig"] * 300), "No effusion."),
    "cut within the frame": (" ".join(["qzx"] * 300), " ".join(["qzxqzx"] * 280)),
}


def main(green: Path) -> None:
    assert transformers.__version__ == "4.40.0", transformers.__version__
    make_tokenizers()
    chat_template = template_of(green)
    made = {
        folder.name: ids_of(folder, chat_template)
        for folder in sorted(FOLDER.iterdir())
        if folder.is_dir()
    }
    about = {
        "made with": {
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
            "sentencepiece": sentencepiece.__version__,
        },
        "template": TEMPLATE,
        "cases": {name: {"reference": r, "candidate": c} for name, (r, c) in CASES.items()},
        "ids": made,
    }
    lines = json.dumps(about, indent=1, ensure_ascii=False)
    # A list of ids in one line.
    (HERE / "ids.json").write_text(join_numbers(lines) + "\n", "utf-8")


def join_numbers(text: str) -> str:
    out: list[str] = []
    for line in text.split("\n"):
        bare = line.strip().rstrip(",")
        if out and (bare.isdigit() or (bare == "]" and out[-1].rstrip(",")[-1].isdigit())):
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
        folder, add_eos_token=True, use_fast=True, trust_remote_code=True, padding_side="left"
    )
    tokenizer.chat_template = chat_template
    tokenizer.pad_token = tokenizer.eos_token
    texts = []
    for reports in CASES.values():
        reference, candidate = (" ".join(report.split()[:WORDS]) for report in reports)
        prompt = TEMPLATE.replace("{text1}", "\0").replace("{text2}", candidate)
        chat = [
            {"from": "human", "value": prompt.replace("\0", reference)},
            {"from": "gpt", "value": ""},
        ]
        texts.append(
            tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
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
    return dict(zip(CASES, made, strict=True))


def make_tokenizers() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    train_tokenizer(FOLDER / "llama")
    sentencepiece_alone(FOLDER / "sentencepiece")
    byte_level(FOLDER / "phi")


def sentencepiece_alone(folder: Path) -> None:
    """A Llama tokenizer as `use_fast=False` saves it: no tokenizer.json."""
    folder.mkdir()
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(line for text in corpus() for line in text.split("\n") if line),
        model_writer=written,
        model_type="bpe",
        vocab_size=700,
        byte_fallback=True,
        character_coverage=1.0,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=True,
        minloglevel=2,
    )
    (folder / "tokenizer.model").write_bytes(written.getvalue())
    token = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
    config = {
        "add_bos_token": True,
        "add_eos_token": False,
        "added_tokens_decoder": {
            **{
                str(at): {"content": content, **token, "special": True}
                for at, content in enumerate(("<unk>", "<s>", "</s>"))
            },
            "700": {"content": "<pad>", **token, "special": True},
        },
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "legacy": False,
        "tokenizer_class": "LlamaTokenizer",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1), "utf-8")


def byte_level(folder: Path) -> None:
    """A byte-level tokenizer that puts nothing around a text, as Phi 2's."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    folder.mkdir()
    end = "<|endoftext|>"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.train_from_iterator(
        corpus(),
        trainers.BpeTrainer(
            vocab_size=700,
            special_tokens=[end],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "add_prefix_space": False,
        "bos_token": end,
        "eos_token": end,
        "unk_token": end,
        "tokenizer_class": "CodeGenTokenizer",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1), "utf-8")
    (folder / "config.json").write_text(json.dumps({"model_type": "phi"}), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
