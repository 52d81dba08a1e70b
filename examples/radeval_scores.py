"""RadEval's values of each study: `python radeval_scores.py RUN SCORES METRIC ...`.

RUN is the folder of a run, SCORES the file to write, which `judge metrics --radeval` reads.
RadEval keeps no ids, so they are put beside its values. Needs the package radeval; its metrics
`bleu` and `rouge` have no weights to download.
"""

import json
import sys
from pathlib import Path

from radeval import RadEval

from judge import Run


def main() -> None:
    """Score the reports of the run and write the values."""
    folder, scores, *metrics = sys.argv[1:]
    studies = list(Run(folder).records())
    evaluate = RadEval(metrics=metrics, per_sample=True, show_progress=False)
    values = evaluate(
        refs=[study["reference"] for study in studies],
        hyps=[study["candidate"] for study in studies],
    )
    ids = [study["study_id"] for study in studies]
    Path(scores).write_text(json.dumps({"study_id": ids, **values}), "utf-8")


if __name__ == "__main__":
    main()
