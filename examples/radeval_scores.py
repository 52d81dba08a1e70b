"""RadEval's values of each study: `python radeval_scores.py PAIRS SCORES METRIC ...`.

PAIRS is what `judge export --to radeval` writes, SCORES what `judge metrics --radeval` reads.
RadEval keeps no ids, so they are put beside its values. Needs the package radeval; its metrics
`bleu` and `rouge` have no weights to download.
"""

import json
import sys
from pathlib import Path

from radeval import RadEval


def main() -> None:
    """Score the pairs and write the values."""
    pairs, scores, *metrics = sys.argv[1:]
    given = json.loads(Path(pairs).read_text("utf-8"))
    evaluate = RadEval(metrics=metrics, per_sample=True, show_progress=False)
    found = evaluate(refs=given["refs"], hyps=given["hyps"])
    Path(scores).write_text(json.dumps({"study_id": given["study_id"], **found}), "utf-8")


if __name__ == "__main__":
    main()
