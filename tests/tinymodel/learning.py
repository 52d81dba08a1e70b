"""Teaching: a model learns a few answers by heart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

# By how much, in logits, every token leads its runner-up before the model has learnt enough:
# rounding on another machine or in another kernel must not change which one is first.
MARGIN = 2.0
# Seldom all taken: the rate rises over the first third of them, and a quicker rise now and then
# ends where two prompts cannot be told apart.
STEPS = 400
RATE = 3e-3
PATIENCE = 5


class NotLearntError(Exception):
    """The model does not give an answer that it was taught."""


def teach(folder: Path, pairs: Sequence[tuple[Sequence[int], str]]) -> None:
    """Train the model in `folder` until it gives each answer to its prompt, and save it.

    `pairs` are prompts as token ids and the answers as text; an answer is followed by the
    end-of-sequence token. Raises `NotLearntError` where it is not certain of each token after
    `STEPS` steps.
    """
    import torch
    from tokenizers import Tokenizer
    from transformers import LlamaForCausalLM

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    taught = [
        (list(prompt), [*tokenizer.encode(text, add_special_tokens=False).ids, 2])
        for prompt, text in pairs
    ]
    model = LlamaForCausalLM.from_pretrained(folder).float().train()
    torch.manual_seed(0)
    ids, labels = _batch(taught)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS)
    wanted = labels != -100
    for step in range(STEPS):
        hidden = model.model(ids, attention_mask=(ids != 0).long()).last_hidden_state
        # Only what answers: the logits of the prompts would take most of the time.
        logits = model.lm_head(hidden[:, :-1][wanted[:, 1:]])
        target = labels[:, 1:][wanted[:, 1:]]
        loss = torch.nn.functional.cross_entropy(logits, target)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % PATIENCE == 0 and _margin(logits.detach(), target) > MARGIN:
            break
    else:
        raise NotLearntError(
            f"after {STEPS} steps, a token still leads by less than {MARGIN}"
        )
    model.eval().save_pretrained(folder)


def _batch(taught: list[tuple[list[int], list[int]]]):
    """Return ids padded on the right, and labels that leave out prompts and padding."""
    import torch

    longest = max(len(prompt) + len(answer) for prompt, answer in taught)
    ids, labels = [], []
    for prompt, answer in taught:
        padding = longest - len(prompt) - len(answer)
        ids.append([*prompt, *answer, *[0] * padding])
        labels.append([-100] * len(prompt) + answer + [-100] * padding)
    return torch.tensor(ids), torch.tensor(labels)


def _margin(logits, target) -> float:
    """Return the least lead of a wanted token over the best other one."""
    wanted = logits.gather(1, target[:, None])[:, 0]
    others = logits.scatter(1, target[:, None], float("-inf")).max(1).values
    return float((wanted - others).min())
