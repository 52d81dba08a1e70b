#!/usr/bin/env python3
"""The command line of judge, with a stand-in for the application of `ray.serve.llm`.

It answers without a model, and as the environment says: STANDIN_DELAY is how many seconds an answer
takes, STANDIN_WAITS a file for whose end all answers wait, STANDIN_LATE one for whose end each new
replica waits, as a model takes its time to load, STANDIN_TALLY a file to which each answered
question is added, and STANDIN_FAILS what a replica ends with instead of starting.
"""

from __future__ import annotations

import os
from typing import Any

from judge.backends import ray_app
from judge.cli import main

# Ray copies what is here to the nodes, whose environment is another.
ASKED = {
    name: value for name, value in os.environ.items() if name.startswith("STANDIN_")
}


def build(order: dict[str, Any]) -> Any:
    """Return the application: replicas of one CPU each that speak as OpenAI's servers do."""
    from ray import serve

    return serve.deployment(
        Standin,
        name="standin:model",
        max_ongoing_requests=100,
        max_constructor_retry_count=2,
        health_check_period_s=1,
        graceful_shutdown_timeout_s=1,
        ray_actor_options={"num_cpus": 1},
        **ray_app.scaling(order),
    ).bind(ASKED, order)


class Standin:
    """A replica."""

    def __init__(self, asked: dict[str, str], order: dict[str, Any]) -> None:
        import time
        from pathlib import Path

        if "STANDIN_FAILS" in asked:
            raise RuntimeError(asked["STANDIN_FAILS"])
        while (late := asked.get("STANDIN_LATE")) and Path(late).exists():
            time.sleep(0.1)
        self.asked = asked
        self.order = order

    async def __call__(self, request: Any) -> dict[str, Any]:
        import asyncio
        import json
        import os
        from pathlib import Path

        if request.method == "GET":
            return {
                "order": {
                    name: self.order[name] for name in ("engine", "environ", "gpus")
                }
            }
        body = await request.json()
        question = body["messages"][-1]["content"]
        await asyncio.sleep(float(self.asked.get("STANDIN_DELAY", "0")))
        while (waits := self.asked.get("STANDIN_WAITS")) and Path(waits).exists():
            await asyncio.sleep(0.05)
        with Path(self.asked["STANDIN_TALLY"]).open("a", encoding="utf-8") as tally:
            tally.write(json.dumps([os.getpid(), question]) + "\n")
        message = {"role": "assistant", "content": f"answer to {question}"}
        return {
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        }


if __name__ == "__main__":
    ray_app.build = build
    main()
