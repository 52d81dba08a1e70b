"""FineRadScore's official prompt: the turns of the call in `generate_gpt4_response`.

The first file holds the instruction and the worked corrections as values; in the second
stands the call whose `messages` put them together, the last with the two reports.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping

from judge.official import syntax
from judge.prompts import Prompt
from judge.types import JudgeError, Message

NAME = "fineradscore-official"
TEXTS, CALL = "few_shot_prompt.py", "gpt4_generations.py"

_FUNCTION = "generate_gpt4_response"
# Their name of each report, and ours: the candidate comes with its lines numbered.
_CANDIDATE, _REFERENCE = ("{pred_target}", "${row}"), ("{gt_target}", "${reference}")
_NAMES = ("pred_target", "gt_target")


def read(sources: Mapping[str, str]) -> str:
    """Return the turns as canonical JSON: a list of pairs of a role and a content."""
    texts = _values(syntax.parsed(sources[TEXTS], TEXTS))
    body = syntax.function(syntax.parsed(sources[CALL], CALL), _FUNCTION, CALL)
    calls = [
        keyword.value
        for node in ast.walk(body)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "messages"
    ]
    if len(calls) != 1 or not isinstance(calls[0], ast.List):
        raise JudgeError(f"{_FUNCTION} in {CALL} holds no single list of messages")
    turns = [_turn(node, texts) for node in calls[0].elts]
    roles = [role for role, _ in turns]
    if roles != ["system", *["user", "assistant"] * (len(roles) // 2 - 1), "user"]:
        raise JudgeError(f"the turns of {_FUNCTION} in {CALL} do not alternate as they should")
    return _canonical(turns)


def build(turns: str) -> Prompt:
    """Return the prompt of the turns that `read` gives."""
    (_, system), *shots, (_, question) = json.loads(turns)
    user = question.replace("$", "$$")
    for theirs, ours in (_CANDIDATE, _REFERENCE):
        user = user.replace(theirs, ours)
    return Prompt(
        NAME,
        1,
        "fineradscore",
        system,
        user,
        turns=tuple(Message(role, content) for role, content in shots),
    )


def text(prompt: Prompt) -> str:
    """Return the turns of a prompt, as `read` gives them."""
    user = prompt.user
    for theirs, ours in (_CANDIDATE, _REFERENCE):
        user = user.replace(ours, theirs)
    shots = [(turn.role, turn.content) for turn in prompt.turns]
    return _canonical([("system", prompt.system), *shots, ("user", user.replace("$$", "$"))])


def _canonical(turns: list[tuple[str, str]]) -> str:
    return json.dumps(turns, ensure_ascii=True, separators=(",", ":"))


def _values(tree: ast.Module) -> dict[str, object]:
    """Return the values that the module gives to names, where they are plain literals."""
    found: dict[str, object] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                try:
                    found[name] = ast.literal_eval(value)
                except ValueError:
                    continue
    return found


def _turn(node: ast.expr, texts: Mapping[str, object]) -> tuple[str, str]:
    match node:
        case ast.Dict(
            keys=[ast.Constant(value="role"), ast.Constant(value="content")],
            values=[ast.Constant(value=str(role)), content],
        ):
            return role, _content(content, texts)
    raise JudgeError(f"{_FUNCTION} in {CALL} holds a message of an unexpected form")


def _content(node: ast.expr, texts: Mapping[str, object]) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr():
            return syntax.template(node, _NAMES, CALL)
        case ast.Name(id=name) if isinstance(texts.get(name), str):
            return str(texts[name])
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="json"), attr="dumps"),
            args=[ast.Name(id=name)],
            keywords=[],
        ) if name in texts:
            return json.dumps(texts[name])
    raise JudgeError(f"{_FUNCTION} in {CALL} holds a message of an unexpected form")
