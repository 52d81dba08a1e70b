"""RadEval's values of each study: `python radeval_scores.py RUN SCORES METRIC ...`.

RUN is the folder of a run, SCORES the CSV that `judge compare --metrics` reads. RadEval keeps no
ids, so they are put beside its values. What is the same number in judge has the name that it has
there, the rest `radeval_` before its own. Needs the package radeval; its metrics `bleu` and `rouge`
have no weights to download.
"""

import csv
import sys
from pathlib import Path

from radeval import RadEval

from judge import Run

SAME = {"rougeL": "rougel", "radcliq_v1": "radcliq", "radgraph_radcliq": "radgraph"}
SAME |= {
    name: name for name in ("radgraph_simple", "radgraph_partial", "radgraph_complete")
}
SAME |= {"ratescore": "ratescore"}


def main() -> None:
    """Score the reports of the run and write the values."""
    folder, scores, *metrics = sys.argv[1:]
    studies = list(Run.open(folder).records())
    evaluate = RadEval(metrics=metrics, per_sample=True, show_progress=False)
    found = evaluate(
        refs=[study["reference"] for study in studies],
        hyps=[study["candidate"] for study in studies],
    )
    columns = {
        SAME.get(name, f"radeval_{name}"): values for name, values in found.items()
    }
    ids = [study["study_id"] for study in studies]
    with Path(scores).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["study_id", *columns])
        writer.writerows(zip(ids, *columns.values(), strict=True))


if __name__ == "__main__":
    main()
