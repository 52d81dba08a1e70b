"""Stand-ins for what the authors publish, with texts of our own, and a server that has them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

from judge.prompts import official
from judge.prompts.official import Recipe, recipes

TEMPLATE = (
    "Aim:\tcompare.\n\n    1. A:\n    {text1}\n\n    2. B:\n    {text2}\n\n"
    "    ```\n    [Explanation]: <why>; costs $5, 'quoted', \"twice\",\n"
    "    a \\ and {braces} #\n    ```\n"
)
# Running it would be noticed.
GREEN_SOURCE = f'''\
import no_such_module_anywhere

raise SystemExit("this file was run")

def make_prompt(text1, text2, max_len=300):
    """Not the template: {{text1}}."""
    text1 = " ".join(text1.split()[:max_len])
    prompt = f{TEMPLATE.replace("{braces}", "{{braces}}")!r}
    return prompt
'''
TEXTS_SOURCE = '''\
INSTRUCTION = """Correct the report.
\tName éach line.
"""
OTHER = INSTRUCTION + "computed"
answer1 = {"0": {"corrections": "[delete]", "error category": ["a"]}}
answer2 = {}
raise SystemExit("this file was run")
'''
PAIR = """\
            {"role": "user", "content": "Text: [0] Three. \\n Truth: Three."},
            {"role": "assistant", "content": json.dumps(answer2)},
"""
CALL_SOURCE = '''\
from few_shot_prompt import *

def generate_gpt4_response(pred_target, gt_target):
    response = api.create(
        engine="x",
        messages=[
            {"role": "system", "content": INSTRUCTION},
            {"role": "user", "content": """Text: [0] One. [1] Two. \\n \\n
                Truth: "One."""},
            {"role": "assistant", "content": json.dumps(answer1)},
MORE PAIRS
            {"role": "user", "content": f"Text: {pred_target} \\n \\n Truth: {gt_target}"}
        ],
    )
    return response

def generate_gpt4_response_zeroshot(pred_target, gt_target):
    return api.create(messages=[{"role": "user", "content": INSTRUCTION + "x"}])
'''.replace("MORE PAIRS\n", 4 * PAIR)
# A text for each name in the recipe, and what it must leave alone.
CRIMSON_TEXTS = {
    name: f"{name.title()} for $5:\n    - {{{{R1}}}}, {{x}} 'quoted' \\ é\n"
    for name in re.findall(
        r"\$([A-Z_]+)", recipes()["crimson-official"].wording["user_in_context"]
    )
}
CRIMSON_SOURCE = "\n\n".join(
    (
        '"""Parts of a prompt."""',
        *(f"{name} = {text!r}" for name, text in CRIMSON_TEXTS.items()),
        "UNKNOWN = 'a text that no prompt has'",
        "COMPUTED = OBJECTIVE + TASK_STEPS",
        'raise SystemExit("this file was run")\n',
    )
)


SOURCES: dict[str, dict[str, str]] = {
    "crimson-official": {"CRIMSON/prompt_parts.py": CRIMSON_SOURCE},
    "crimson-medgemma-official": {"CRIMSON/prompt_parts.py": CRIMSON_SOURCE},
    "green-official": {"green_score/utils.py": GREEN_SOURCE},
    "fineradscore-official": {
        "few_shot_prompt.py": TEXTS_SOURCE,
        "gpt4_generations.py": CALL_SOURCE,
    },
}


def stand_in(name: str) -> Recipe:
    """The recipe of an official prompt that takes our source for the authors'."""
    recipe = recipes()[name]
    return replace(recipe, sha256=recipe.build(SOURCES[name]).sha256)


STAND_INS = {name: stand_in(name) for name in SOURCES}


@contextmanager
def serving(
    folder: Path, edit: Callable[[str], str] = lambda source: source
) -> Iterator[list[str]]:
    """Serve the sources, as edited, in GitHub's place; gives the list of what is asked."""
    for name, recipe in STAND_INS.items():
        for path, source in SOURCES[name].items():
            place = folder / recipe.repository / recipe.commit / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(edit(source), "utf-8")
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            asked.append(self.path)

    handler = partial(Handler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        try:
            with mock.patch.object(
                official, "HOST", f"http://127.0.0.1:{server.server_port}"
            ):
                yield asked
        finally:
            server.shutdown()
            thread.join()
