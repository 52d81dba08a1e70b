"""A server on loopback that speaks OpenAI's API and goes wrong on demand.

    with FaultServer(Behaviour(studies={"study-0042": first(Fault.RATE_LIMIT)})) as server:
        ...  # ask server.url about reports with a word such as study-0042 in the reference
        assert server.stats().by_study["study-0042"] == 2

Every study has a right answer that is known beforehand (`server.annotation`), and what goes
wrong is decided by study key and request number alone. Files and batches: `server.batches`.
"""

from faultserver.answers import ANNOTATE, annotation_for
from faultserver.batches import BatchPlan
from faultserver.faults import Behaviour, Fault, Outage, StudyPlan, always, first
from faultserver.server import FaultServer

__all__ = [
    "ANNOTATE",
    "BatchPlan",
    "Behaviour",
    "Fault",
    "FaultServer",
    "Outage",
    "StudyPlan",
    "always",
    "annotation_for",
    "first",
]
