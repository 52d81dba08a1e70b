"""The options that take further metrics from files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import with_options
from judge.cli.output import list_option

if TYPE_CHECKING:
    from judge.comparing.metric_files import MetricFile

metric_options = with_options(
    click.option(
        "--metrics",
        "files",
        multiple=True,
        metavar="FILE",
        help="Further metrics: CSV, TSV, Parquet or JSON with study_id, model where there are "
        "several, and one column each (repeatable).",
    ),
    list_option(
        "--higher-is-better",
        "higher",
        metavar="NAME",
        help="A column of --metrics of which more is better, where its name does not tell.",
    ),
    list_option(
        "--lower-is-better",
        "lower",
        metavar="NAME",
        help="The same, where less is better.",
    ),
)


def read_files(options: Mapping[str, Any]) -> list[MetricFile]:
    """Read the files that the options name; raises `JudgeError` as `read_metrics` does."""
    from judge.comparing import metric_files

    return metric_files.read_files(
        options["files"], higher=options["higher"], lower=options["lower"]
    )
