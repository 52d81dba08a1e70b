"""Run what the pages show, and compare what is printed with what they say is printed.

    python docs/site/page_runs.py README.md docs/index.md            # names what is wrong
    python docs/site/page_runs.py --record README.md docs/index.md   # writes the outputs anew

The commands and the Python of a page run in their order, in an empty folder that has the examples.
`page_blocks` explains the marks of a page. Nothing of a page needs a network: a block that does is
marked as not run, and `page_checks` reads it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import json
import os
import pkgutil
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import traceback
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import click
from page_blocks import Block, Comment, Page, logical_lines, without_comment

import judge.__main__

ROOT = Path(__file__).parents[2]
_OUTPUT = re.compile(
    r'^(?:in part)?(?:of "(?P<of>[^"]+)")?,? ?(?:from "(?P<start>[^"]+)")?,? ?'
    r"(?:(?P<count>\d+) lines?)?$"
)
_ADDRESS = "http://127.0.0.1:8321"
_INSTALL = re.compile(r"^pip install [^&]*(?:&&\s*|$)")
_OLD_NAME = re.compile(r"will be removed|is gone:|is an old name|write .* instead")
_LONGEST_WAIT = 120.0
_FOR_A_SHELL = re.compile(r"[|&;<>$`*?~{}()!\\\n]")


class PageError(Exception):
    """What is wrong with a page, in words."""


class PageRun:
    """A page while it runs: its folder, what was printed, and the service that it has started."""

    def __init__(self, page: Page, folder: Path, *, records: bool) -> None:
        self.page = page
        self.folder = folder
        self.records = records
        self.problems: list[str] = []
        self.new_text: list[tuple[Block, str]] = []
        self.printed: list[tuple[str, str]] = []
        self.exports: list[str] = []
        self.names: dict[str, Any] = {"__name__": "page"}
        self.service: subprocess.Popen[str] | None = None
        self.address = ""
        self.n_run = 0

    def run(self) -> None:
        """Run the page from its first block to its last."""
        steps: list[Block | Comment] = [*self.page.blocks, *self.page.comments]
        try:
            for step in sorted(steps, key=lambda step: step.start):
                try:
                    self._step(step)
                except PageError as failure:
                    self.problems.append(f"{self.page.path}:{step.line}: {failure}")
        finally:
            self._end_service()

    def _step(self, step: Block | Comment) -> None:
        if isinstance(step, Comment):
            if step.text.startswith("setup: python\n"):
                source = step.text.partition("\n")[2]
                self.printed.append((source, self._python(source)))
            elif step.text.startswith("printed:"):
                self._compare_figures(step)
            return
        if step.mark("output") is not None:
            self._compare(step)
        elif step.mark("not run") is not None:
            return
        elif step.file:
            self._write(step.file, step.text)
        elif step.language == "sh":
            self._shell(step)
        elif step.language == "python":
            self.printed.append((step.text, self._python(step.text)))

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        if path.name == "pyproject.toml":
            _pretend_installed(path)

    def _shell(self, block: Block) -> None:
        lines = logical_lines(block.text)
        for position, line in enumerate(lines):
            command = _INSTALL.sub("", without_comment(line))
            if not command or command == "pytest":
                continue
            expected = 0
            if position == len(lines) - 1:
                expected = int(block.mark("exit") or 0)
            if command.startswith("export "):
                self.exports.append(command)
            elif re.match(r"(\w+=\S+ )*judge serve\b", command):
                self._serve(command)
            else:
                self._command(command, expected)

    def _prepared(self, command: str) -> str:
        """Return a command with real names in place of those that stand for any."""
        for run in sorted(self.folder.glob("tested/runs/*/")):
            command = command.replace("tested/runs/RUN", str(run), 1)
        # Beside the runs there may be folders of experiments.
        runs = sorted(self.folder.glob("judge-runs/*/manifest.json"))
        if runs:
            command = re.sub(r"(?<![\w/])RUN\b", str(runs[0].parent), command)
        if self.address:
            command = command.replace(_ADDRESS, self.address)
        if find_spec("vl_convert") is None:
            command = re.sub(r" --(figures|only) \S+", "", command)
        return "\n".join([*self.exports, command])

    def _command(self, command: str, expected: int) -> None:
        prepared = self._prepared(command)
        try:
            if self._is_plain(prepared):
                done = run_judge(
                    shlex.split(prepared), self.folder, self._environment()
                )
            else:
                done = subprocess.run(
                    ["bash", "-euc", prepared],
                    cwd=self.folder,
                    env=self._environment(),
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=_LONGEST_WAIT,
                )
        except (subprocess.TimeoutExpired, TimeoutError) as error:
            raise PageError(f"`{command}` does not end") from error
        self.n_run += 1
        self.printed.append((command, done.stdout or done.stderr))
        if done.returncode != expected:
            raise PageError(f"`{command}` ended with {done.returncode}:\n{done.stderr}")
        if _OLD_NAME.search(done.stderr):
            raise PageError(f"`{command}` has an old name:\n{done.stderr}")

    def _is_plain(self, command: str) -> bool:
        """Whether a command is `judge` alone, without anything that a shell has to do."""
        if self.exports or (self.folder / "parts").exists():
            return False
        # A copy has one thread, and would wait for what the others hold.
        if threading.active_count() > 1:
            return False
        return command.startswith("judge ") and not _FOR_A_SHELL.search(command)

    def _environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.endswith("_API_KEY")
            and not name.startswith(("OPENAI", "JUDGE"))
        }
        kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        kept["JUDGE_CACHE"] = str(self.folder / ".cache")
        kept["PYTHONPATH"] = str(self.folder / "parts")
        kept["PYTHONIOENCODING"] = "utf-8"
        kept.pop("COLUMNS", None)
        return kept

    def _serve(self, command: str) -> None:
        """Start a service on a free port; the rest of the page asks it."""
        self._end_service()
        log = self.folder / ".serve.log"
        words = " ".join([self._prepared(command), "--port 0"])
        # `exec`, so that the signal reaches the service and not the shell.
        words = re.sub(r"\bjudge serve", "exec judge serve", words, count=1)
        with log.open("w", encoding="utf-8") as stream:
            self.service = subprocess.Popen(
                ["bash", "-euc", words],
                cwd=self.folder,
                env=self._environment(),
                stdout=stream,
                stderr=subprocess.STDOUT,
                text=True,
            )
        end = time.monotonic() + _LONGEST_WAIT
        while time.monotonic() < end and self.service.poll() is None:
            found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text("utf-8"))
            if found and _answers(found[0]):
                self.address = found[0]
                self.n_run += 1
                return
            time.sleep(0.2)
        raise PageError(f"`{command}` does not answer:\n{log.read_text('utf-8')}")

    def _end_service(self) -> None:
        if self.service is not None and self.service.poll() is None:
            self.service.send_signal(signal.SIGINT)
            self.service.wait(30)
        self.service = None
        self.address = ""

    def _python(self, source: str) -> str:
        if self.address:
            source = source.replace(_ADDRESS, self.address)
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), contextlib.chdir(self.folder):
                exec(compile(source, self.page.path.name, "exec"), self.names)  # noqa: S102
        except (Exception, SystemExit) as error:
            raise PageError("".join(traceback.format_exception(error)[-3:])) from error
        self.n_run += 1
        return printed.getvalue()

    def _compare(self, block: Block) -> None:
        """Compare an output that a page shows with what was printed; record it where asked."""
        words = block.mark("output") or ""
        choice = _OUTPUT.match(words)
        if choice is None:
            raise PageError(f"cannot read the mark `output {words}`")
        if not self.printed:
            raise PageError("an output before any command")
        printed = self.printed[-1][1]
        if choice["of"]:
            of = [text for command, text in self.printed if choice["of"] in command]
            if not of:
                raise PageError(f"no command before has {choice['of']!r}")
            printed = of[-1]
        if words.startswith("in part"):
            if not _is_part(json.loads(block.text), json.loads(printed)):
                raise PageError(
                    f"the JSON is not a part of what is printed:\n{printed}"
                )
            return
        lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
        if choice["start"]:
            starts = [at for at, line in enumerate(lines) if choice["start"] in line]
            if not starts:
                raise PageError(f"no line printed has {choice['start']!r}:\n{printed}")
            lines = lines[starts[0] :]
        if choice["count"]:
            lines = lines[: int(choice["count"])]
        text = "".join(f"{line}\n" for line in lines)
        text = text.replace(str(self.folder), "/home/me").replace(
            self.address or _ADDRESS, _ADDRESS
        )
        shown = "".join(f"{line.rstrip()}\n" for line in block.text.splitlines())
        if shown == text:
            return
        if self.records:
            self.new_text.append((block, text))
        else:
            raise PageError(f"shown is\n{shown}but printed is\n{text}")

    def _compare_figures(self, comment: Comment) -> None:
        """Check that figures stand in the paragraph before, and were printed."""
        before = self.page.text[: comment.start].rstrip().rpartition("\n\n")[2]
        paragraph = _flat(before)
        printed = _flat(" ".join(text for _, text in self.printed))
        for figure in comment.text.removeprefix("printed:").split(";"):
            wanted = _flat(figure)
            if wanted not in paragraph:
                raise PageError(f"{wanted!r} is not in the paragraph before the mark")
            if wanted not in printed:
                raise PageError(f"{wanted!r} was printed by no command of the page")


def run_judge(
    words: list[str], folder: Path, environ: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command of `judge` in a copy of this process, which has loaded its libraries already.

    A page has up to forty commands, and each would take longer to load pandas than for its work.
    Raises `TimeoutError` for one that does not end.
    """
    _load_libraries()
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as said:
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process == 0:
            os.dup2(printed.fileno(), 1)
            os.dup2(said.fileno(), 2)
            _be_judge(words, folder, environ)
        status = _status_of(process)
        texts = []
        for file in (printed, said):
            file.seek(0)
            texts.append(file.read().decode("utf-8"))
    return subprocess.CompletedProcess(words, status, *texts)


