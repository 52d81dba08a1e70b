"""Stand-ins for what the authors publish, with texts of our own, and a server that has them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from judge.official import Recipe, recipes

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
    for name in re.findall(r"\$([A-Z_]+)", recipes()["crimson-official"].wording["user_in_context"])
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


def published() -> dict[str, bytes]:
    """What the server has, by path."""
    return {
        f"/{recipe.repository}/{recipe.commit}/{path}": source.encode()
        for name, recipe in STAND_INS.items()
        for path, source in SOURCES[name].items()
    }


Answer = Callable[[BaseHTTPRequestHandler, bytes | None], None]


def plainly(request: BaseHTTPRequestHandler, body: bytes | None) -> None:
    """Give the file, or say that it is not there."""
    request.send_response(404 if body is None else 200)
    request.send_header("Content-Length", str(len(body or b"")))
    request.end_headers()
    request.wfile.write(body or b"")


def half(request: BaseHTTPRequestHandler, body: bytes | None) -> None:
    """Promise the whole file, give half of it and hang up."""
    assert body is not None
    request.send_response(200)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body[: len(body) // 2])


@contextmanager
def serving(files: dict[str, bytes], answer: Answer = plainly) -> Iterator[tuple[str, list[str]]]:
    """Serve `files` on loopback; gives the address and the list of what was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            answer(self, files.get(self.path))

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
