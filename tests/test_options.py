"""One word for one thing on the command line: names, options, short options, helps, examples."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from support import EXAMPLES, ROOT, TOYS, Invoke

from judge.cli import MOVED, main
from judge.cli.options import FORMS, RENAMED, HelpEnd

PREDS, REFS = EXAMPLES / "preds.json", EXAMPLES / "refs.json"
RUBRICS = {
    *("green", "fineradscore", "crimson", "facts", "counts", "direct"),
    "attributes",
}
TOP = RUBRICS | {
    *("run", "check", "audit", "rates", "errors", "compare", "gate", "reproduce"),
    *("metrics", "validate", "readers", "stress", "bridge", "passport", "plan"),
    "monitor",
    *("runs", "cite", "page", "serve"),
    *("cache", "batch", "prompts", "examples", "doctor"),
}
GROUPS = {
    "readers": {"import", "sample", "export"},
    "stress": {"make", "run", "report"},
    "runs": {"list", "merge", "panel", "rescore", "export", "delete", "verify"},
}
SHORT = {
    "-b": "--by",
    "-c": "--column",
    "-f": "--format",
    "-h": "--help",
    "-j": "--judge",
    "-n": "--limit",
    "-o": "--out",
    "-q": "--quiet",
    "-s": "--section",
    "-t": "--table",
    "-v": "--verbose",
    "-V": "--version",
}
# What the helps call a run, an output, a number of this or that.
UNITS = {
    "--limit": "STUDIES",
    "--min-studies": "STUDIES",
    "--rows": "ROWS",
    "--repeats": "TIMES",
    "--reask": "TIMES",
    "--resamples": "RESAMPLES",
    "--flips": "FLIPS",
    "--concurrency": "REQUESTS",
    "--give-up-after": "ANSWERS",
    "--max-tokens": "TOKENS",
    "--batch-size": "QUESTIONS",
    "--max-cost": "DOLLARS",
    "--max-cost-month": "DOLLARS",
    "--seed": "SEED",
    "--draw-seed": "SEED",
}
# The list of all commands has a line for each; the commands of rubrics have a heading more; a
# gate compares runs, a judge with itself, and two judges.
MOST_LINES = {"": 57, "RUBRIC": 47, "gate": 56}
OF_A_SCREEN = 45

Named = tuple[str, click.Command]


def context_of(command: click.Command) -> click.Context:
    # click keeps the first that it is asked for with the command.
    return click.Context(command, help_option_names=["-h", "--help"])


def walk(command: click.Command = main, path: str = "") -> Iterator[Named]:
    """Every command there is, with the words that call it behind `judge`."""
    yield path, command
    if isinstance(command, click.Group):
        context = context_of(command)
        for word in command.list_commands(context):
            below = command.get_command(context, word)
            assert below is not None
            yield from walk(below, f"{path} {word}".strip())


TOY_RUBRICS = [path.name for path in TOYS.iterdir() if path.is_dir()]
ALL = {
    path: command
    for path, command in walk()
    if not {*path.split()[:1]} & {*TOY_RUBRICS}
}
LEAVES = {
    path: command
    for path, command in ALL.items()
    if not isinstance(command, click.Group)
}


def options(command: click.Command) -> list[click.Option]:
    context = context_of(command)
    params = command.get_params(context)
    return [param for param in params if isinstance(param, click.Option)]


def long_name(option: click.Option) -> str:
    return max(option.opts, key=len)


def test_the_top_level_has_these_commands_and_no_other() -> None:
    context = click.Context(main)
    assert {*main.list_commands(context)} - {*TOY_RUBRICS} == TOP
    for name, below in GROUPS.items():
        group = ALL[name]
        assert isinstance(group, click.Group)
        assert {*group.list_commands(context)} == below


def test_the_help_of_the_program_says_where_to_begin(invoke: Invoke) -> None:
    text = invoke("--help").stdout
    assert "Begin with the examples below" in " ".join(text.split())
    assert text.splitlines()[-1] == "Documentation: docs/index.md"
    assert "  judge green examples/preds.json examples/refs.json\n" in text
    assert not re.search(r"^  (import|sample|merge|panel|rescore) ", text, re.MULTILINE)


def test_an_option_of_one_name_has_one_metavar_and_one_type() -> None:
    shown = defaultdict(set)
    for command in LEAVES.values():
        for option in options(command):
            metavar = option.metavar
            if option.is_flag:
                metavar = "a flag"
            shown[long_name(option)].add((metavar, type(option.type).__name__))
    # A file or a folder, as the help says.
    kinds = shown.pop("--out")
    assert kinds <= {("DIR", "Path"), ("FILE", "Path"), ("FILE|DIR", "Path")}
    assert {name: of for name, of in shown.items() if len(of) > 1} == {}
    assert len(shown) > 80


def test_numbers_say_what_they_count() -> None:
    found = {}
    for path, command in LEAVES.items():
        for option in options(command):
            assert option.metavar != "N", (path, option.opts)
            if long_name(option) in UNITS:
                found[long_name(option)] = option.metavar
    assert found == UNITS


def test_a_short_option_is_one_option_everywhere() -> None:
    used = set()
    for path, command in ALL.items():
        for option in options(command):
            short = [name for name in option.opts if not name.startswith("--")]
            if long_name(option) in SHORT.values():
                assert len(short) == 1, (path, option.opts)
            for name in short:
                assert SHORT[name] == long_name(option), path
                used.add(name)
    assert used == SHORT.keys()


def test_a_run_is_called_run_everywhere() -> None:
    for path, command in LEAVES.items():
        for param in command.params:
            if param.name in ("run", "runs", "named") and not (
                isinstance(param, click.Option)
            ):
                shown = param.make_metavar(click.Context(command))
                assert re.fullmatch(r"\[?(\[NAME=\])?RUN\]?(\.\.\.)?", shown), (
                    path,
                    shown,
                )
    for path, name in (("gate", "--against"), ("gate", "--drift")):
        (option,) = [one for one in options(ALL[path]) if name in one.opts]
        assert option.metavar == "RUN"


def test_readers_are_named_alike_by_the_commands_that_take_them() -> None:
    helps = []
    for path in ("rates", "validate"):
        (option,) = [one for one in options(ALL[path]) if "--readers" in one.opts]
        assert (option.metavar, option.multiple) == ("[NAME=]RUN", True)
        helps.append(option.help or "")
    assert helps[0].endswith(helps[1])


def test_every_table_has_the_same_forms_and_can_be_chosen() -> None:
    for path, command in LEAVES.items():
        named = {long_name(option): option for option in options(command)}
        if "--table" in named:
            assert "--format" in named, path
        if "--format" not in named or path == "cite":
            continue
        choices = named["--format"].type
        assert isinstance(choices, click.Choice)
        forms = [form for form in choices.choices if form != "rexrank"]
        assert tuple(forms) == FORMS, path
        # What is printed there are facts alone.
        assert "--table" in named or path in ("check", "cache info"), path


@pytest.mark.parametrize(
    "words",
    [
        "rates RUN",
        "audit RUN",
        "errors RUN",
        "gate RUN",
        "gate RUN --against RUN",
        "runs list .",
        "readers sample RUN --limit 6",
        "prompts list",
        "doctor",
        "cache info",
        f"check {PREDS} {REFS}",
        f"metrics {PREDS} {REFS}",
        "runs export RUN --reviews",
        "batch list",
    ],
)
def test_every_form_is_printed(
    invoke: Invoke, example_run: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_CACHE", str(example_run.parent / "cache"))
    command = words.replace("RUN", str(example_run)).split()
    if "gate" in command:
        command += ["--min", "scored=0.5"]
    printed = {}
    for form in FORMS:
        done = invoke(*command, "-f", form)
        assert done.exit_code == 0, (form, done.stderr)
        printed[form] = done.stdout
    assert all(text.strip() for text in printed.values())
    assert printed["latex"].startswith("%")
    assert printed["json"][0] in "[{"
    assert len({*printed.values()}) == len(FORMS)


def test_a_study_is_text_or_json(invoke: Invoke, example_run: Path) -> None:
    done = invoke("audit", example_run, "ex-008", "--format", "json")
    assert '"study_id": "ex-008"' in done.stdout
    for form in ("csv", "md", "latex"):
        done = invoke("audit", example_run, "ex-008", "--format", form)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "--format table or json" in done.stderr


@pytest.mark.parametrize("table", ["unread", "warnings", "failures"])
def test_a_table_of_a_healthy_run_is_empty(
    invoke: Invoke, example_run: Path, table: str
) -> None:
    done = invoke("rates", example_run, "--table", table, "--format", "csv")
    assert done.exit_code == 0, done.stderr
    (head,) = done.stdout.splitlines()
    assert head.endswith("studies,signature") or "studies" in head
    for form in FORMS[:-1]:
        assert invoke("rates", example_run, "-t", table, "-f", form).exit_code == 0


def test_grouping_by_two_fields_is_two_tables_everywhere(
    invoke: Invoke, example_run: Path
) -> None:
    runs, files = [str(example_run)], [str(PREDS), str(REFS)]
    for words in (
        ["rates", *runs],
        ["compare", *runs],
        ["metrics", *files],
        ["green", *files, "--out", "again"],
    ):
        twice = invoke(*words, "--by", "site", "--by", "study_class")
        assert twice.exit_code == 0, twice.stderr
        assert "harbour" in twice.stdout, words
        assert "abnormal" in twice.stdout, words
        combined = invoke(*words, "-b", "site,study_class")
        assert re.search(r"harbour\W+(study_class )?abnormal", combined.stdout), words
        assert not re.search(r"harbour\W+(study_class )?abnormal", twice.stdout), words


@pytest.mark.parametrize("path", ALL, ids=lambda path: path or "judge")
def test_every_help_ends_with_an_example_and_its_page(path: str) -> None:
    command = ALL[path]
    assert isinstance(command, HelpEnd)
    assert command.examples
    for example in command.examples:
        assert example.startswith("judge ")
    is_named = [re.match(rf"judge {path}\b", line) for line in command.examples]
    assert any(is_named), path
    assert (ROOT / command.page).is_file(), command.page
    done = CliRunner().invoke(main, [*path.split(), "--help"], terminal_width=100)
    lines = done.stdout.splitlines()
    assert lines[-1] == f"Documentation: {command.page}"
    assert lines[-3] == f"  {command.examples[-1]}"


@pytest.mark.parametrize("path", ALL, ids=lambda path: path or "judge")
def test_every_help_fits_a_screen(path: str) -> None:
    done = CliRunner().invoke(main, [*path.split(), "--help"], terminal_width=100)
    lines = done.stdout.splitlines()
    most = OF_A_SCREEN
    if path in RUBRICS:
        most = MOST_LINES["RUBRIC"]
    assert len(lines) <= MOST_LINES.get(path, most)
    assert max(map(len, lines)) <= 100
    command = ALL[path]
    is_hidden = any(getattr(param, "hidden", False) for param in command.params)
    assert ("--help-all" in done.stdout) is is_hidden
    if is_hidden:
        words = [*path.split(), "--help-all"]
        everything = CliRunner().invoke(main, words, terminal_width=100).stdout
        for option in options(command):
            if option.hidden:
                assert re.search(rf"{long_name(option)}\b", everything)
        again = CliRunner().invoke(main, [*path.split(), "-h"], terminal_width=100)
        assert again.stdout == done.stdout, "--help-all leaves the help as it was"


# What waits for a browser, a provider, a cache that a provider filled, or a pilot of thirty
# studies: the pages of these commands run them.
OUT_OF_REACH = re.compile(
    r"judge (serve|cache|batch cancel|prompts fetch|gate --drift|gate --judge|bridge|plan"
    r"|prompts from-readings|passport lexicon --rubric|readers export exported)"
)
EXAMPLE_LINES = sorted(
    {line for command in ALL.values() for line in getattr(command, "examples", ())}
)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the examples of the helps name."""
    folder = tmp_path_factory.mktemp("prepared")
    shutil.copytree(EXAMPLES, folder / "examples")
    for name in ("preds.json", "refs.json"):
        shutil.copy(EXAMPLES / name, folder)
    shutil.copy(EXAMPLES / "readers" / "readings.csv", folder)
    shutil.copy(EXAMPLES / "experiment.yaml", folder)
    (folder / "feed.csv").write_text(
        "id,date,draft,signed\n1,2026-01-05,No effusion.,No effusion.\n", "utf-8"
    )
    for name in ("preds_alder.json", "preds_birch.json"):
        shutil.copy(EXAMPLES / name, folder)
    refs = str(folder / "refs.json")
    runs: list[list[str]] = [
        ["green", str(folder / "preds.json"), refs, "--out", str(folder / "RUN")],
        [
            "green",
            str(EXAMPLES / "preds_alder.json"),
            refs,
            "--out",
            str(folder / "OTHER"),
        ],
        [
            *("green", str(folder / "preds.json"), refs),
            *("--judge", f"lexicon:{EXAMPLES / 'lexicon.yaml'}"),
            *("--out", str(folder / "SECOND")),
        ],
        ["readers", "import", "tidy", str(folder / "readings.csv")],
        ["stress", "run", refs, "-n", "4", "--out", str(folder / "tested")],
        ["readers", "sample", str(folder / "RUN"), "--limit", "10"],
    ]
    runs[3] += ["--section", "findings", "--out", str(folder / "readers")]
    for words in runs:
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.stderr
    shutil.copy(EXAMPLES / "readers" / "readings.jsonl", folder / "RUN")
    for name in ("one", "two"):
        at = {"one": "1/2", "two": "2/2"}[name]
        words = ["green", str(folder / "preds.json"), refs, "--shard", at]
        done = CliRunner().invoke(main, [*words, "--out", str(folder / name)])
        assert done.exit_code == 0, done.stderr
    (folder / "judge-runs").mkdir()
    return folder


