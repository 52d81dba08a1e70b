"""Folders that `datasets` writes with `save_to_disk`."""

from __future__ import annotations

import hashlib
from os.path import isfile
from pathlib import Path

from judge.distribution import install
from judge.studies.names import listed, model_of
from judge.studies.table import StudyTable, check_names, cleaned, to_table
from judge.types import JudgeError

_SPLITS = "dataset_dict.json"
_STATE = "state.json"
_NOT_TEXT = ("Image", "Audio", "Video")


def is_dataset(folder: Path) -> bool:
    """Whether a folder is what `save_to_disk` writes."""
    return any((folder / name).is_file() for name in (_SPLITS, _STATE))


def named_after(source: str) -> str | None:
    """Return the model that a source of predictions is named after: `model_of` its name.

    A split of several is named after the folder that holds them, which says more than `test`.
    """
    path = Path(source)
    if path.is_dir():
        path = path.resolve()  # a folder may be given as `.`
        return model_of(str(path.parent if (path.parent / _SPLITS).is_file() else path))
    return model_of(str(path.absolute()) if path.is_file() else source)


def check_no_part(source: str) -> None:
    """Raise `JudgeError` for a file of such a folder, and for a split that a folder lacks."""
    path = Path(source)
    # Not Path.is_file: where it cannot be looked at, reading it says why.
    if isfile(source):  # noqa: PTH113
        if path.suffix == ".arrow" or path.name in (_SPLITS, _STATE):
            raise JudgeError(f"{source} is a part of a folder of datasets; give {path.parent}")
    elif isfile(path.parent / _SPLITS):  # noqa: PTH113
        splits = sorted(one.name for one in path.parent.iterdir() if is_dataset(one))
        raise JudgeError(f"no such split: {source}; {path.parent} has splits: {listed(splits)}")


def read_dataset(source: str, id_field: str | None) -> tuple[StudyTable, str]:
    """Read such a folder: its records, and the SHA-256 of its files.

    Images and the like are not read. Raises `JudgeError` where it is another folder, has
    several splits, or is broken, and where `datasets` is not installed.
    """
    folder = Path(source)
    if not is_dataset(folder):
        files = sorted(path for path in folder.iterdir() if path.suffix == ".parquet")
        such = f" such as {files[0]}" if files else ""
        raise JudgeError(
            f"{source} is a folder, and none that datasets has written (save_to_disk); "
            f"give a file{such}"
        )
    if (folder / _SPLITS).is_file():
        splits = sorted(path.name for path in folder.iterdir() if is_dataset(path))
        if len(splits) != 1:
            raise JudgeError(
                f"{source} has splits: {listed(splits)}; name one of them, such as "
                f"{folder / splits[0]}"
                if splits
                else f"{source} has no splits with records"
            )
        folder /= splits[0]
    try:
        from datasets import load_from_disk
    except ModuleNotFoundError as error:
        raise JudgeError(
            f"{source} is a folder of datasets, which is not installed: {install('datasets')}"
        ) from error
    try:
        dataset = load_from_disk(str(folder))
        left = [name for name, kind in dataset.features.items() if _is_media(kind)]
        table = dataset.remove_columns(left).with_format("arrow")[:]
        digest = _digest(folder)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise JudgeError(f"{source} is a broken folder of datasets: {error}") from error
    check_names(source, table.column_names)
    columns = {
        name: _values(table[name].to_pylist(), dataset.features[name])
        for name in table.column_names
    }
    notes = tuple(f"{source}: the field {name} is not read: it holds no text" for name in left)
    return to_table(source, columns, id_field=id_field, notes=notes), digest


def _values(values: list[object], kind: object) -> list[object]:
    """Return a column's values, those of a `ClassLabel` by their names; -1 is none."""
    names = kind.names if type(kind).__name__ == "ClassLabel" else None  # type: ignore[attr-defined]
    if names is None:
        return [cleaned(value) for value in values]
    return [names[n] if isinstance(n, int) and 0 <= n < len(names) else None for n in values]


def _is_media(kind: object) -> bool:
    return type(kind).__name__ in _NOT_TEXT


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
