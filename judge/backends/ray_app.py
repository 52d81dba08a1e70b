"""What runs on a Ray cluster for `ray:MODEL`: an application of Serve, and who ends it.

The driver sends this module to the cluster by value, since judge need not be installed there: it
imports nothing of judge, and Ray only where it runs.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
MODEL = "model"
"""The end of the name of the deployment that serves the model."""
# The actor that holds Serve's tree of prefixes, as Ray 2.60 names it. It outlives its application.
_PREFIX_TREE = "LlmPrefixTreeActor"
# A replica that waits in a queue is asked less, so that no replica has all questions of one prefix.
_MOST_IMBALANCE = 16

Order = dict[str, Any]
"""What is to be served, in plain values (see `judge.backends.ray`)."""


class Pulse:
    """An actor of the driver's own: it ends when the driver does, however that ends."""

    def beat(self) -> None:
        """Wait for ever."""
        threading.Event().wait()


class Steward:
    """An actor that starts an application, and ends it when its driver asks or has ended.

    It outlives the driver, since an application of Serve does.
    """

    def __init__(self, name: str, pulse: Any) -> None:  # noqa: ANN401 - an actor's handle
        self._name = name
        self._pulse = pulse
        self._lock = threading.Lock()
        self._has_started_serve = False
        self._is_begun = False
        self._is_over = False
        threading.Thread(target=self._watch, daemon=True).start()

    def start(self, order: Order, make: Callable[[Order], Any]) -> str:
        """Start the application that `make` builds; returns where it will be, HOST:PORT.

        HOST:PORT is "" where Serve was running already, at an address of its own.
        """
        from ray import serve

        with self._lock:
            if self._is_over:
                return ""
            application = make(order)
            if not serve.status().proxies:
                self._has_started_serve = True
                options = {"host": LOOPBACK, "port": order["port"]}
                serve.start(proxy_location="EveryNode", http_options=options)
            self._is_begun = True
            target = serve.RunTarget(
                target=application, name=self._name, route_prefix=f"/{self._name}"
            )
            serve.run_many(
                [target],
                wait_for_ingress_deployment_creation=False,
                wait_for_applications_running=False,
            )
        return f"{LOOPBACK}:{order['port']}" if self._has_started_serve else ""

    def state(self) -> tuple[int, bool, str, str]:
        """Return how the application is.

        The number of replicas of the model that run, whether it can be asked, its status in
        Serve's words ("" where it is gone), and what Serve says of its trouble.
        """
        from ray import serve

        application = serve.status().applications.get(self._name)
        if application is None:
            return 0, False, "", ""
        running = {
            name: sum(
                n
                for state, n in deployment.replica_states.items()
                if state == "RUNNING"
            )
            for name, deployment in application.deployments.items()
        }
        of_model = [n for name, n in running.items() if name.endswith(MODEL)]
        messages = [application.message]
        messages += [
            deployment.message for deployment in application.deployments.values()
        ]
        is_askable = bool(running) and all(running.values())
        trouble = "\n".join(filter(None, messages))
        return sum(of_model), is_askable, application.status.value, trouble

    def end(self) -> None:
        """End the application, and Serve where that was started for it and serves nothing else."""
        import ray
        from ray import serve

        with self._lock:
            if self._is_over:
                return
            self._is_over = True
            if self._is_begun:
                serve.delete(self._name)
            for actor in ray.util.list_named_actors(all_namespaces=True):
                is_ours = self._name in actor["namespace"].split("::")
                if actor["name"] == _PREFIX_TREE and is_ours:
                    ray.kill(ray.get_actor(actor["name"], actor["namespace"]))
            if self._has_started_serve and not serve.status().applications:
                serve.shutdown()

    def _watch(self) -> None:
        import ray

        try:
            ray.get(self._pulse.beat.remote())
        except ray.exceptions.RayError:
            self.end()
            ray.kill(ray.get_runtime_context().current_actor)


def build(order: Order) -> Any:  # noqa: ANN401 - an application of Serve
    """Return the application of `ray.serve.llm` that an order is for."""
    from ray.serve.llm import LLMConfig, build_openai_app

    replica: dict[str, Any] = {
        "name": MODEL,
        "ray_actor_options": {
            "num_cpus": 0
        },  # its place is that of the model's workers
        "max_constructor_retry_count": order["replicas"][1],
        "health_check_period_s": 5,
        "health_check_timeout_s": 30,
        "graceful_shutdown_timeout_s": 5,
        **scaling(order),
    }
    if order["is_routed_by_prefix"]:
        from ray.serve.config import RequestRouterConfig
        from ray.serve.llm.request_router import PrefixCacheAffinityRouter

        replica["request_router_config"] = RequestRouterConfig(
            request_router_class=PrefixCacheAffinityRouter,
            request_router_kwargs={"imbalanced_threshold": _MOST_IMBALANCE},
        )
    config: dict[str, Any] = {
        "model_loading_config": {
            "model_id": order["served_as"],
            "model_source": order["source"],
        },
        "engine_kwargs": order["engine"],
        "runtime_env": {"env_vars": order["environ"]},
        "deployment_config": replica,
        "log_engine_metrics": False,
        "accelerator_config": {"kind": "gpu" if order["gpus"] else "cpu"},
    }
    if not order["gpus"]:
        config["placement_group_config"] = {"bundles": [{"CPU": 1}]}
    if order["digest"]:
        config["server_cls"] = checked_server(
            order["source"], order["digest"], order["digest_of"]
        )
    # Where the driver is, so that it can be asked without opening a port to other machines.
    ingress = {
        "num_replicas": 1 + order["replicas"][1] // 8,
        "ray_actor_options": {
            "num_cpus": 0,
            "label_selector": {"ray.io/node-id": order["node"]},
        },
    }
    return build_openai_app(
        {"llm_configs": [LLMConfig(**config)], "ingress_deployment_config": ingress}
    )


def scaling(order: Order) -> dict[str, Any]:
    """Return the options of a deployment that say how many replicas it has."""
    least, most = order["replicas"]
    if least == most:
        return {"num_replicas": most}
    return {
        "autoscaling_config": {
            "min_replicas": least,
            "initial_replicas": least,
            "max_replicas": most,
            "target_ongoing_requests": order["in_flight"] / 2,
        }
    }


def checked_server(folder: str, digest: str, digest_of: Callable[[Path], str]) -> type:
    """Return a server that starts only where the model's folder is that of the driver."""
    from ray.serve.llm import LLMServer

    class CheckedServer(LLMServer):  # type: ignore[misc]
        """A replica; Ray starts it anew where one is lost, on whichever node."""

        async def start(self) -> None:
            here = Path(folder)
            if not (here / "config.json").is_file() or digest_of(here) != digest:
                raise RuntimeError(
                    f"the folder {folder} on {socket.gethostname()} holds another model than "
                    "where judge runs"
                )
            await super().start()

    return CheckedServer
