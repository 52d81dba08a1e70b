"""One request to the Gemini API, sent by the google-genai package, and what it brought."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import httpx2  # comes with openai
from google import genai
from google.genai import errors, types

from judge.backends.base import Mode, StudyError, UnreadableReplyError
from judge.backends.connection import FORM_KEY, Connection
from judge.backends.hosted import EFFORT, SERVICE_TIER
from judge.backends.replies import MOST_BYTES
from judge.backends.reply_reader import ReplyReader, token_count
from judge.backends.sdk_client import SdkClient, http_client
from judge.types import Completion, Usage

# How Gemini names a key that it does not take: by a status of 400.
_BAD_KEY = "API_KEY_INVALID"
_REFUSABLE = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "max_output_tokens": "max_tokens",
    "service_tier": SERVICE_TIER,
    "thinking_config": EFFORT,
    "response_json_schema": FORM_KEY,
    "system_instruction": "system",
}


class GoogleReplies(ReplyReader):
    """Reads responses of the Gemini API."""

    answer_key: ClassVar[str] = "candidates"
    usage_key: ClassVar[str] = "usageMetadata"
    what: ClassVar[str] = "a response of Gemini"

    def status_of(self, reply: httpx2.Response) -> int:
        """Return the status of a refusal: a wrong key is one of 401, whatever Gemini calls it."""
        if reply.status_code == 400 and _BAD_KEY in reply.text:
            return 401
        return reply.status_code

    def completion_of(self, answer: Any, mode: Mode | None) -> Completion:  # noqa: ANN401
        """Return the answer in a response; raises `AskError` where it has none.

        The first candidate's parts are the answer. Parts that are thoughts are left out.
        """
        try:
            blocked = (answer.get("promptFeedback") or {}).get("blockReason")
            candidates = answer.get("candidates") or []
            if blocked and not candidates:
                raise StudyError(
                    "content filter", f"the prompt was blocked: {blocked}"[:300]
                )
            candidate = candidates[0]
            parts = (candidate.get("content") or {}).get("parts") or []
            text = "".join(
                part.get("text") or "" for part in parts if not part.get("thought")
            )
            has_thought = any(part.get("thought") for part in parts)
            finish_reason, model = (
                candidate.get("finishReason"),
                answer.get("modelVersion"),
            )
        except (AttributeError, LookupError, TypeError) as error:
            raise UnreadableReplyError(f"it is not {self.what}") from error
        elsewhere = "its reasoning" if has_thought else None
        return self.answer(
            text, finish_reason, model=model, mode=mode, elsewhere=elsewhere
        )

    def tokens_of(self, usage: Mapping[str, Any]) -> Usage | None:
        """Return the counts of tokens; None where they are no whole numbers.

        Thoughts are paid for as output.
        """
        sent = token_count(usage.get("promptTokenCount"))
        made = token_count(usage.get("candidatesTokenCount") or 0)
        thought = token_count(usage.get("thoughtsTokenCount") or 0)
        read = token_count(usage.get("cachedContentTokenCount") or 0)
        if sent is None or made is None or thought is None or read is None:
            return None
        return Usage(
            prompt_tokens=sent, completion_tokens=made + thought, cached_tokens=read
        )

    def refusable(self, sent: Mapping[str, Any]) -> list[str]:
        """Return what a refusal of a request may be about."""
        config = sent.get("config", {})
        return [ours for theirs, ours in _REFUSABLE.items() if theirs in config]


def client(
    connection: Connection,
    key: str,
    most_bytes: int = MOST_BYTES,
    api_version: str | None = None,
) -> tuple[genai.Client, httpx2.AsyncClient]:
    """Return a client that sends each request once, and the HTTP client that it uses.

    The second is the caller's to close. `api_version` is None for the package's own choice.
    """
    http = http_client(connection, most_bytes)
    http_options = types.HttpOptions(
        base_url=connection.base_url,
        api_version=api_version,
        timeout=round(connection.timeout * 1000),
        headers={"Accept-Encoding": "identity"},
        httpx_async_client=http,
        retry_options=types.HttpRetryOptions(attempts=1),
    )
    return genai.Client(api_key=key, http_options=http_options), http


class GoogleClient(SdkClient):
    """Asks the Gemini API to generate content. Used in one event loop."""

    status_error = errors.APIError
    connection_errors = (httpx2.TransportError,)

    def __init__(self, connection: Connection, key: str) -> None:
        super().__init__(connection, GoogleReplies(connection.base_url, key))
        self._genai, self._http = client(connection, key)

    async def post(
        self,
        path: str,  # noqa: ARG002
        body: Mapping[str, Any],
        content: bytes,  # noqa: ARG002
    ) -> httpx2.Response:
        """Send a body and return the reply as it came."""
        config = types.GenerateContentConfig(
            **body["config"], should_return_http_response=True
        )
        made = await self._genai.aio.models.generate_content(
            model=body["model"], contents=body["contents"], config=config
        )
        reply = made.sdk_http_response
        if reply is None:
            raise UnreadableReplyError("it is empty")
        return httpx2.Response(200, content=(reply.body or "").encode())

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()
