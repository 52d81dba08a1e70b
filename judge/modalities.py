"""The modalities of the images that reports are about, some with the region of the body."""

from __future__ import annotations

from typing import Literal, TypeAlias

from judge.types import JudgeError

MODALITIES = {
    "xr": "chest radiograph",
    "ct": "CT",
    "mr": "MRI",
    "us": "ultrasound",
    "mg": "mammography",
}
"""The modalities by their codes, which are near DICOM's."""
REGIONS = {"chest-ct": "chest", "abdomen-ct": "abdomen", "brain-mr": "brain"}
"""The regions that can be named with a modality, whose code stands behind the hyphen."""
NAMES = ("xr", "ct", "chest-ct", "abdomen-ct", "mr", "brain-mr", "us", "mg")
"""All that `--modality` names. `chest-xr` and DICOM's `DX` and `CR` are `xr`, `MRI` is `mr`."""
ModalityName: TypeAlias = Literal[
    "xr",
    "chest-xr",
    "ct",
    "chest-ct",
    "abdomen-ct",
    "mr",
    "brain-mr",
    "us",
    "mg",
]
"""What a client of the service can name."""
_OTHER_NAMES = {"cr": "xr", "dx": "xr", "chest-xr": "xr", "mri": "mr"}


def modality_named(text: str) -> str:
    """Return the one of `NAMES` that a user means; raises `JudgeError` for an unknown one."""
    name = text.strip().lower()
    name = _OTHER_NAMES.get(name, name)
    if name not in NAMES:
        raise JudgeError(f"unknown modality {text!r}; there are: {', '.join(NAMES)}")
    return name


def code_of(name: str) -> str:
    """Return the code of `MODALITIES` in one of `NAMES`: `ct` of `chest-ct`."""
    return name.rpartition("-")[2]
