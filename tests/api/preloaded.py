"""Loads all that a run needs, so that a process that is forked from here starts at once."""

from __future__ import annotations

from importlib import import_module

_MODULES = (
    *("httpcore2", "pyarrow", "sqlite3", "truststore", "running"),
    *(
        "judge.backends.anthropic",
        "judge.backends.google",
        "judge.backends.lexicon.judge",
    ),
    *(
        "judge.backends.models",
        "judge.backends.openai_client",
        "judge.batching.batch_run",
    ),
    *("judge.batching.anthropic", "judge.batching.google", "judge.batching.openai"),
    *(
        "judge.cache.answers",
        "judge.cache.servers",
        "judge.cache.store",
        "judge.cli.judging",
        "judge.cli.output",
    ),
    *(
        "judge.prompts.official",
        "judge.running.cached_client",
        "judge.running.cost",
        "judge.tables.run",
    ),
)

for _name in _MODULES:
    import_module(_name)
