"""The command line that is of the settings of a run."""

from __future__ import annotations

import json

from judge.run_settings import RunSettings

# The settings of one value whose option has their name.
_VALUES = (
    "judge",
    "prompt",
    "model",
    "section",
    "encoding",
    "references",
    "limit",
    "shard",
    "modality",
    "max_tokens",
    "temperature",
    "reply",
    "service_tier",
    "timeout",
    "concurrency",
    "max_cost",
    "min_coverage",
    "reask",
    "give_up_after",
    "batch_size",
)
_SWITCHES = ("allow_missing", "batch")
_ROLES = {
    "id": "id",
    "candidate": "candidate",
    "reference": "reference",
    "study_class": "class",
    "patient": "patient",
    "prior": "prior",
}


def arguments_of(settings: RunSettings) -> list[str]:
    """Return the options of a rubric's command that ask for this, without the files.

    What is left to its default is left out.
    """
    arguments = []
    for name in _VALUES:
        value = getattr(settings, name)
        if value is not None and name in settings.model_fields_set:
            arguments.append(f"{_option(name)}={value}")
    arguments += [_option(name) for name in _SWITCHES if getattr(settings, name)]
    if "max_outage" in settings.model_fields_set:  # the option has minutes
        arguments.append(f"--max-outage={settings.max_outage / 60:g}")
    arguments += [f"--base-url={address}" for address in settings.base_url]
    for name, value in settings.sampling.items():
        arguments.append(f"--body={name}={json.dumps(value)}")
    for name, value in settings.server.items():
        arguments.append(
            f"--server={name}" if value is True else f"--server={name}={value}"
        )
    columns = settings.columns
    for role, option in _ROLES.items():
        field = getattr(columns, role)
        if field is not None:
            arguments.append(f"--column={option}={field}")
    if columns.context == []:
        arguments.append("--no-context")
    arguments += [f"--column=context={field}" for field in columns.context or ()]
    if "by" in settings.model_fields_set:
        arguments += [f"--by={fields}" for fields in settings.by]
    return arguments


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
