"""What a refusal is about: decided by what was accepted, not by words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from faultserver import BatchPlan, Fault, FaultServer, always, first
from running import Runner, Shell, keys, study_set

from judge import backends, rubrics
from judge.backends.base import Mode, RefusedError, StudyError
from judge.backends.refusals import (
    REFUSED,
    Accepted,
    AdaptedError,
    Evidence,
    OnceMoreError,
    Refusals,
    RequestForm,
    Verdict,
    named_in,
    room_of,
    verdict,
    version_hint,
)
from judge.cache import canonical, key_of
from judge.cache.answers import answer_to
from judge.cache.store import CompletionCache
from judge.running.folder import RunFolder
from judge.types import Completion, Failed, JudgeError, Scored

NEVER, BEFORE, NOW = Accepted.NEVER, Accepted.BEFORE, Accepted.NOW


@pytest.mark.parametrize(
    ("seen", "wanted"),
    [
        (Evidence(status=400, accepted=NOW), Verdict.AGAIN),
        (Evidence(status=400, accepted=NOW, is_again=True), Verdict.STUDY),
        (
            Evidence(status=400, accepted=NOW, is_again=True, is_named=True),
            Verdict.STUDY,
        ),
        (Evidence(status=401, accepted=NOW, is_again=True), Verdict.STUDY),
        (Evidence(status=403, accepted=BEFORE, is_again=True), Verdict.STUDY),
        (
            Evidence(status=400, accepted=BEFORE, is_again=True, is_named=True),
            Verdict.ADAPT,
        ),
        (Evidence(status=401, accepted=BEFORE), Verdict.STOP),
        (Evidence(status=404, accepted=BEFORE), Verdict.STOP),
        (
            Evidence(status=400, accepted=NEVER, is_named=True, others_under_way=True),
            Verdict.ADAPT,
        ),
        (Evidence(status=401, accepted=NEVER, others_under_way=True), Verdict.STOP),
        (Evidence(status=403, accepted=NEVER, others_under_way=True), Verdict.WAIT),
        (
            Evidence(status=403, accepted=NEVER, n_refused=3, is_last_mode=False),
            Verdict.STOP,
        ),
        (Evidence(status=400, accepted=NEVER), Verdict.AGAIN),
        (
            Evidence(status=400, accepted=NEVER, is_again=True, is_last_mode=False),
            Verdict.ADAPT,
        ),
        (Evidence(status=400, accepted=NEVER, is_again=True), Verdict.ASIDE),
        (
            Evidence(status=400, accepted=NEVER, n_refused=3, is_last_mode=False),
            Verdict.ADAPT,
        ),
        (Evidence(status=400, accepted=NEVER, n_refused=3), Verdict.STOP),
        (Evidence(status=400, accepted=NOW, is_too_long=True), Verdict.STUDY),
        (
            Evidence(status=400, accepted=NEVER, is_too_long=True, is_named=True),
            Verdict.ADAPT,
        ),
        (
            Evidence(status=400, accepted=NEVER, is_too_long=True, n_refused=3),
            Verdict.STOP,
        ),
    ],
)
def test_the_table(seen: Evidence, wanted: Verdict) -> None:
    assert verdict(seen) is wanted


SENT = (
    "temperature",
    "max_tokens",
    "response_format",
    "system",
    "seed",
    "top_p",
    "min_p",
)


@pytest.mark.parametrize(
    ("words", "param", "name"),
    [
        ("`temperature` is deprecated for this model.", "", "temperature"),
        (
            "gpt-5 models don't support temperature=0.0. Only temperature=1 is",
            "",
            "temperature",
        ),
        ("Extra inputs are not permitted", "body.seed", "seed"),
        ("Unsupported parameter: 'max_tokens'", "max_tokens", "max_tokens"),
        ("Top P must not be set together with this", "", "top_p"),
        ("System role not supported", "", "system"),
        ("Developer instruction is not enabled for this model", "", "system"),
        ("Conversation roles must alternate user/assistant/user", "", "system"),
        ("Invalid value", "messages[0].role", "system"),
        ("This server was built without structured output", "", "response_format"),
        ("the field min_p is of another engine", "", "min_p"),
        ("Your input was flagged: the system found harm.", "", None),
        ("We could not parse the JSON body of your request.", "", None),
        ("Sorry! There are repetitive patterns in your prompt.", "prompt", None),
    ],
)
def test_what_a_server_names(words: str, param: str, name: str | None) -> None:
    assert named_in(SENT, words, param) == name


@pytest.mark.parametrize(
    ("words", "room"),
    [
        (
            "'max_tokens' is too large: 25000. The maximum context length is 8,192 tokens",
            4096,
        ),
        (
            "maximum context length is 8192 tokens and your request has 7000 input tokens",
            894,
        ),
        (
            "max_tokens is too large: 25000. This model supports at most 16384 completion tokens",
            16384,
        ),
        (
            "max_tokens: 25000 > 8192, which is the maximum allowed number of output tokens",
            8192,
        ),
        ("the question is too long", None),
    ],
)
def test_how_much_room_a_server_says_it_has(words: str, room: int | None) -> None:
    assert room_of(words, 25_000) == room


def test_most_addresses_end_with_a_version() -> None:
    assert version_hint("http://127.0.0.1:8000").endswith("http://127.0.0.1:8000/v1")
    assert version_hint("http://127.0.0.1:8000/v1") == ""
    assert version_hint("https://x.example.org/api/v1beta") == ""


def table(**more: object) -> Refusals:
    return Refusals(model="m", form=RequestForm(Mode.JSON_SCHEMA), **more)  # type: ignore[arg-type]


ODD = RefusedError(400, "Odd.")


def refused_twice(refusals: Refusals, study: str) -> Exception | None:
    assert isinstance(refusals.refuse(ODD, refusals.form, study), OnceMoreError)
    return refusals.refuse(ODD, refusals.form, study)


def test_ten_in_a_row_stop_a_run() -> None:
    refusals = table()
    refusals.accept(refusals.form)
    ends = [refused_twice(refusals, f"odd-{at}") for at in range(10)]
    assert all(isinstance(end, StudyError) for end in ends[:9])
    assert isinstance(ends[9], JudgeError)


def test_more_than_half_of_the_last_fifty_stop_a_run() -> None:
    for n_odd, stops in ((1, False), (2, True)):
        refusals = table()
        refusals.accept(refusals.form)
        ends = []
        for at in range(40):
            refusals.answered(f"good-{at}")
            ends += [refused_twice(refusals, f"odd-{at}-{odd}") for odd in range(n_odd)]
        assert any(isinstance(end, JudgeError) for end in ends) == stops
        assert isinstance(ends[20], StudyError)


def test_several_questions_about_one_study_are_one_refused_study() -> None:
    refusals = table()
    refusals.accept(refusals.form)
    for _ in range(40):
        end = refusals.refuse(ODD, refusals.form, "odd")
    assert isinstance(end, StudyError)
    assert end.reason == REFUSED


def test_a_form_that_another_request_has_changed_is_asked_in_again() -> None:
    refusals = table()
    old = refusals.form
    named = RefusedError(400, "no temperature", "temperature")
    assert isinstance(refusals.refuse(named, old, "a"), AdaptedError)
    assert isinstance(refusals.refuse(named, old, "b"), AdaptedError)
    assert refusals.form.changed == (("temperature", ""),)
    assert isinstance(table(asked=("temperature",)).refuse(named, old, "a"), JudgeError)


def test_what_was_learned_is_there_in_the_next_run() -> None:
    kept: list[object] = []
    refusals = table(remember=kept.append, limit=25_000, schema="abc")
    refusals.refuse(RefusedError(400, "no", "seed"), refusals.form, "a")
    refusals.accept(refusals.form)
    again = table(limit=25_000, schema="abc")
    again.recall(json.loads(json.dumps(kept[-1])))
    assert again.form == refusals.form
    assert again.accepted(again.form) is BEFORE
    other = table(schema="another")
    other.recall(json.loads(json.dumps(kept[-1])))
    assert other.accepted(other.form) is NEVER
    for odd in (
        {},
        {"changed": 1, "modes": []},
        {"changed": [[1]], "modes": [None], "room": "x"},
    ):
        table().recall(odd)


# Runs


def ends_of(runner: Runner, n: int, **policy: object) -> dict[str, str]:
    ends = runner(n, **policy)[0]  # type: ignore[arg-type]
    return {
        key: end.outcome.reason
        for key, end in ends.items()
        if not isinstance(end.outcome, Scored)
    }


@pytest.mark.parametrize("fault", [Fault.ODD_REFUSAL, Fault.MODERATION])
@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("odd", ["study-0000", "study-0005"])
def test_one_odd_study_fails_alone_wherever_it_stands(
    server: FaultServer, runner: Runner, fault: Fault, concurrency: int, odd: str
) -> None:
    server.set_faults(studies={odd: always(fault)})
    assert ends_of(runner, 9, concurrency=concurrency) == {odd: REFUSED}
    assert server.stats().by_mode["text"] <= 2, (
        "in no other mode but for the first of all"
    )
    assert server.stats().by_mode["json_schema"] <= 8 + 2
    server.reset()
    assert ends_of(runner, 9) == {odd: REFUSED}, "the next run asks it again"
    assert server.stats().requests == 2
    assert server.stats().by_mode["text"] == 0


def test_a_passing_refusal_is_asked_again(server: FaultServer, runner: Runner) -> None:
    server.set_faults(studies={key: first(Fault.ODD_REFUSAL) for key in keys(8)[::4]})
    assert ends_of(runner, 8) == {}
    assert server.stats().by_mode["text"] == 0


def test_a_server_that_refuses_all_stops_the_run(
    server: FaultServer, runner: Runner
) -> None:
    server.set_faults(rates={Fault.ODD_REFUSAL: 1.0})
    for n in (1, 40):
        with pytest.raises(JudgeError, match="patterns that we do not process"):
            runner(n, concurrency=8)
    assert server.stats().requests < 40


def test_a_server_that_refuses_from_some_time_on_stops_the_run(
    server: FaultServer, runner: Runner
) -> None:
    server.set_faults(studies={key: always(Fault.MODERATION) for key in keys(60)[10:]})
    with pytest.raises(JudgeError, match="flagged"):
        runner(60, concurrency=1)
    assert server.stats().requests == 10 + 2 * 10


def test_a_login_page_stops_the_run(server: FaultServer, runner: Runner) -> None:
    server.set_faults(rates={Fault.PAGE: 1.0})
    with pytest.raises(JudgeError, match="no completion") as caught:
        runner(60, concurrency=4)
    assert server.url in str(caught.value)
    assert server.stats().requests < 10 + 4


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("temperature", "temperature is deprecated here"),
        ("max_tokens", "use max_completion_tokens in the place of max_tokens"),
        ("system", "System role not supported"),
        ("response_format", "no structured output"),
    ],
)
def test_what_a_server_names_is_left_out_and_the_signature_says_so(
    server: FaultServer, shell: Callable[[int], Shell], name: str, sentence: str
) -> None:
    server.set_faults(sentences={name: sentence}, record=True)
    ready = shell(4)
    code, _, err = ready.run("--out", "run")
    assert code == 0, err
    assert "refuses" in err
    sent = server.requests()[-1]["body"]
    assert name not in {*sent, *(turn["role"] for turn in sent["messages"])}
    manifest = RunFolder.open(ready.folder / "run").manifest
    sampling, form = manifest.sampling or "", manifest.reply or ""
    assert ("temperature=0" in sampling) == (name != "temperature")
    assert ("max_completion_tokens=8192" in sampling) == (name == "max_tokens")
    assert ('system="user"' in sampling) == (name == "system")
    assert form.endswith(",json") == (name == "response_format")
    server.reset()
    ready.write(6)
    code, _, err = ready.run("--out", "more")
    assert code == 0, err
    assert server.stats().requests == 2, "what was learned is remembered"
    assert RunFolder.open(ready.folder / "more").manifest.sampling == sampling
    code, _, err = ready.run("--out", "run")
    assert "another run" in err, "six studies, not four"


def test_the_words_for_plain_json_are_the_prompts(
    server: FaultServer, runner: Runner
) -> None:
    server.set_faults(refused_modes=("json_schema",), record=True)
    runner(1)
    system, _ = server.requests()[-1]["body"]["messages"]
    assert "genius" not in json.dumps(system)
    assert "one JSON object" in system["content"]
    assert '"properties": {' in system["content"]


def test_judges_own_limit_is_lowered_once_where_the_server_has_less(
    server: FaultServer, runner: Runner
) -> None:
    server.set_faults(context=8192, record=True)
    assert ends_of(runner, 6, model="gpt-oss-20b") == {}
    last = {each["study"]: each["body"]["max_tokens"] for each in server.requests()}
    assert list(last.values()) == [4096] * 6
    server.reset()
    with pytest.raises(JudgeError, match="--max-tokens"):
        runner(12, model="other", asking={"max_tokens": 9000})


def test_a_question_that_is_cut_in_silence_fails(
    server: FaultServer, tmp_path: Path
) -> None:
    run = Runner(server, rubrics.load("green"), tmp_path)
    server.set_faults(studies={"study-0001": always(Fault.CUT_PROMPT)})
    end = run(3)[0]["study-0001"]
    assert isinstance(end.outcome, Failed)
    assert "num_ctx" in end.outcome.detail
    server.set_faults(studies={})
    assert ends_of(run, 3) == {}, "no such answer is kept"


# How answers end


@pytest.mark.parametrize(
    "fault", [Fault.OTHER_STOP, Fault.ODD_END, Fault.NO_END, Fault.PARTS]
)
def test_a_whole_answer_is_read_whatever_its_ending_is_called(
    server: FaultServer, runner: Runner, fault: Fault
) -> None:
    server.set_faults(rates={fault: 1.0})
    assert ends_of(runner, 3) == {}
    assert server.stats().requests == 3


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault.ODD_END, "ended with moonrise"),
        (Fault.OTHER_STOP, None),
        (Fault.NO_END, None),
    ],
)
def test_a_text_with_an_unknown_ending_is_unparsed_with_that_word(
    server: FaultServer, runner: Runner, fault: Fault, reason: str | None
) -> None:
    server.set_faults(rates={fault: 1.0})
    asking = {"reply": "text"}
    wanted = dict.fromkeys(keys(2), reason) if reason else {}
    assert ends_of(runner, 2, asking=asking, reask=0) == wanted


@pytest.mark.parametrize("fault", [Fault.ABORTED, Fault.ERROR_INSIDE])
def test_an_answer_that_the_server_gave_up_is_asked_for_again_and_never_kept(
    server: FaultServer, runner: Runner, fault: Fault
) -> None:
    server.set_faults(studies={"study-0001": first(fault)})
    assert ends_of(runner, 3) == {}
    assert server.stats().by_study["study-0001"] == 2


def test_what_an_older_version_kept_of_an_aborted_answer_is_asked_for_again(
    server: FaultServer, runner: Runner
) -> None:
    settings = backends.JudgeSettings(base_url=server.url)
    judge = backends.load("model-x", runner.rubric, settings)
    record = canonical(judge.request(next(iter(study_set(1)))))
    with CompletionCache(runner.cache) as cache:
        cache.put(answer_to(key_of(record), record, Completion("", "abort", "m")))
        assert cache.get(key_of(record)) is None
    assert ends_of(runner, 1) == {}
    assert server.stats().requests == 1


def test_an_answer_in_the_reasoning_alone_is_unparsed_and_says_so(
    server: FaultServer, runner: Runner
) -> None:
    server.set_faults(rates={Fault.REASONING: 1.0})
    assert ends_of(runner, 1, reask=0) == {"study-0000": "empty"}


# Batches

BATCH = ("--batch", "--batch-poll", "0.05", "--format", "json", "--min-coverage", "0.5")


def test_one_odd_line_of_a_batch_sends_nothing_else_into_another_mode(
    server: FaultServer, shell: Callable[[int], Shell]
) -> None:
    server.set_faults(studies={"study-0003": always(Fault.ODD_REFUSAL)})
    ready = shell(8)
    code, out, err = ready.run(*BATCH, "--out", "run")
    assert code == 0, err
    summary = json.loads(out)
    assert summary["reasons"] == {f"failed: {REFUSED}": 1}
    assert "patterns" in summary["failures"][0]["sentence"]
    assert summary["reply_modes"] == {"json_schema": 7}
    stats = server.batches.stats()
    assert stats.creates == 2, "the line is asked once more"
    assert sorted(stats.created.values()) == [1] * 7 + [2]


def test_a_reasoning_models_batch_is_sent_in_its_own_form(
    server: FaultServer, shell: Callable[[int], Shell]
) -> None:
    server.set_faults(
        sentences={"temperature": "no temperature", "max_tokens": "no max_tokens"}
    )
    ready = shell(4)
    code, _, err = ready.judge(
        "green",
        "preds.json",
        "refs.json",
        "--judge",
        "gpt-5",
        "--base-url",
        server.url,
        "--cache",
        "cache",
        "--out",
        "run",
        *BATCH,
    )
    assert code == 0, err
    assert server.batches.stats().creates == 1


def test_a_batch_that_fails_without_a_reason_says_so(
    server: FaultServer, shell: Callable[[int], Shell]
) -> None:
    server.batches.plan = BatchPlan(ending="failed", share=0.0)
    code, _, err = shell(2).run(*BATCH, "--out", "run")
    assert code == 2
    assert "gives no reason" in err
    assert "None" not in err


# Names


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("gren", "preds.json"), "green"),
        (
            ("green", "preds.json", "refs.json", "--judge", "lexicn"),
            "Did you mean lexicon?",
        ),
        (
            ("green", "preds.json", "refs.json", "--judge", "gpt4o"),
            "Did you mean gpt-4o?",
        ),
    ],
)
def test_a_slip_gets_a_suggestion(
    shell: Callable[[int], Shell], words: tuple[str, ...], meant: str
) -> None:
    code, _, err = shell(1).judge(*words)
    assert code == 2
    assert meant in err


def test_the_reasons_of_failed_studies_are_printed(
    server: FaultServer, shell: Callable[[int], Shell]
) -> None:
    server.set_faults(studies=dict.fromkeys(keys(3), always(Fault.ODD_REFUSAL)))
    _, out, err = shell(12).run("--out", "run", "--concurrency", "12")
    assert "patterns that we do not process" in " ".join(out.split())
    assert "failed 3: refused by the server: Your text has patterns" in err
