"""Prints the models of the API as one JSON Schema, of which `npm run schema` makes types."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

from judge.pages.comparison_models import ComparedPacket
from judge.pages.validation_models import (
    QuantityCounts,
    ValidatedPacket,
    ValidatedStudies,
    ValidationOverview,
)
from judge.service.app import api
from judge.service.settings import ServiceSettings

# What stands in files alone.
_IN_FILES = (
    ComparedPacket,
    QuantityCounts,
    ValidatedPacket,
    ValidatedStudies,
    ValidationOverview,
)
_FROM, _TO = "#/components/schemas/", "#/definitions/"


def _with_references(value: object) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return {
            name: _with_references(part)
            for name, part in value.items()
            # A field may have this name too: then it is an object.
            if name != "title" or not isinstance(part, str)
        }
    if isinstance(value, list):
        return [_with_references(part) for part in value]
    if isinstance(value, str) and value.startswith(_FROM):
        return _TO + value.removeprefix(_FROM)
    return value


described = api(ServiceSettings(runs=(Path("runs"),))).openapi()
_, in_files = models_json_schema(
    [(model, "serialization") for model in _IN_FILES],
    ref_template=f"{_FROM}{{model}}",
)
models = described["components"]["schemas"] | in_files["$defs"]
definitions = {name: _with_references(model) for name, model in sorted(models.items())}
json.dump(
    {"title": "Api", "type": "object", "definitions": definitions}, sys.stdout, indent=1
)
