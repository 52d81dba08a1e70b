"""The worked examples for a modality: what they say, in which form, and that they are sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from faultserver import Behaviour, FaultServer
from support import EXAMPLES, Invoke, write_json

from judge import backends, prompts, rubrics
from judge.backends.hosted import HostedJudge
from judge.experiments.execution import ExperimentRunner, plan_of
from judge.experiments.experiment import Experiment, ExperimentSource
from judge.modalities import NAMES, REGIONS, ModalityName, code_of, modality_named
from judge.pages.run import AskedQuestions
from judge.prompts import STRUCTURED, TEXT, Prompt, shots
from judge.reward import Reward
from judge.rubrics.categories import CATEGORIES
from judge.running.evidence import is_about, with_evidence
from judge.running.folder import RunFolder
from judge.service.asked import studies_of
from judge.service.judges import run_settings
from judge.service.questions import OneStudy
from judge.service.settings import ServiceSettings
from judge.studies.study_set import JudgeContext
from judge.types import Annotation, JudgeError, Study

WITH_EXAMPLES = (
    "green",
    "green-structured",
    "fineradscore",
    "counts",
    "crimson",
    "direct",
    "attributes",
)
FILES = ("xr", "chest-ct", "abdomen-ct", "brain-mr", "us", "mg")
TEACHES = {
    "side",
    "size",
    "level",
    "measurement",
    "certainty",
    "omitted lesion",
    "new",
    "resolved",
    "equivalent",
}
PREDS, REFS = EXAMPLES / "preds.json", EXAMPLES / "refs.json"


def bound(name: str, modality: str, reply: str | None = None) -> Prompt:
    prompt = prompts.load(name)
    rubric = rubrics.load(prompt.rubric)
    reply = reply or shots.usual_reply(rubric, prompt)
    return shots.for_modality(prompt, rubric, reply, modality)


def read(name: str, reply: str, study: Study) -> Annotation:
    rubric = rubrics.load(prompts.load(name).rubric)
    parse = rubric.parse
    if name == "green-structured":
        assert rubric.structured
        parse = rubric.structured.parse
    return with_evidence(parse(reply, study, complete=True), rubric, study)


# What they say


@pytest.mark.parametrize("modality", FILES)
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_each_reply_is_read_without_a_warning_as_it_was_meant(
    name: str, modality: str
) -> None:
    prompt = bound(name, modality)
    rubric = rubrics.load(prompt.rubric)
    pairs = shots.built_in(modality)
    assert len(prompt.shots) == len(pairs) == 3
    for shot, pair in zip(prompt.shots, pairs, strict=True):
        assert shot.candidate is not None
        study = Study("s", shot.reference, shot.candidate, modality=code_of(modality))
        annotation = read(name, shot.reply, study)
        assert annotation.all_warnings == ()
        parse = rubric.structured.parse if rubric.structured else rubric.parse
        meant = parse(json.dumps(pair["replies"][rubric.name]), study, complete=True)
        assert annotation == meant
        measures = rubric.measured(annotation, study)
        if pair["teaches"] == ["equivalent"]:
            assert errors_of(name, annotation, measures) == 0
        else:
            assert errors_of(name, annotation, measures) > 0


def errors_of(name: str, annotation: Annotation, measures: Any) -> float:
    if name == "direct":
        return 100 - measures["direct"]
    if name == "counts":
        return sum(annotation.stated_counts.values())
    kinds = [item.kind for item in annotation.items]
    if name == "attributes":
        return kinds.count("error")
    if name == "crimson":
        return 1 - measures["crimson"]
    return sum(kind not in ("matched",) for kind in kinds)


@pytest.mark.parametrize("modality", FILES)
def test_the_rubrics_agree_on_the_same_pairs(modality: str) -> None:
    for pair in shots.built_in(modality):
        replies = pair["replies"]
        green = replies["green"]
        heads = {
            "significant": "clinically_significant_errors",
            "insignificant": "clinically_insignificant_errors",
        }
        n_errors = 0
        for level, head in heads.items():
            lists = dict(zip(CATEGORIES, green[head].values(), strict=True))
            counted = {code.value: len(texts) for code, texts in lists.items()}
            assert replies["counts"][level] == counted
            n_errors += sum(counted.values())
        # One correction may put several errors of a line right.
        edits = replies["fineradscore"]["corrections"]
        n_named = sum(len(edit["categories"]) for edit in edits)
        assert len(edits) <= n_named
        assert bool(edits) == bool(n_errors)
        has_grave_edit = any(edit["severity"] >= 2 for edit in edits)
        assert has_grave_edit == (sum(replies["counts"]["significant"].values()) > 0)


@pytest.mark.parametrize("modality", FILES)
def test_corrections_lead_to_the_reference(modality: str) -> None:
    rubric = rubrics.load("fineradscore")
    for shot in bound("fineradscore", modality).shots:
        study = Study("s", shot.reference, shot.candidate or "")
        annotation = rubric.parse(shot.reply, study)
        if annotation.items:
            checks = rubric.measured(annotation, study)
            assert checks["closeness_corrected"] > checks["closeness_candidate"] + 0.05


@pytest.mark.parametrize("modality", FILES)
def test_each_kind_of_examination_has_whole_reports_and_all_kinds_of_errors(
    modality: str,
) -> None:
    pairs = shots.built_in(modality)
    taught: list[str] = []
    for pair in pairs:
        for side in ("reference", "candidate"):
            n_sentences = pair[side].replace("BI-RADS ", "").count(". ") + 1
            assert 4 <= n_sentences <= 9, pair[side]
        taught += pair["teaches"]
        # Every finding of CRIMSON's lists is in the words of its own report.
        crimson = pair["replies"]["crimson"]
        for key, side in (
            ("reference_findings", "reference"),
            ("predicted_findings", "candidate"),
        ):
            for finding in crimson[key]:
                assert is_about(finding["finding"], pair[side]), finding
    assert taught.count("equivalent") == 1
    assert {*taught} <= TEACHES
    # A certainty, a place, a change, a size, and something left out, in each.
    for kinds in (
        {"certainty"},
        {"side"},
        {"level"},
        {"new", "resolved"},
        {"size", "measurement"},
        {"omitted lesion"},
    ):
        assert kinds & {*taught}, (modality, kinds)


def test_together_they_have_every_kind_of_error() -> None:
    required = FILES[:4]
    taught = {
        kind
        for name in required
        for pair in shots.built_in(name)
        for kind in pair["teaches"]
    }
    assert taught == TEACHES
    assert shots.built_in_names() == tuple(name for name in NAMES if name in FILES)


# Which are sent


def test_a_modality_chooses_its_own_examples_before_the_question() -> None:
    prompt = bound("green-structured", "chest-ct")
    turns = prompt.messages("REF", "CAND", modality="ct")
    roles = ["system", *["user", "assistant"] * 3, "user"]
    assert [turn.role for turn in turns] == roles
    assert turns[1:7] == prompt.example_turns
    assert "spiculated nodule" in turns[1].content
    assert json.loads(turns[2].content)["clinically_significant_errors"]
    assert "kind of examination: CT" in turns[-1].content
    assert "of the chest." in turns[-1].content
    # The same before any question, as a prompt cache wants it.
    assert prompt.messages("A", "B", modality="ct")[:-1] == turns[:-1]


def test_without_a_modality_everything_is_as_it_was() -> None:
    """The digests of prompts without a modality are goldens: tests/golden/recorded."""
    for name in WITH_EXAMPLES:
        prompt = prompts.load(name)
        n_usual = 4 if name == "fineradscore" else 0
        assert len(prompt.example_turns) == 2 * n_usual
        digests = {bound(name, modality).digest for modality in NAMES}
        # mr has brain-mr's examples and names no region; the others differ in their examples.
        assert len({prompt.digest, *digests}) == len(NAMES) + 1
    judge = loaded()
    assert judge.prompt.digest == prompts.load("green-structured").digest


def test_a_modality_without_a_region_has_the_examples_of_its_regions() -> None:
    assert bound("green", "ct").shots_for == ("chest-ct", "abdomen-ct")
    assert len(bound("green", "ct").shots) == 6
    assert bound("green", "mr").shots_for == ("brain-mr",)
    assert bound("green", "mr").shots == bound("green", "brain-mr").shots
    own = checked({"ct": [EXAMPLE], "chest-ct": "built-in"})
    assert shots.names_for(own, "chest-ct") == ("chest-ct",)
    assert shots.names_for(own, "abdomen-ct") == ("ct",)
    assert shots.names_for(own, "ct") == ("ct",)
    assert shots.names_for(own, "brain-mr") == ()
    # The examples of another region are none of this one.
    assert shots.names_for(checked({"chest-ct": "built-in"}), "abdomen-ct") == ()


def test_names_of_modalities() -> None:
    for text, name in {
        "DX": "xr",
        "chest-xr": "xr",
        " Chest-CT ": "chest-ct",
        "MRI": "mr",
    }.items():
        assert modality_named(text) == name
    with pytest.raises(JudgeError, match=r"unknown modality 'knee-mr'.*brain-mr"):
        modality_named("knee-mr")
    assert {*REGIONS} <= {*NAMES}
    # A client of the service can name the same, but for the names of DICOM.
    assert {*get_args(ModalityName)} == {*NAMES, "chest-xr"}
    # What reads the modality of a study sees its code.
    context = JudgeContext(modality="brain-mr")
    assert context.read({})["modality"] == "mr"
    assert context.shown == {"modality": ["brain-mr"]}


# Prompts of one's own

EXAMPLE = {
    "reference": "Large right effusion.",
    "candidate": "Large left effusion.",
    "reply": {
        "significant": {"a": 0, "b": 0, "c": 1, "d": 0, "e": 0, "f": 0},
        "insignificant": {"a": 0, "b": 0, "c": 0, "d": 0, "e": 0, "f": 0},
    },
}


def checked(shown: object, **keys: object) -> Prompt:
    data = {
        "name": "mine",
        "version": 1,
        "rubric": "counts",
        "user": "$reference $candidate",
        "shots": shown,
        **keys,
    }
    return prompts.check(data, "prompt mine")


def of_counts(prompt: Prompt, modality: str = "ct") -> Prompt:
    return shots.for_modality(prompt, rubrics.load("counts"), STRUCTURED, modality)


def test_an_example_of_ones_own_is_written_in_the_form_that_is_asked_for() -> None:
    (shot,) = of_counts(checked({"ct": [EXAMPLE]})).shots
    assert shot.reply.startswith('{"significant":{"a":0,"b":0,"c":1')
    spaced = json.dumps(EXAMPLE["reply"])
    (as_text,) = of_counts(checked({"ct": [{**EXAMPLE, "reply": spaced}]})).shots
    assert as_text.reply == spaced  # a text is sent as it stands


def test_greens_examples_are_text_where_text_is_asked_for() -> None:
    text, form = bound("green", "us", TEXT), bound("green", "us", STRUCTURED)
    assert text.shots[0].reply.startswith("[Explanation]:")
    assert json.loads(form.shots[0].reply)["explanation"]


def test_the_usual_examples_are_sent_where_a_modality_has_none() -> None:
    usual = {**EXAMPLE, "reply": "{}"}
    prompt = checked({"default": [usual], "us": [EXAMPLE]})
    assert [shot.reply for shot in prompt.shots] == ["{}"]
    kept = of_counts(prompt, "mg")
    assert (kept.shots, kept.shots_for) == (prompt.shots, ())
    assert of_counts(prompt, "us").shots_for == ("us",)


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ({"pet": [EXAMPLE]}, "unknown modalities pet; there are: default, xr"),
        ({"ct": "builtin"}, "shots.ct"),
        ({"ct": [{"reference": "a", "candidate": "b"}]}, "shots.ct.list.0.reply"),
        ({"ct": [{"reference": "a", "reply": "{}"}]}, "same texts as the question"),
        ({"default": [{"reference": "a"}]}, "shots.0.reply"),
    ],
)
def test_faulty_examples_are_refused(shown: object, words: str) -> None:
    with pytest.raises(JudgeError) as caught:
        checked(shown)
    assert words in str(caught.value)


def test_what_a_file_has_no_key_for_is_refused() -> None:
    for key in ("modality_shots", "shots_for"):
        with pytest.raises(JudgeError, match=f"{key}: no key of a prompt"):
            checked([], **{key: {}})
    with pytest.raises(JudgeError, match="made for has no shots"):
        checked({"ct": [EXAMPLE]}, words=300)


def test_an_example_that_cannot_be_read_is_refused() -> None:
    broken = {**EXAMPLE, "reply": {"significant": {"a": 1}}}
    with pytest.raises(JudgeError, match=r"prompt mine: example 1 for ct: .*cannot be"):
        of_counts(checked({"ct": [broken]}))
    facts = prompts.check({**FACTS, "shots": {"us": "built-in"}}, "prompt facts")
    with pytest.raises(JudgeError, match="no built-in examples of facts for us"):
        shots.for_modality(facts, rubrics.load("facts"), STRUCTURED, "us")
    none_built_in = checked({"ct": "built-in"})
    with pytest.raises(JudgeError, match=r"no examples for ct .* there are: xr, chest"):
        of_counts(none_built_in)
    # The score of an example is on the prompt's own scale.
    of_five = checked(
        {"us": "built-in"}, rubric="direct", scale=[0, 5], system="From 0 to 5."
    )
    with pytest.raises(JudgeError, match="example 1 for us"):
        shots.for_modality(of_five, rubrics.load("direct"), STRUCTURED, "us")


FACTS = {
    "name": "mine",
    "version": 1,
    "rubric": "facts",
    "asks": "report",
    "user": "$report",
    "reply": "structured",
}


def test_a_question_of_several_has_examples_too() -> None:
    said = {"phrases": ["no effusion"]}
    own = {**FACTS, "shots": {"ct": [{"report": "No effusion.", "reply": said}]}}
    prompt = prompts.check(own, "prompt mine")
    made = shots.for_modality(prompt, rubrics.load("facts"), STRUCTURED, "ct")
    assert json.loads(made.shots[0].reply) == said
    wrong = {**FACTS, "shots": {"ct": [{"report": "Clear.", "reply": {"x": 1}}]}}
    prompt = prompts.check(wrong, "prompt mine")
    with pytest.raises(JudgeError, match="example 1 for ct"):
        shots.for_modality(prompt, rubrics.load("facts"), STRUCTURED, "ct")


# Runs


def loaded(modality: str | None = None, **settings: Any) -> Any:
    return backends.load(
        settings.pop("model", "gpt-6-luna"),
        rubrics.load("green"),
        backends.JudgeSettings(sends=False, modality=modality, **settings),
    )


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(Behaviour(record=True)) as running:
        yield running


def write_reports() -> None:
    write_json(Path("refs.json"), {"study-0000": "study-0000. The lungs are clear."})
    candidate = "The lungs are clear. Small left effusion."
    write_json(Path("preds.json"), {"study-0000": candidate})


def test_a_run_sends_them_and_keeps_which(invoke: Invoke, server: FaultServer) -> None:
    write_reports()
    asked = ("green", "preds.json", "refs.json", "--judge", "model-x")
    asked += ("--base-url", server.url, "--cache", "cache")
    plain = invoke(*asked, "--out", "plain")
    shown = invoke(*asked, "--out", "ct", "--modality", "chest-ct")
    assert (plain.exit_code, shown.exit_code) == (0, 0), shown.stderr
    bodies = [request["body"] for request in server.requests()]
    assert [len(body["messages"]) for body in bodies] == [2, 8]
    expected = bound("green-structured", "chest-ct")
    sent = [turn["content"] for turn in bodies[1]["messages"][1:7]]
    assert sent == [turn.content for turn in expected.example_turns]
    run = RunFolder.open("ct")
    assert run.manifest.modality == ["chest-ct"]
    assert [prompt.digest for prompt in run.manifest.prompts] == [expected.digest]
    assert f"@{expected.version}+{expected.digest}|" in run.signature
    assert "|modality:chest-ct|" in run.signature
    assert RunFolder.open("plain").manifest.modality == []
    # The page of the run shows the question as it was asked.
    record = next(iter(run.records()))
    question = AskedQuestions(run).about(record)
    contents = [turn["content"] for turn in bodies[1]["messages"]]
    assert [message.text for message in question.messages] == contents
    # The same command again asks nothing.
    again = invoke(*asked, "--out", "again", "--modality", "chest-ct")
    assert again.exit_code == 0
    assert server.stats().requests == 2


def test_a_prompt_without_examples_says_so_in_one_line(invoke: Invoke) -> None:
    asked = ("fineradscore", PREDS, REFS, "--judge", "gpt-6-luna", "--dry-run")
    asked += ("--modality", "mg", "--cache", "cache")
    none = invoke(*asked, "--prompt", "fineradscore-zeroshot")
    (said,) = [line for line in none.stderr.splitlines() if "no examples" in line]
    assert said == (
        "The prompt fineradscore-zeroshot has no examples for mg: none are sent."
    )
    assert "no examples" not in invoke(*asked).stderr
    facts = invoke("facts", *asked[1:])
    assert "its usual ones are sent." in facts.stderr


def test_the_dry_run_says_what_they_cost(invoke: Invoke) -> None:
    """gpt-6-luna costs $0.10 per million tokens in, as docs/choosing.md has it."""
    asked = ("green", PREDS, REFS, "--judge", "gpt-6-luna", "--dry-run")
    asked += ("--cache", "cache")
    plain = invoke(*asked).stdout
    assert "examples" not in plain.replace("example studies", "")
    shown = invoke(*asked, "--modality", "brain-mr").stdout
    (line,) = [text for text in shown.splitlines() if text.startswith("examples")]
    turns = bound("green-structured", "brain-mr").example_turns
    tokens = sum(len(turn.content) for turn in turns) // 4
    assert f"3 for brain-mr: about {tokens:,} of the tokens in per request" in line
    assert f"(${tokens / 1e6 * 0.10 * 10_000:,.2f} per 10,000 requests;" in line
    # Also of several models, and not of a judge that has no prompt.
    several = invoke(*asked[:2], PREDS, *asked[2:], "--modality", "brain-mr")
    assert f"about {tokens:,} of" in " ".join(several.stdout.split())
    alone = invoke("green", PREDS, REFS, "--modality", "mg", "--dry-run")
    assert "examples" not in alone.stdout + alone.stderr


def test_an_unknown_price_is_said_to_be_unknown(invoke: Invoke) -> None:
    asked = (
        "counts",
        PREDS,
        REFS,
        "--judge",
        "m",
        "--base-url",
        "http://127.0.0.1:9/v1",
    )
    shown = invoke(*asked, "--dry-run", "--modality", "us", "--cache", "cache")
    (line,) = [
        text for text in shown.stdout.splitlines() if text.startswith("examples")
    ]
    assert line.endswith("per request, cost unknown")


def test_data_sets_of_an_experiment_have_examples_of_their_own() -> None:
    data = {
        name: {"references": str(REFS), "candidates": [str(PREDS)]} | more
        for name, more in (
            ("plain", {}),
            ("chest", {"modality": "chest-ct"}),
            ("brain", {"modality": "brain-mr"}),
        )
    }
    values = {"data": data, "judges": ["gpt-6-luna"], "rubrics": ["counts"]}
    source = ExperimentSource.of_values(Experiment.of(values))
    plan = plan_of(source)
    runner = ExperimentRunner(plan, environ={}, say=lambda _text: None)
    found = {run.data: runner.session(run).judge.prompt for run in plan.runs}
    assert {name: prompt.shots_for for name, prompt in found.items() if prompt} == {
        "plain": (),
        "chest": ("chest-ct",),
        "brain": ("brain-mr",),
    }


def test_the_service_and_python_take_the_same_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pair = {"reference": "No effusion.", "candidate": "Effusion."}
    for given, name in (("chest-xr", "xr"), ("abdomen-ct", "abdomen-ct")):
        question = OneStudy(modality=given, **pair)
        studies = studies_of(question, question.inputs).studies
        assert studies.judge_context.modality == name
        assert studies.study(0).modality == code_of(name)
        settings = run_settings(question, ServiceSettings(runs=Path("runs")))
        assert settings.modality == given
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    reward = Reward(judge="gpt-6-luna", modality="mg")
    assert reward._session.judge.prompt.shots_for == ("mg",)


def test_claude_is_asked_to_keep_them_in_its_prompt_cache() -> None:
    pytest.importorskip("anthropic")
    study = Study("s", "Clear.", "Effusion.", modality="ct")

    def body(modality: str | None) -> dict[str, Any]:
        judge = loaded(modality, model="claude-haiku-5-5")
        assert isinstance(judge, HostedJudge)
        return judge.body(judge.request(study))

    messages = body("chest-ct")["messages"]
    marked = [
        at for at, turn in enumerate(messages) if isinstance(turn["content"], list)
    ]
    assert marked == [5]  # the last turn of three examples
    (part,) = messages[5]["content"]
    assert part["cache_control"] == {"type": "ephemeral"}
    assert part["text"] == bound("green-structured", "chest-ct").shots[-1].reply
    assert all(isinstance(turn["content"], str) for turn in body(None)["messages"])


def test_models_that_know_one_prompt_get_no_examples() -> None:
    exact = prompts.check(
        {
            "name": "exact",
            "version": 1,
            "rubric": "green",
            "words": 300,
            "user": "$reference $candidate",
        },
        "prompt exact",
    )
    assert shots.for_modality(exact, rubrics.load("green"), TEXT, "xr") is exact


# prompts list, prompts show


def test_the_list_and_the_prompt_show_them(invoke: Invoke) -> None:
    listed = json.loads(invoke("prompts", "list", "--format", "json").stdout)
    examples = {entry["prompt"]: entry["examples"] for entry in listed}
    assert examples["counts"] == ", ".join(FILES)
    assert examples["fineradscore"] == ", ".join(("default", *FILES))
    assert examples["fineradscore-zeroshot"] == ""
    shown = invoke("prompts", "show", "counts", "--modality", "chest-ct").stdout
    for turn in bound("counts", "chest-ct").example_turns:
        assert f"--- {turn.role} ---\n{turn.content}\n" in shown
    none = invoke("prompts", "show", "facts-phrases", "--modality", "ct")
    assert "has no examples for ct" in none.stderr
    both = invoke("prompts", "show", "counts", "--file", "--modality", "ct")
    assert both.exit_code == 2
    assert "leave out --modality" in both.stderr
    unknown = invoke("prompts", "show", "counts", "--modality", "pet")
    assert unknown.exit_code == 2
    assert "there are: xr, ct, chest-ct" in unknown.stderr


def test_a_printed_file_is_a_prompt_to_start_from(invoke: Invoke) -> None:
    text = invoke("prompts", "show", "fineradscore", "--file").stdout
    Path("mine.yaml").write_text(text, "utf-8")
    mine = prompts.load("mine.yaml")
    assert mine.digest == prompts.load("fineradscore").digest
    rubric = rubrics.load("fineradscore")
    assert (
        shots.for_modality(mine, rubric, STRUCTURED, "us").digest
        == bound("fineradscore", "us").digest
    )