@functools.cache
def _load_libraries() -> None:
    for name in ("cli", "comparing", "running", "stats", "stress", "studies", "tables"):
        package = importlib.import_module(f"judge.{name}")
        for module in pkgutil.iter_modules(package.__path__, f"judge.{name}."):
            importlib.import_module(module.name)


def _be_judge(words: list[str], folder: Path, environ: dict[str, str]) -> NoReturn:
    status = 1
    try:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environ)
        sys.argv = words
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        judge.__main__.main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as Python itself ends
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _status_of(process: int) -> int:
    end = time.monotonic() + _LONGEST_WAIT
    while time.monotonic() < end:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    raise TimeoutError


def _flat(text: str) -> str:
    return " ".join(text.split())


def _answers(address: str) -> bool:
    asked = ["curl", "--silent", "--output", "/dev/null", address]
    return subprocess.run(asked, check=False).returncode == 0


def _is_part(shown: object, whole: object) -> bool:
    """Whether JSON that is shown is there in what was printed; lists have as many entries."""
    if isinstance(shown, dict):
        if not isinstance(whole, dict):
            return False
        return all(
            name in whole and _is_part(shown[name], whole[name]) for name in shown
        )
    if isinstance(shown, list):
        if not isinstance(whole, list) or len(shown) != len(whole):
            return False
        return all(
            _is_part(one, other) for one, other in zip(shown, whole, strict=True)
        )
    return shown == whole


