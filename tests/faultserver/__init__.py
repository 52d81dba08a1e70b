"""A server on loopback that speaks OpenAI's API and goes wrong on demand.

    with FaultServer(Behaviour(rates={Fault.RATE_LIMIT: 0.05})) as server:
        ...  # ask server.url about reports with a word such as study-0042 in the reference
        assert server.stats().by_study["study-0042"] == 1

Every study has a right answer that is known beforehand (`server.annotation`), and whatever
goes wrong is decided by seed, study key and request number (`server.plan`).

Files and batches, and the clock that tests turn for them: see `faultserver.batchhandle`.
"""

from faultserver.answers import ANNOTATE, annotation_for, corrections_for
from faultserver.batchhandle import BatchHandle, BatchStats
from faultserver.batching import ENDPOINTS, Batching, BatchPlan
from faultserver.behaviour import Behaviour, Outage
from faultserver.counters import LogRow, Stats
from faultserver.faults import LASTING, Fault, StudyPlan, always, first, spread
from faultserver.handle import FaultServer

__all__ = [
    "ANNOTATE",
    "ENDPOINTS",
    "LASTING",
    "BatchHandle",
    "BatchPlan",
    "BatchStats",
    "Batching",
    "Behaviour",
    "Fault",
    "FaultServer",
    "LogRow",
    "Outage",
    "Stats",
    "StudyPlan",
    "always",
    "annotation_for",
    "corrections_for",
    "first",
    "spread",
]
