"""Models that Azure OpenAI serves: `azure:DEPLOYMENT`, by OpenAI's protocol.

Azure's address of version 1 (`/openai/v1`) is OpenAI's own protocol; the model of a request is the
name of a deployment.
"""

from __future__ import annotations

from dataclasses import replace

from judge.backends import openai
from judge.backends.base import Judge, JudgeSettings
from judge.backends.connection import Connection
from judge.backends.hosted import Provider
from judge.backends.models import AZURE
from judge.rubrics import Rubric
from judge.types import JudgeError

_ENDPOINT, _KEY, _PATH = "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "/openai/v1"


def _key_name(_connection: Connection) -> str:
    return _KEY


PROVIDER = Provider(
    name=AZURE,
    url="",
    url_variable=_ENDPOINT,
    key_variable=_key_name,
    connect=openai.connect,
    service_tiers=("default", "priority"),
)


def load(deployment: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge for a deployment; raises `JudgeError` where no resource is named."""
    urls = settings.base_urls or (
        settings.environ.get(_ENDPOINT, "").strip().rstrip("/"),
    )
    if not urls[0]:
        raise JudgeError(
            f"azure:{deployment} needs the address of your resource: set {_ENDPOINT} or --base-url "
            "to https://NAME.openai.azure.com"
        )
    settings = replace(settings, base_url=tuple(map(with_path, urls)))
    return openai.OpenAIJudge(**PROVIDER.parts(deployment, rubric, settings))


def with_path(url: str) -> str:
    """Return the address of a resource with the path of version 1."""
    return url if "/openai" in url else url + _PATH