def _pretend_installed(project: Path) -> None:
    """Write what pip would write of a package, so that its entry points are found."""
    table = tomllib.loads(project.read_text("utf-8"))["project"]
    name = table["name"].replace("-", "_")
    (project.parent / name).mkdir(exist_ok=True)
    (project.parent / name / "__init__.py").touch()
    metadata = project.parent / f"{name}-{table['version']}.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(
        f"Name: {table['name']}\nVersion: {table['version']}\n", "utf-8"
    )
    lines = []
    for group, entries in table["entry-points"].items():
        lines.append(f"[{group}]\n")
        lines += [f"{entry} = {value}\n" for entry, value in entries.items()]
    (metadata / "entry_points.txt").write_text("".join(lines), "utf-8")


def run_page(path: Path, *, records: bool = False) -> PageRun:
    """Run a page; the run has what is wrong with it."""
    page = Page(path)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        shutil.copytree(
            ROOT / "examples",
            place / "examples",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        for name in ("preds.json", "refs.json"):
            shutil.copy(ROOT / "examples" / name, place)
        # What Python within a page writes and keeps belongs to the page, too.
        os.environ["JUDGE_CACHE"] = str(place / ".cache")
        run = PageRun(page, place, records=records)
        run.run()
    if records:
        for block, text in sorted(run.new_text, key=lambda pair: -pair[0].start):
            page.text = page.with_block(block, text)
        path.write_text(page.text, "utf-8")
    return run


@click.command()
@click.option("--record", is_flag=True, help="Write the outputs anew.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
def main(*, record: bool, paths: tuple[Path, ...]) -> None:
    """Run the commands and the Python of pages; exit code 1 if anything is not as they say."""
    n_problems = 0
    for path in paths:
        started = time.monotonic()
        run = run_page(path.resolve(), records=record)
        seconds = time.monotonic() - started
        click.echo(f"{path}: {run.n_run} runs, {seconds:.0f} s", err=True)
        for problem in run.problems:
            click.echo(problem)
        n_problems += len(run.problems)
    sys.exit(1 if n_problems else 0)


if __name__ == "__main__":
    main()
