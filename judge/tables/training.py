"""Training data made of readings, as a document."""

from __future__ import annotations

from judge.readers.training import TrainingSet
from judge.tables.document import Column, Document, Table
from judge.tables.kinds import Kind
from judge.text import counted


def training_document(made: TrainingSet) -> Document:
    """Return what became of the readings, a row a reader, with the reasons of what was left out."""
    trained = counted(made.n_patients, "patient", "patients")
    held_out = counted(made.n_patients_held_out, "patient", "patients")
    if made.patient_field is None:
        trained = counted(made.n_patients, "reference", "references")
        held_out = counted(made.n_patients_held_out, "reference", "references")
    facts = [
        ("prompt", f"{made.prompt.name}@{made.prompt.version}+{made.prompt.digest}"),
        ("examples", f"{len(made.examples):,} of {trained}"),
        ("held out", held_out),
        ("split by", made.patient_field or "reference report"),
        ("seed", str(made.seed)),
    ]
    for one in made.readers:
        for reason, n in one.left_out.items():
            left_out = counted(n, "reading is", "readings are")
            facts.append(("note", f"{one.reader}: {left_out} left out: {reason}"))
    head = [
        Column("reader"),
        Column("train", "for training", kind=Kind.COUNT),
        Column("held_out", "held out", kind=Kind.COUNT),
        Column("left_out", "left out", kind=Kind.COUNT),
    ]
    rows = []
    for one in made.readers:
        n_left_out = sum(one.left_out.values())
        rows.append((one.reader, one.n_train, one.n_held_out, n_left_out))
    return Document(facts=facts, tables=[Table("readers", "Readings", head, rows)])
