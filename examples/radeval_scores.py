"""RadEval's values of each study: `python radeval_scores.py PAIRS SCORES METRIC ...`.

PAIRS is what `judge export --to radeval` writes, SCORES the CSV that `judge compare --metrics`
reads. What is the same number in judge has the name that it has there, the rest `radeval_` before
its own. Needs the package radeval; its metrics `bleu` and `rouge` have no weights to download.
"""

import csv
import json
import sys
from pathlib import Path

from radeval import RadEval

SAME = {"rougeL": "rougel", "radcliq_v1": "radcliq", "radgraph_radcliq": "radgraph"}
SAME |= {name: name for name in ("radgraph_simple", "radgraph_partial", "radgraph_complete")}
SAME |= {"ratescore": "ratescore"}


def main() -> None:
    """Score the pairs and write the values."""
    pairs, scores, *metrics = sys.argv[1:]
    given = json.loads(Path(pairs).read_text("utf-8"))
    evaluate = RadEval(metrics=metrics, per_sample=True, show_progress=False)
    found = evaluate(refs=given["refs"], hyps=given["hyps"])
    columns = {SAME.get(name, f"radeval_{name}"): values for name, values in found.items()}
    with Path(scores).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["study_id", *columns])
        writer.writerows(zip(given["study_id"], *columns.values(), strict=True))


if __name__ == "__main__":
    main()
