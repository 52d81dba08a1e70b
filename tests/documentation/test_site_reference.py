"""The reference in the site has all that the program has: looked up in the program here, anew."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from sitehelp import Parts, parts
from support import EXAMPLES, ROOT, Invoke

import judge
from judge import plugins, rubrics
from judge.cli import main

OWN = [name for name in rubrics.names() if not plugins.RUBRICS.packages(name)]


def commands() -> Iterator[tuple[list[str], click.Command]]:
    """Every command with the words that call it, but those of rubrics that the tests add."""

    def below(
        command: click.Command, words: list[str]
    ) -> Iterator[tuple[list[str], click.Command]]:
        if words:
            yield words, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                if not plugins.RUBRICS.packages(name):
                    found = command.get_command(context, name)
                    assert found is not None
                    yield from below(found, [*words, name])

    return below(main, [])


COMMANDS = list(commands())


def reference(site: Path, name: str) -> Parts:
    return parts(site / "reference" / name / "index.html")


def test_there_are_commands_of_each_sort() -> None:
    called = {" ".join(words) for words, _ in COMMANDS}
    assert {"green", "compare", "cache verify", "stress make"} <= called
    assert len(OWN) >= 6


@pytest.mark.parametrize(
    ("words", "command"), COMMANDS, ids=[" ".join(words) for words, _ in COMMANDS]
)
def test_every_command_and_option_is_there(
    site: Path, words: list[str], command: click.Command
) -> None:
    index = reference(site, "commands")
    assert f"judge {' '.join(words)}" in index.text
    if words[0] in OWN:
        found = [reference(site, f"commands/{name}") for name in ("rubric", "rubric-running")]
    else:
        found = [reference(site, f"commands/{'-'.join(words)}")]
    text, ids = " ".join(page.text for page in found), set().union(*(page.ids for page in found))
    for option in command.params:
        names = [*option.opts, *option.secondary_opts]
        if isinstance(option, click.Argument):
            assert option.make_metavar(click.Context(command)).strip("[].") in text
        elif not getattr(option, "hidden", False):
            assert all(name in text for name in names), names
            assert set(names) & ids, names
            assert " ".join((option.help or "").split()).replace("`", "") in text, names


def test_what_one_rubric_alone_takes_is_said_to_be_its_own(site: Path) -> None:
    text = reference(site, "commands/rubric-running").text + reference(site, "commands/rubric").text
    taken = {
        words[0]: {option.opts[0] for option in command.params}
        for words, command in COMMANDS
        if words[0] in OWN
    }
    common = set.intersection(*taken.values())
    own = {name: options - common for name, options in taken.items() if options - common}
    assert own == {"direct": {"--samples"}}
    assert re.search(r"--samples \S+ direct only\.", text)


@pytest.mark.parametrize("name", judge.__all__)
def test_every_public_name_is_there(site: Path, name: str) -> None:
    index = (site / "reference/python/index.html").read_text("utf-8")
    of = getattr(judge, name)
    assert name in reference(site, "python").text.split()
    if name == "__version__":
        return
    (page,) = set(re.findall(rf'href="([a-z]+)/#{name}"', index))
    found = reference(site, f"python/{page}")
    assert name in found.ids
    assert f"from judge import {name}" in found.text
    if inspect.isfunction(of):
        assert all(one in found.text for one in inspect.signature(of).parameters)
    if inspect.isclass(of):
        public = [one for one, what in vars(of).items() if not one.startswith("_") and what.__doc__]
        if name == "Run":
            assert {"Run.table", "Run.outcomes", "Run.signature"} <= found.ids
            assert all(f"Run.{one}" in found.ids for one in public)
    if inspect.isclass(of) or inspect.isfunction(of):
        first = re.sub(r"[`\\]", "", (inspect.getdoc(of) or "").split("\n")[0])
        assert first in found.text


def test_the_keywords_of_annotate_are_there(site: Path) -> None:
    from judge.running.api import Options

    text = reference(site, "python/annotate").text
    for keyword in Options.__annotations__:
        assert re.search(rf"\b{keyword}\b", text), keyword


@pytest.mark.parametrize("name", OWN)
def test_all_that_a_rubric_declares_is_there(site: Path, name: str) -> None:
    rubric, text = rubrics.load(name), reference(site, f"rubrics/{name}").text
    declared = [
        *(one.name for one in (*rubric.measures, *rubric.statistics, *rubric.kinds)),
        *(label.name for facet in rubric.facets for label in facet.labels),
    ]
    assert not [one for one in declared if not re.search(rf"(?<!\w){re.escape(one)}(?!\w)", text)]
    assert all(one.title in text for one in rubric.sources)
    assert rubric.title in text
    assert rubric.title in reference(site, "rubrics").text


@pytest.fixture
def made(invoke: Invoke, tmp_path: Path) -> Path:
    """A folder of runs that hold more than a plain one: rescored, merged, a panel, a reader's."""
    preds, refs = EXAMPLES / "preds.json", EXAMPLES / "refs.json"
    own, readings = f"lexicon:{EXAMPLES / 'lexicon.yaml'}", EXAMPLES / "readers/readings.csv"
    several = EXAMPLES / "references.json"
    for line in (
        ["green", preds, refs, "--out", "one"],
        ["green", preds, refs, "--judge", own, "--out", "other"],
        ["panel", "one", "other", "--rule", "majority", "--out", "panel"],
        ["rescore", "one"],
        ["green", preds, refs, "--shard", "1/2", "--out", "shard-1"],
        ["merge", "shard-1", "--allow-missing", "--out", "merged"],
        ["import", "tidy", readings, "--section", "findings", "--out", "readers"],
        ["green", preds, several, "--references", "best", "--allow-missing", "--out", "best"],
    ):
        done = invoke(*line)
        assert done.exit_code == 0, done.stderr
    return tmp_path


def test_every_field_of_a_runs_files_is_there(site: Path, made: Path) -> None:
    said = {
        "manifest.json": reference(site, "files/run-folder").text,
        "summary.json": reference(site, "files/summary").text,
        "annotations.jsonl": reference(site, "files/annotations").text,
    }
    seen: dict[str, set[str]] = {name: set() for name in said}
    for name in said:
        for text in (path.read_text("utf-8") for path in made.rglob(name)):
            for one in text.splitlines() if name.endswith("l") else [text]:
                seen[name] |= json.loads(one).keys()
    assert {"rescored", "shards", "missing", "combined", "reading"} <= seen["manifest.json"]
    for name, keys in seen.items():
        words = said[name].split()
        assert not [key for key in keys if key not in words], name


def test_every_part_of_a_signature_is_there(site: Path, made: Path) -> None:
    words = reference(site, "files/signature").text.split()
    parts_of = {
        part.partition(":")[0]
        for path in made.rglob("manifest.json")
        for part in json.loads(path.read_text("utf-8"))["signature"].split("|")[1:]
    }
    assert {"judge", "layout", "runs", "without", "references"} <= parts_of
    # Those that only a judge behind a server has, by the code that writes them.
    sources = "".join(
        (ROOT / "judge" / name).read_text("utf-8")
        for name in ("running/session.py", "running/several.py", "running/merging.py")
    )
    parts_of |= set(re.findall(r'f"([a-z]+):\{', sources))
    assert {"sampling", "reply", "shard"} <= parts_of
    assert not parts_of - {*words}
