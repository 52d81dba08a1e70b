"""The lexicon, the pairs in YAML files beside this one, and how errors are written there."""

from pathlib import Path

import yaml

from judge.backends.lexicon import compare, load

LEXICON = load()


def table(name):
    """What a YAML file here holds."""
    return yaml.safe_load(Path(__file__).with_name(name).read_text("utf-8"))


def errors(reference, candidate):
    """Letter and severity of each error."""
    found = compare(reference, candidate, LEXICON).discrepancies
    return sorted(f"{error.category.value}{error.severity}" for error in found)
