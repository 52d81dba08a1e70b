"""The options that say how studies are resampled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from judge.stats.paired import Resampling

patient_option = click.option(
    "--patient-field",
    metavar="FIELD",
    help="Resample by this field. Default: patient, patient_id, subject_id or subject where a "
    "run has it; none takes studies as independent.",
)
resamples_option = click.option(
    "--resamples",
    type=click.IntRange(min=100),
    help="Bootstrap resamples, for intervals. Default: 1000.",
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), help="Of all that is random. Default: 20260101."
)


def resampling(options: Mapping[str, Any]) -> Resampling:
    """Return how to resample by the options that were given; the others are as usual."""
    from judge.stats.paired import Resampling

    named = {name: options.get(name) for name in ("seed", "resamples", "flips")}
    return Resampling(**{name: value for name, value in named.items() if value is not None})
