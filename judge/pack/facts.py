"""What a run knows about itself, in the words of a report: the answers of the checklists.

Each public function of a packed run returns a sentence, or None where the run does not know; a
checklist names it as `fact`. The checklists are those of [Park et al. 2025] and [Gallifant et al.
2025].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from judge import plugins
from judge.pack.packed_run import PackedRun
from judge.run_files.identity import JudgedBy
from judge.tables.citation import Citation, citation
from judge.tables.run import headline_figures
from judge.text import counted, group_value, left_out, listed

NOT_APPLICABLE = "not applicable"
"""How an answer begins where a question about a language model does not apply."""
_NO_MODEL = f"{NOT_APPLICABLE}: the built-in rules are no language model"
_READER = f"{NOT_APPLICABLE}: a radiologist read the studies, no language model"
_SERVED_HERE = {
    "vllm:": "weights that vLLM served",
    "ray:": "weights that Ray Serve served",
    "hf:": "weights that transformers ran",
}


def _judges(run: PackedRun) -> list[JudgedBy]:
    """Return who judged: several for a panel."""
    combined = run.manifest.combined
    if combined is not None and combined.of == "judge":
        return [part.judged_by for part in combined.parts if part.judged_by is not None]
    return [run.manifest]


def _without_model(run: PackedRun) -> str | None:
    """Return why questions about a language model do not apply, None where one was asked."""
    if run.manifest.reading is not None:
        return _READER
    judges = _judges(run)
    if judges and all(judge.judge.name.startswith("lexicon") for judge in judges):
        return _NO_MODEL
    return None


def judge(run: PackedRun) -> str:
    """Who judged, as the signature has it."""
    named = []
    for judged_by in _judges(run):
        entry = judged_by.judge
        text = entry.name
        if entry.version != entry.name:
            text += f" ({entry.version})"
        if entry.note:
            text += f": {entry.note}"
        named.append(text)
    return "; ".join(named)


def answered_as(run: PackedRun) -> str | None:
    """Under which names a server answered, each with its number of answers."""
    served = run.manifest.served
    if served is not None and served.answered_as:
        names = [f"{name} ({n:,} answers)" for name, n in served.answered_as.items()]
        return listed(names)
    return _without_model(run)


def provider(run: PackedRun) -> str | None:
    """Whose API it was."""
    served = run.manifest.served
    if served is not None:
        return served.provider
    return _without_model(run)


def answered_between(run: PackedRun) -> str | None:
    """When the first and the last answer were given."""
    served = run.manifest.served
    if served is None or not served.answered_between:
        return _without_model(run)
    first, last = served.answered_between[0], served.answered_between[-1]
    return f"{first} to {last}"


def candidate_model(run: PackedRun) -> str | None:
    """The name of the model whose reports were judged."""
    return run.manifest.model


def access(run: PackedRun) -> str | None:
    """How the judge was reached."""
    manifest = run.manifest
    if manifest.served is not None:
        how = f"the API of {manifest.served.provider}"
        if manifest.settings is not None and manifest.settings.batch:
            how += ", in batches"
        return how
    for prefix, words in _SERVED_HERE.items():
        if manifest.judge.name.startswith(prefix):
            return f"{words} for this run"
    return _without_model(run)


def software(run: PackedRun) -> str | None:
    """The versions that the run recorded."""
    versions = run.manifest.versions
    if not versions:
        return None
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def input(run: PackedRun) -> str:  # noqa: A001 - as the checklist calls it
    """What a question holds."""
    section = run.manifest.section
    n = counted(run.summary.n_studies, "study", "studies")
    return f"text: the reference and the candidate report of each of {n}, section {section}"


def shown(run: PackedRun) -> str | None:
    """What the judge was shown beside the reports."""
    if _without_model(run):
        return _without_model(run)
    manifest = run.manifest
    shown = []
    if manifest.shown_context:
        shown.append(f"the fields {listed(list(manifest.shown_context))}")
    if manifest.shown_prior:
        shown.append(f"the earlier report ({manifest.shown_prior})")
    if manifest.modality:
        shown.append(f"the modality ({', '.join(manifest.modality)})")
    if not shown:
        return "nothing but the two reports"
    return listed(shown)


def adaptation(run: PackedRun) -> str | None:
    """Worked examples in the prompts; None where a prompt's text is not here."""
    if _without_model(run):
        return _without_model(run)
    examples = []
    for packed in run.prompts:
        if packed.prompt is None:
            return None
        n = len(packed.prompt.shots) + len(packed.prompt.turns) // 2
        examples.append(
            f"{packed.named} has {counted(n, 'worked example', 'worked examples')}"
        )
    if not examples:
        return None
    return f"{listed(examples)}; the program changes no weights and adds no retrieved texts"


