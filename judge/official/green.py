"""GREEN's official prompt: the f-string of `make_prompt`, and its 300 words a report."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from judge.official import syntax
from judge.prompts import GREEN, Prompt
from judge.types import JudgeError

NAME = "green-official"
WORDS = 300
"""How many words of a report the published pipeline shows (`max_len` of `make_prompt`)."""

_FUNCTION = "make_prompt"
# Their name of each report, and ours.
_REFERENCE, _CANDIDATE = ("{text1}", "${reference}"), ("{text2}", "${candidate}")


def read(sources: Mapping[str, str]) -> str:
    """Return the template in the one source, with `{text1}` and `{text2}` for the reports."""
    ((where, source),) = sources.items()
    body = syntax.function(syntax.parsed(source, where), _FUNCTION, where)
    found = [
        node.value
        for node in ast.walk(body)
        if isinstance(node, ast.Assign | ast.Return) and isinstance(node.value, ast.JoinedStr)
    ]
    if len(found) != 1:
        raise JudgeError(f"{_FUNCTION} in {where} holds {len(found) or 'no'} templates, not one")
    return syntax.template(found[0], ("text1", "text2"), where)


def build(template: str) -> Prompt:
    """Return the prompt of a template."""
    user = template.replace("$", "$$")
    for theirs, ours in (_REFERENCE, _CANDIDATE):
        user = user.replace(theirs, ours)
    return Prompt(NAME, 1, "green", "", user, words=WORDS, layout=GREEN)


def text(prompt: Prompt) -> str:
    """Return the template of a prompt."""
    user = prompt.user
    for theirs, ours in (_REFERENCE, _CANDIDATE):
        user = user.replace(ours, theirs)
    return user.replace("$$", "$")
