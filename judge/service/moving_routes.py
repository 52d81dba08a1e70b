"""The routes that rename runs, delete them and restore them from the trash."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from fastapi import Path as InPath
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from judge.service.catalogue import TRASH_ID, trashed_runs
from judge.service.jobs import Short
from judge.service.run_models import ShownRun, TrashedRunShown, TrashList
from judge.service.service import RunId, ServiceDep, as_answer

routes = APIRouter(tags=["runs"])

_TrashId = Annotated[
    str,
    InPath(
        pattern=f"^{TRASH_ID}$",
        description="A run's id in the trash.",
        examples=["20261128-120000-0a1b2c"],
    ),
]


class NewName(BaseModel):
    """The name that a run is to have."""

    model_config = ConfigDict(extra="forbid")

    name: Short = Field(
        description="Up to 120 letters (a to z), digits, dots, hyphens and underscores; the first "
        "is a letter or a digit.",
        examples=["maira2-green"],
    )


@routes.post("/v1/runs/{run}/rename", response_model=ShownRun)
def rename_run(run: RunId, new: NewName, service: ServiceDep) -> Response:
    """Give a finished run another name; addresses with the old name lead to it from now on.

    409 where the run is being judged, read or compared, where another run has or had the name, and
    where the run has been renamed meanwhile.
    """
    entry = service.moves.rename(run, new.name)
    return as_answer(service.catalogue.describe(entry))


@routes.delete("/v1/runs/{run}", response_model=TrashedRunShown)
def delete_run(run: RunId, service: ServiceDep) -> Response:
    """Move a run to the trash, with its reviews and readings; returns its `id` there.

    409 where the run is being judged, read or compared.
    """
    return as_answer(service.moves.delete(run).shown())


@routes.get("/v1/trash", response_model=TrashList)
def list_trash(service: ServiceDep) -> Response:
    """List the runs in the trash, those deleted last first."""
    runs = trashed_runs(service.settings.runs)
    return as_answer(TrashList(runs=[run.shown() for run in runs]))


@routes.post("/v1/trash/{trashed}/restore", response_model=ShownRun)
def restore_run(trashed: _TrashId, service: ServiceDep) -> Response:
    """Move a run back from the trash to where it was; 409 where its name is taken."""
    entry = service.moves.restore(trashed)
    return as_answer(service.catalogue.describe(entry))
