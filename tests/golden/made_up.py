"""Made-up studies and the reports of three made-up models, drawn from a seed.

`python tests/golden/made_up.py` writes them into `inputs/`. The goldens read those files, so that
another version of `random` changes nothing.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

INPUTS = Path(__file__).parent / "inputs"
MODELS = {"cedar": 0.15, "hazel": 0.35, "maple": 0.6}
"""How often each model gets a sentence wrong."""

SITES = ("lakeside", "northgate", "old town")
REASONS = (
    "Cough and fever for five days.",
    "Fall from a ladder, pain on the left.",
    "Shortness of breath after surgery.",
    "Before a planned operation.",
    "Known heart failure, more tired than usual.",
    "Position of the new line.",
)

# What a normal report says, by what it is about, each in a few wordings.
NORMAL = {
    "lungs": (
        "Both lungs are well aerated and clear.",
        "The lungs show no focal consolidation.",
        "No airspace opacity is seen on either side.",
    ),
    "pleura": (
        "There is no pleural effusion and no pneumothorax.",
        "No effusion. No pneumothorax.",
        "The costophrenic angles are sharp, and a pneumothorax is not seen.",
    ),
    "heart": (
        "The heart is normal in size.",
        "Cardiac silhouette within normal limits.",
        "Heart size and mediastinal contours are normal.",
    ),
    "bones": (
        "No acute fracture is visible.",
        "The visible bones are intact.",
        "Mild degenerative change of the thoracic spine.",
    ),
}
# What an abnormal report says instead, each with how a model may get it wrong.
FINDINGS = {
    "lungs": (
        (
            "Patchy consolidation in the right lower lobe.",
            "Patchy consolidation in the left lower lobe.",
        ),
        (
            "A 9 mm nodule projects over the left upper lobe.",
            "A 19 mm nodule projects over the left upper lobe.",
        ),
        ("Mild interstitial edema, worse than before.", "Severe interstitial edema."),
        ("Bibasilar atelectasis, unchanged.", "Right basilar atelectasis."),
        (
            "Hyperinflated lungs with flattened diaphragms, as in emphysema.",
            "The lungs are clear.",
        ),
        (
            "A cavity in the right apex has become smaller.",
            "A mass in the right apex has become larger.",
        ),
    ),
    "pleura": (
        ("Small left pleural effusion.", "Large left pleural effusion."),
        (
            "Moderate right pleural effusion, increased since the last study.",
            "Moderate right pleural effusion.",
        ),
        ("Tiny right apical pneumothorax.", "No pneumothorax."),
        ("Bilateral pleural effusions, larger on the right.", "Left pleural effusion."),
    ),
    "heart": (
        ("The heart is moderately enlarged.", "The heart is mildly enlarged."),
        ("Cardiomegaly with a tortuous aorta.", "Heart size is normal."),
        (
            "Calcified hilar lymph nodes. Heart size is normal.",
            "Enlarged hilar lymph nodes. Heart size is normal.",
        ),
    ),
    "bones": (
        (
            "Healing fracture of the left sixth rib.",
            "Healing fracture of the right sixth rib.",
        ),
        ("Old compression fracture of T11.", "The bones are intact."),
        (
            "The right internal jugular line ends in the upper SVC.",
            "The left PICC ends in the right atrium.",
        ),
        (
            "Endotracheal tube 4 cm above the carina.",
            "Endotracheal tube 1 cm above the carina.",
        ),
    ),
}
ADDED = (
    "Small hiatal hernia.",
    "New left basilar opacity.",
    "Mild scoliosis.",
    "Low lung volumes.",
)


def _study(rng: random.Random, at: int) -> tuple[dict[str, str], dict[str, str]]:
    """Return a study, and what each of its sentences is when it is got wrong."""
    is_abnormal = rng.random() < 0.6
    changed = (
        set(rng.sample(list(NORMAL), rng.choice((1, 1, 2, 3))))
        if is_abnormal
        else set()
    )
    wrong = {}
    for part, wordings in NORMAL.items():
        if part in changed:
            right, other = rng.choice(FINDINGS[part])
            wrong[right] = other
        elif part != "bones" or rng.random() < 0.7:
            wrong[rng.choice(wordings)] = rng.choice(
                (rng.choice(FINDINGS[part])[0], "")
            )
    said = " ".join(wrong)
    closing = next(iter(wrong)) if is_abnormal else "No acute process in the chest."
    study = {
        "patient_id": f"patient-{at * 2 // 3 + 1:02d}",
        "site": SITES[at % len(SITES)],
        "study_class": "abnormal" if is_abnormal else "normal",
        "context": f"Age: {rng.randrange(20, 90)}. Indication: {rng.choice(REASONS)}",
        "section_findings": said,
        "section_impression": closing,
        "report": f"Findings: {said} Impression: {closing}",
    }
    return study, wrong


def _prediction(rng: random.Random, wrong: dict[str, str], error_rate: float) -> str:
    said = [
        other if rng.random() < error_rate else right for right, other in wrong.items()
    ]
    if rng.random() < error_rate / 2:
        said.insert(rng.randrange(len(said) + 1), rng.choice(ADDED))
    return " ".join(filter(None, said))


def write(n: int = 60, seed: int = 29) -> None:
    """Write the references, and the predictions of each model."""
    rng = random.Random(seed)
    drawn = {f"made-{at + 1:03d}": _study(rng, at) for at in range(n)}
    _write(INPUTS / "refs.json", {key: study for key, (study, _) in drawn.items()})
    for model, error_rate in MODELS.items():
        said = {
            key: {"model_prediction": _prediction(rng, wrong, error_rate)}
            for key, (_, wrong) in drawn.items()
        }
        _write(INPUTS / f"preds_{model}.json", said)


def _write(path: Path, data: object) -> None:
    path.write_text(json.dumps(data, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    write()