def prompt(run: PackedRun) -> str | None:
    """Which prompts, and where their texts are; None where a text is not here."""
    if _without_model(run):
        return _without_model(run)
    if not run.prompts or any(packed.prompt is None for packed in run.prompts):
        return None
    names = listed([packed.named for packed in run.prompts])
    return f"{names}: whole in this pack, under Prompts"


def execution(run: PackedRun) -> str | None:
    """How questions follow each other."""
    if _without_model(run):
        return _without_model(run)
    text = (
        "each question is a conversation of its own, without a memory of other studies"
    )
    reask = max(judged_by.reask or 0 for judged_by in _judges(run))
    if reask:
        times = counted(reask, "more time", "more times")
        text += f"; an answer that cannot be read is asked for up to {times}"
    return text


def reply(run: PackedRun) -> str | None:
    """What form an answer has, and what is made of it."""
    form = "items and their labels"
    if not _without_model(run):
        forms = dict.fromkeys(_reply_form(judged_by) for judged_by in _judges(run))
        form = listed(list(forms))
    rubric = run.run.rubric
    return (
        f"{form}, read by {rubric.title}, version {run.manifest.rubric_version} of the rubric, "
        "into items with labels, which are counted for each study"
    )


def _reply_form(judged_by: JudgedBy) -> str:
    if judged_by.reply is None:
        return "the form that the rubric asks for"
    if judged_by.reply == "text":
        return "text in the rubric's layout"
    return f"JSON under a schema ({judged_by.reply})"


def program(run: PackedRun) -> str:
    """The program that asked and counted."""
    text = f"judge {run.manifest.version} (Python package radiology-judge, MIT licence)"
    if run.manifest.packages:
        text += f", with {listed(list(run.manifest.packages))}"
    return text


def sampling(run: PackedRun) -> str | None:
    """What was sent as sampling parameters."""
    if _without_model(run):
        return _without_model(run)
    sent = []
    for judged_by in _judges(run):
        if judged_by.sampling is None:
            return None
        sent.append(judged_by.sampling.replace(",", ", ") or "the server's defaults")
    return "; ".join(sent) or None


def repeats(run: PackedRun) -> str | None:
    """How often each question was asked."""
    if _without_model(run):
        return _without_model(run)
    if run.manifest.repeat:
        return f"once in this run, which is repeat {run.manifest.repeat} of several"
    if len(_judges(run)) > 1:
        return "once by each judge"
    return "once"


def inputs(run: PackedRun) -> str | None:
    """The files with their hashes."""
    files = [
        f"{file.role}: SHA-256 {file.sha256} ({counted(file.n_records, 'record', 'records')})"
        for file in run.manifest.inputs
    ]
    return "; ".join(files) or None


def section(run: PackedRun) -> str:
    """Which part of the reports was judged."""
    return run.manifest.section


def classes(run: PackedRun) -> str:
    """How many studies of each class, and who gave the class."""
    counts = run.table["study_class"].value_counts(dropna=False)
    parts = []
    for value, n in sorted(counts.items(), key=lambda pair: str(pair[0])):
        name = "without a class"
        if isinstance(value, str):
            name = group_value(value)
        parts.append(f"{n:,} {name}")
    text = f"{run.summary.n_studies:,} studies: {listed(parts)}"
    inferred = run.summary.n_class_inferred
    if inferred:
        text += f"; the class of {inferred:,} was inferred from the reference by rules"
    return text


