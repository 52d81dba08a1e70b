"""The prompts of the rubrics' authors: their text is not ours, so it is fetched, like weights.

Each is read from its authors' published source without running it, accepted only if it is
the text that is known, and kept in the user's configuration folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from judge import prompts
from judge.official.known import KNOWN, Official
from judge.prompts import Prompt
from judge.types import JudgeError

__all__ = ["KNOWN", "VARIABLE", "Official", "load", "place"]

VARIABLE = "JUDGE_CONFIG"


def place(name: str, environ: Mapping[str, str]) -> Path:
    """Return the file that the prompt `name` is kept in: under `JUDGE_CONFIG`, if that is set."""
    if named := environ.get(VARIABLE):
        return Path(named).expanduser() / "prompts" / f"{name}.yaml"
    from platformdirs import user_config_path

    return user_config_path("judge", appauthor=False) / "prompts" / f"{name}.yaml"


def load(name: str, environ: Mapping[str, str], known: Mapping[str, Official] = KNOWN) -> Prompt:
    """Return an official prompt by its name, any other as `judge.prompts.load` does.

    Raises `JudgeError` for an official prompt that has not been fetched, and for one that is
    no longer what was fetched.
    """
    if name not in known:
        return prompts.load(name)
    path = place(name, environ)
    if not path.is_file():
        raise JudgeError(
            f"the prompt {name} is its authors' text and is not on this machine yet: run "
            f"`judge prompts fetch {name}`; or ask with another wording, such as "
            f"--prompt {known[name].rubric}"
        )
    prompt = prompts.load(str(path))
    if not known[name].is_genuine(prompt):
        raise JudgeError(
            f"{path} is not the prompt {name} as its authors published it: run "
            f"`judge prompts fetch {name}` to get it again, or rename a prompt of your own"
        )
    return prompt
