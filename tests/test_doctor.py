"""`judge doctor`: what is here, without a word of any key and without a hosted provider."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from typing import ClassVar

import pytest
from support import Invoke

from judge.backends.models import SOON, table

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "VLLM_API_KEY")
SECRET = "sk-not-to-be-seen-8d1f"


class Models(BaseHTTPRequestHandler):
    """A server that lists one model; what it was sent is kept."""

    seen: ClassVar[list[tuple[str, dict[str, str]]]] = []

    def do_GET(self) -> None:
        self.seen.append((self.path, dict(self.headers)))
        body = json.dumps({"data": [{"id": "green-7b"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def models() -> Iterator[str]:
    Models.seen = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Models) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*KEYS, "AZURE_OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JUDGE_CACHE", str(tmp_path / "cache"))


def test_it_says_what_is_there(invoke: Invoke) -> None:
    done = invoke("doctor", "--format", "json")
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["version"] == metadata.version("radiology-judge")
    assert re.fullmatch(r"3\.\d+\.\d+.*", data["python"])
    extras = {entry["extra"]: entry for entry in data["extras"]}
    assert {"vllm", "hf", "ray", "serve", "figures", "anthropic"} <= extras.keys()
    assert not {"dev", "test", "browser"} & extras.keys()
    assert extras["serve"]["installed"]
    for entry in extras.values():
        assert entry["installed"] is not bool(entry["missing"])
        command = entry["install"]
        assert command.startswith("pip install ") is bool(entry["missing"])
        assert all(name in command for name in entry["missing"])
    assert data["cache"]["answers"] == 0
    assert isinstance(data["gpus"], list)
    assert data["servers"] == []
    text = invoke("doctor").stdout
    for line in (
        "judge ",
        "Python ",
        "cache ",
        "GPU ",
        "Extras",
        "Keys",
        "Judges that",
    ):
        assert re.search(rf"^{line}", text, re.MULTILINE), line


def test_an_extra_that_is_missing_says_how_it_is_installed(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = metadata.version

    def without_fastapi(name: str) -> str:
        if name == "fastapi":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", without_fastapi)
    done = invoke("doctor", "--table", "extras", "--format", "csv")
    rows = dict(csv.reader(io.StringIO(done.stdout)))
    assert re.fullmatch(r"pip install 'fastapi>=[\d.]+'", rows["serve"])
    assert rows["excel"] == "installed"
    assert done.exit_code == 0, "nobody asked for the service"


def test_keys_are_named_and_never_shown(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, models: str
) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("GEMINI_API_KEY", "schlüssel")
    monkeypatch.setenv("OPENAI_BASE_URL", models)
    for form in ("table", "json", "md"):
        done = invoke("doctor", "--format", form, "-v")
        assert done.exit_code == 0
        assert SECRET not in done.output
        assert "schlüssel" not in done.output
    keys = json.loads(invoke("doctor", "-f", "json").stdout)["keys"]
    assert keys["OPENAI_API_KEY"] == "set"
    assert keys["AZURE_OPENAI_API_KEY"] == "not set"
    assert keys["GEMINI_API_KEY"] == "set, but not in printable ASCII"
    assert Models.seen
    assert {path for path, _ in Models.seen} == {"/v1/models"}
    assert SECRET not in str(Models.seen)


def test_only_configured_servers_are_asked(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, models: str
) -> None:
    done = invoke("doctor", "--base-url", models, "-t", "servers", "-f", "csv")
    assert (done.exit_code, done.stdout) == (
        0,
        f"server,says\n{models},serves green-7b\n",
    )
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    lost = invoke("doctor", "-f", "json")
    assert lost.exit_code == 0, "it was not asked for by name"
    (server,) = json.loads(lost.stdout)["servers"]
    assert server["is_reachable"] is False
    asked = invoke("doctor", "--base-url", "http://127.0.0.1:9/v1", "-q")
    assert asked.exit_code == 1
    assert "does not answer" in asked.stdout


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1",
        "https://mine.openai.azure.com/openai/v1",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "https://openrouter.ai/api/v1",
    ],
)
def test_a_hosted_provider_is_not_asked(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a provider was asked")

    monkeypatch.setattr("httpx2.Client", refuse)
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    (server,) = json.loads(invoke("doctor", "-f", "json").stdout)["servers"]
    assert server == {
        "url": url,
        "is_reachable": None,
        "says": "a hosted provider: not asked",
    }


def test_judges_that_end_soon_have_a_day_and_a_source(invoke: Invoke) -> None:
    data = json.loads(invoke("doctor", "--format", "json").stdout)
    facts = {model.name: model for model in table().models}
    today = dt.datetime.now(dt.UTC).date()
    wanted = {
        name
        for name, model in facts.items()
        if model.ends is not None and model.ends - today <= SOON
    }
    assert {entry["judge"] for entry in data["endings"]} == wanted
    assert data["endings_as_of"] == table().as_of.isoformat()
    for entry in data["endings"]:
        model = facts[entry["judge"]]
        assert entry["ends"] == str(model.ends)
        assert entry["successor"] == model.successor
        assert "deprecations" in entry["source"]


def test_what_was_asked_for_and_is_broken_is_exit_code_1(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert invoke("doctor", "--judge", "lexicon").exit_code == 0
    keyless = invoke("doctor", "--judge", "gpt-6-luna")
    assert keyless.exit_code == 1
    assert "its key is missing: set OPENAI_API_KEY" in keyless.stdout
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert invoke("doctor", "--judge", "gpt-6-luna").exit_code == 0
    assert invoke("doctor", "--judge", "lexcion").exit_code == 1
    (tmp_path / "file").write_text("x", "utf-8")
    damaged = invoke("doctor", "--cache", tmp_path / "file")
    assert damaged.exit_code == 1
    assert "no folder" in damaged.stdout


def test_verbose_logs_each_request(invoke: Invoke, models: str) -> None:
    plain = invoke("doctor", "--base-url", models)
    verbose = invoke("doctor", "--base-url", models, "--verbose")
    assert plain.stderr == ""
    assert f"GET {models}/models" in verbose.stderr
    assert verbose.stdout == plain.stdout
    assert invoke("doctor", "--base-url", models).stderr == "", "for one command alone"