@pytest.mark.parametrize("line", EXAMPLE_LINES)
def test_the_options_of_an_example_exist(line: str) -> None:
    words = shlex.split(line)[1:]
    path = next(" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in LEAVES)
    context = click.Context(LEAVES[path], info_name=path)
    LEAVES[path].make_parser(context).parse_args(words[len(path.split()) :])


@pytest.mark.ci
@pytest.mark.parametrize(
    "line", [line for line in EXAMPLE_LINES if not OUT_OF_REACH.match(line)]
)
def test_an_example_of_a_help_runs_as_it_is_written(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(prepared, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("JUDGE_CACHE", str(tmp_path / "cache"))
    words = shlex.split(line)[1:]
    for name in ("one", "two", "tested", "examples"):
        if f"--out {name}" in line:
            shutil.rmtree(folder / name, ignore_errors=True)
    if line == "judge examples":
        shutil.rmtree(folder / "examples")
    if "--judge gpt" in line and words[0] in RUBRICS:
        words.append("--dry-run")
    if (
        words[0] == "direct" and "--judge" not in line
    ):  # has no rules of the built-in judge
        words += ["--judge", "gpt-6-luna", "--dry-run"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code in (0, 1 if words[0] == "gate" else 0), done.stderr
    assert "will be removed" not in done.stderr


@pytest.mark.parametrize("old", MOVED)
def test_a_command_that_moved_works_and_names_its_new_place(
    invoke: Invoke, example_run: Path, old: str
) -> None:
    new = " ".join(MOVED[old])
    said = f"judge {old} will be removed: write judge {new}"
    helped = invoke(old, "--help")
    assert helped.exit_code == 0
    assert helped.stderr.splitlines() == [said]
    assert helped.stdout == invoke(*MOVED[old], "--help").stdout
    tried = invoke(old, "--no-such-option", "x")
    assert said in tried.stderr
    if old == "sample":
        done = invoke(old, example_run, "-n", "4")
        assert done.exit_code == 0
        assert done.stdout == invoke("readers", "sample", example_run).stdout


def test_readings_are_exported_and_the_old_words_say_so(
    invoke: Invoke, example_run: Path
) -> None:
    sampled = invoke("readers", "sample", example_run, "--limit", "10")
    assert sampled.exit_code == 0
    shutil.copy(EXAMPLES / "readers" / "readings.jsonl", example_run)
    new = invoke("readers", "export", example_run, "--out", "new", "-q")
    assert (new.exit_code, new.stderr) == (0, "")
    old = invoke("readers", "import", "readings", example_run, "--out", "old")
    assert old.stdout == new.stdout
    assert "write judge readers export RUN" in old.stderr
    one = invoke("readers", "export", example_run, "--out", "one", "--reader", "ash")
    assert one.exit_code == 0
    assert [path.name for path in Path("one").iterdir()] == ["reader-ash"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rates RUN --readings READERS --readings-at-random", "--readers READERS"),
        ("rates RUN --readings READERS --readings-at-random", "--drawn-at-random"),
        ("audit RUN --worst 3", "--rows 3"),
        ("errors RUN --top 3", "--rows 3"),
        ("readers sample RUN --limit 6 --by site --seed 2", "--strata site"),
        ("readers sample RUN --limit 6 --by site --seed 2", "--draw-seed 2"),
        ("compare RUN --figures figures --only boxes", "--draw boxes"),
        ("cache prune --model m --yes", "--judge-model m"),
    ],
)
def test_an_option_that_was_renamed_works_and_names_the_new_one(
    invoke: Invoke, example_run: Path, old: str, new: str
) -> None:
    readers = example_run.parent / "readers"
    readings = EXAMPLES / "readers" / "readings.csv"
    words = ["readers", "import", "tidy", readings, "--section", "findings"]
    assert invoke(*words, "--out", readers).exit_code == 0
    line = old.replace("RUN", str(example_run)).replace("READERS", str(readers))
    done = invoke(*line.split())
    said = new.replace("READERS", str(readers))
    (name,) = [
        name
        for name in RENAMED
        if said.split()[0] in RENAMED[name] and name in old.split()
    ]
    assert f"{name} will be removed: write {said}" in done.stderr.splitlines()
    assert "No such option" not in done.stderr
    if old.startswith(("rates", "audit", "errors")):
        assert done.exit_code == 0, done.stderr
        assert done.stdout


def test_seeds_of_draws_and_of_statistics_have_names_of_their_own() -> None:
    for path, command in LEAVES.items():
        names = {long_name(option) for option in options(command)}
        has_both = {"--seed", "--draw-seed"} <= names
        assert has_both is (path == "bridge"), path
    for path in ("readers sample", "stress make", "stress run"):
        assert "--draw-seed" in {long_name(option) for option in options(ALL[path])}


def test_limits_of_cost_say_how_they_differ() -> None:
    texts = {}
    for path in ("green", "run", "stress run", "gate", "serve"):
        for option in options(ALL[path]):
            if long_name(option) in ("--max-cost", "--budget"):
                texts[path] = option.help or ""
    for path in ("green", "run", "stress run", "gate"):
        assert texts[path] == texts["green"]
        assert "judge serve --budget" in texts[path]
    assert "--max-cost" in texts["serve"]
    assert "all runs" in texts["serve"]


def test_allow_and_offer_do_not_look_alike() -> None:
    assert "--offer" in {long_name(option) for option in options(ALL["serve"])}
    for path, command in LEAVES.items():
        names = {long_name(option) for option in options(command)}
        assert "--allow-judge" not in names, path


def test_quiet_prints_results_and_errors_alone(
    invoke: Invoke, example_run: Path
) -> None:
    loud = invoke("green", PREDS, REFS, "--out", "one")
    quiet = invoke("green", PREDS, REFS, "--out", "two", "--quiet")
    assert loud.stderr
    assert (quiet.exit_code, quiet.stderr) == (0, "")
    assert quiet.stdout == loud.stdout
    wrong = invoke("rates", "nowhere", "-q")
    assert wrong.exit_code == 2
    assert "nowhere" in wrong.stderr
    few = invoke("green", PREDS, REFS, "--min-coverage", "1", "-q", "--out", "three")
    assert few.exit_code == 0
    assert invoke("audit", example_run, "-q").stderr == ""


def test_quiet_still_says_why_a_command_ends_with_3(
    invoke: Invoke, tmp_path: Path
) -> None:
    refs = tmp_path / "refs.csv"
    refs.write_text("study_id,report\na,Clear lungs.\nb,Qwerty uiop.\n", "utf-8")
    preds = tmp_path / "preds.csv"
    preds.write_text("study_id,report\na,Clear lungs.\nb,Qwerty uiop.\n", "utf-8")
    done = invoke("green", preds, refs, "-q")
    assert done.exit_code == 3
    assert "1 of 2 studies could be scored" in done.stderr


def test_verbose_says_where_an_error_arose(invoke: Invoke) -> None:
    plain, verbose = invoke("rates", "nowhere"), invoke("rates", "nowhere", "-v")
    assert (plain.exit_code, verbose.exit_code) == (2, 2)
    assert "Traceback" not in plain.stderr
    assert "Traceback" in verbose.stderr
    assert plain.stderr.splitlines()[-1] == verbose.stderr.splitlines()[-1]


def test_a_run_is_deleted_into_the_trash_of_the_service(
    invoke: Invoke, example_run: Path
) -> None:
    done = invoke("runs", "delete", example_run)
    assert done.exit_code == 0, done.stderr
    assert not example_run.exists()
    (moved,) = (example_run.parent / ".trash").glob("*/example-run")
    assert str(moved) in done.stdout
    assert invoke("rates", moved).exit_code == 0
    again = invoke("runs", "delete", example_run)
    assert again.exit_code == 2
    assert "example-run" in again.stderr


@pytest.mark.parametrize("table", ["summary", "ranks"])
def test_a_table_that_a_command_line_does_not_make_is_named(
    invoke: Invoke, table: str
) -> None:
    done = invoke("green", PREDS, REFS, "--table", table)
    assert done.exit_code == 2
    assert f"--table {table} goes with several PREDS" in done.stderr
    several = [EXAMPLES / "preds_alder.json", EXAMPLES / "preds_birch.json", REFS]
    done = invoke("green", *several, "--table", "rates")
    assert done.exit_code == 2
    assert "--table rates goes with one PREDS" in done.stderr


def test_options_of_several_commands_are_defined_once() -> None:
    users = defaultdict(set)
    for path, command in LEAVES.items():
        if path in RUBRICS - {"green"}:
            continue
        for option in options(command):
            users[long_name(option)].add(path)
    defined = defaultdict(set)
    for file in sorted((ROOT / "cli").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            words = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            for word in words:
                if "option" in ast.unparse(node.func) and str(word).startswith("--"):
                    defined[word].add((file.name, node.lineno))
    twice = {
        name: places
        for name, places in defined.items()
        if len(users[str(name)]) > 1 and len(places) > 1
    }
    assert twice == {}
    assert len(defined) > 60


def test_the_page_of_names_that_changed_has_all_of_them() -> None:
    text = (ROOT / "docs/migration.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    for old, new in RENAMED.items():
        for name in new:
            option = name.partition(" ")[0]
            assert any(f"`{old}`" in row and option in row for row in rows), (old, name)
    for old, words in MOVED.items():
        row = f"| `judge {old}` | `judge {' '.join(words)}` |"
        assert row in rows


def test_exit_codes_stand_in_one_table() -> None:
    text = (ROOT / "docs/judging.md").read_text("utf-8")
    _, _, section = text.partition("\n## Exit codes\n")
    codes = re.findall(r"^\| (\d+) \|", section.partition("\n## ")[0], re.MULTILINE)
    assert codes == ["0", "1", "2", "3", "130", "141", "143"]
    assert re.search(r"^\| 2 \| wrong usage or input", section, re.MULTILINE)
    for path, command in LEAVES.items():
        help_text = " ".join((command.help or "").split())
        for code, meaning in re.findall(
            r"\b([0-9]+) (an error to fix|wrong)", help_text
        ):
            assert (code, meaning) == ("2", "wrong"), path


@pytest.mark.parametrize(
    ("words", "tables"),
    [
        ("rates RUN", ["rates", "errors"]),
        ("audit RUN", ["worst"]),
        ("errors RUN --min-studies 1", ["recurring"]),
        ("gate RUN --min scored=0.5", ["checks"]),
        ("compare RUN", ["leaderboard", "errors"]),
        ("runs list .", ["runs"]),
        ("readers sample RUN --limit 6", ["sample"]),
        ("stress make REFS --limit 3 --out made", ["candidates"]),
        ("prompts list", ["prompts"]),
        ("doctor", ["extras", "keys", "endings"]),
        ("metrics PREDS REFS", ["metrics"]),
    ],
)
def test_a_table_that_is_named_is_the_one_that_is_printed(
    invoke: Invoke, example_run: Path, words: str, tables: list[str]
) -> None:
    for name, path in (("RUN", example_run), ("PREDS", PREDS), ("REFS", REFS)):
        words = words.replace(name, str(path))
    for table in tables:
        done = invoke(*words.split(), "--table", table, "--format", "csv")
        assert done.exit_code == 0, done.stderr
        head, *rows = done.stdout.splitlines()
        assert rows, table
        assert head.partition(",signature")[0] != table


def test_a_shell_completes_the_names_of_today() -> None:
    for words, wanted in (("judge ", TOP), ("judge readers ", GROUPS["readers"])):
        env = {
            "_JUDGE_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split())),
        }
        done = CliRunner(env=env).invoke(main, [], prog_name="judge")
        offered = {line.removeprefix("plain,") for line in done.stdout.split()}
        assert offered - {*TOY_RUBRICS} == wanted