def coverage(run: PackedRun) -> str:
    """What became of all studies."""
    summary = run.summary
    text = (
        f"{summary.n_studies:,} studies: {summary.n_scored:,} scored, {summary.n_unparsed:,} "
        f"unparsed, {summary.n_failed:,} failed; only scored studies are in a figure"
    )
    if summary.omitted:
        text += f"; left out before that: {left_out(summary.omitted)}"
    return text


def measures(run: PackedRun) -> str:
    """The figures and what they are."""
    parts = []
    for statistic in run.run.rubric.shown("groups"):
        definition = statistic.definition
        if definition is None or definition == statistic.label:
            definition = statistic.formula
        parts.append(f"{statistic.label}: {definition}")
    return "; ".join(parts)


def signature(run: PackedRun) -> str:
    """The line that names everything that changes a number."""
    return run.summary.signature


def intervals(run: PackedRun) -> str:
    """How intervals are made."""
    methods = dict.fromkeys(
        statistic.interval_words for statistic in run.run.rubric.shown("groups")
    )
    text = f"95% intervals {listed(list(methods))}"
    if run.summary.resampling is not None:
        drawn = run.summary.resampling
        text += f" (seed {drawn.seed}"
        if drawn.resamples is not None:
            text += f", {drawn.resamples:,} resamples"
        text += ")"
    if run.summary.intervals_by:
        text += f", by {run.summary.intervals_by}"
    return text


def effort(run: PackedRun) -> str | None:
    """What asking took."""
    if _without_model(run):
        return _without_model(run)
    spent = run.manifest.spent
    if spent is None:
        return None
    parts = [counted(spent.asked, "question", "questions")]
    parts.append(f"{spent.from_cache:,} answers from the cache")
    more = spent.model_extra or {}
    for name in ("prompt_tokens", "completion_tokens"):
        if more.get(name):
            parts.append(f"{more[name]:,} {name.replace('_', ' ')}")
    if spent.dollars is not None:
        parts.append(f"{spent.dollars:,.2f} US dollars by list prices")
    seconds = _seconds(run)
    if seconds is not None:
        parts.append(f"{seconds:,.0f} s from start to end")
    return ", ".join(parts)


def _seconds(run: PackedRun) -> float | None:
    started, finished = run.manifest.started, run.manifest.finished
    if started is None or finished is None:
        return None
    took = datetime.fromisoformat(finished) - datetime.fromisoformat(started)
    return took.total_seconds()


def holds(run: PackedRun) -> str:
    """What of the data a pack has."""
    if run.sample.reports:
        n = counted(len(run.sample.reports), "study", "studies")
        return f"ids, classes, outcomes and counts of all studies; the reports of {n}"
    return "ids, classes, outcomes and counts of all studies; no report"


def figures(run: PackedRun) -> str | None:
    """The main figures of all studies."""
    if not run.summary.n_scored:
        return None
    shown_figures = headline_figures(run.summary, run.run.rubric)
    texts = [f"{label} {text}" for label, text in shown_figures]
    return f"{'; '.join(texts)}; by group under Results"


def cited(run: PackedRun) -> Citation:
    """The methods text of `judge cite`, and the works in it."""
    manifest = run.manifest
    packages = plugins.RUBRICS.packages(manifest.rubric, manifest.versions)
    return citation(manifest, run.summary, run.run.rubric, packages)


Fact = Callable[[PackedRun], str | None]
FACTS: Mapping[str, Fact] = {
    fact.__name__: fact
    for fact in (
        access,
        adaptation,
        answered_as,
        answered_between,
        candidate_model,
        classes,
        coverage,
        effort,
        execution,
        figures,
        holds,
        input,
        inputs,
        intervals,
        judge,
        measures,
        program,
        prompt,
        provider,
        repeats,
        reply,
        sampling,
        section,
        shown,
        signature,
        software,
    )
}
"""The functions by the names that checklists call them by; `comparison` is of several runs."""
