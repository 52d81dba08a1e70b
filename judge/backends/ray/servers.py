"""Replicas of one model on a Ray cluster, sharing the load: placed, watched, placed again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from judge.backends.connection import CHAT
from judge.backends.errors import OverloadError, TransientError, UnavailableError
from judge.backends.pool import Servers
from judge.backends.ray import cluster
from judge.backends.ray.cluster import LOCAL, Wanted
from judge.backends.ray.replica import Replica
from judge.backends.ray.wire import Failure, Order, Place
from judge.backends.structured import Mode
from judge.backends.vllm.server import ENDED
from judge.types import Completion, JudgeError

# So often in a row may a replica fail before it is given up.
_MOST_FAILURES = 3
# So many replicas see one question at one time of asking: one that kills is not for all of them.
_MOST_TRIES = 2
_TICK, _FIRST_WORD = 0.5, 10.0
_SECONDS_BETWEEN_LINES, _SECONDS_BETWEEN_REMINDERS = 15.0, 60.0
# Beyond what a replica itself waits for an answer; then it is the way there that is broken.
_SLACK = 30.0
# A replica is gentle with its vLLM for some seconds.
_PATIENCE = 20.0
# How many requests an actor may hold. The limiter in the driver has far fewer in flight.
_CALLS = 4096
# Ray kills an actor's children with it, the guard first, who could then no longer see to the rest.
_ENVIRON = {"env_vars": {"RAY_kill_child_processes_on_worker_exit": "0"}}


@dataclass(slots=True, eq=False)
class _Seat:
    """One replica as the driver sees it. `failed` counts its failures since its last answer."""

    number: int
    actor: Any
    place: Place | None = None
    is_ready: bool = False
    in_flight: int = 0
    failed: int = 0
    why: str = ""
    log: tuple[str, ...] | None = None
    lost: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def host(self) -> str:
        return self.place.host if self.place else "no node"


class Replicas(Servers):
    """Actors that each start a vLLM on their node; a request goes to the least busy of the ready.

    One that is lost is placed and started again; one that fails three times without an answer in
    between is given up. The actors end with the driver.
    """

    def __init__(self, order: Order, wanted: Wanted, say: Callable[[str], None]) -> None:
        self._order, self._wanted, self._say = order, wanted, say
        self.starts = (f"ray {wanted}", order.model, *order.flags)
        self._seats: list[_Seat] = []
        self._keepers: list[asyncio.Task[None]] = []
        self._lock = asyncio.Lock()
        self._changed = asyncio.Event()
        self._was_ready = False
        self._leaves = False
        self._failure: BaseException | None = None

    async def ready(self) -> None:
        """Return when a replica can be asked; raises `JudgeError` where none will be."""
        async with self._lock:
            if not self._keepers and self._failure is None:
                try:
                    await self._open()
                except JudgeError as error:
                    self._failure = error
        while self._failure is None and not self._ready():
            self._changed.clear()
            await self._changed.wait()
        if self._failure is not None:
            raise self._failure

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request to the least busy replica, and to one other where that is lost."""
        tried: list[_Seat] = []
        error: TransientError = UnavailableError("no replica", "none is ready")
        while len(tried) < _MOST_TRIES:
            untried = [seat for seat in self._ready() if seat not in tried]
            if not untried:
                break
            seat = min(untried, key=lambda seat: seat.in_flight)
            tried.append(seat)
            try:
                return await self._ask(seat, body, path, mode)
            except OverloadError:
                raise
            except TransientError as found:
                error = found
                if not isinstance(error, UnavailableError) and error.reason[:6] != "status":
                    raise  # no other replica would do better
        raise error

    async def aclose(self) -> None:
        """End the replicas, unless they stay for the next to ask."""
        keepers, self._keepers = self._keepers, []
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        # The next to ask may do so in another event loop.
        self._lock, self._changed = asyncio.Lock(), asyncio.Event()
        for seat in self._seats:
            seat.lost = asyncio.Event()
            seat.is_ready = False
        if not self.stays:
            await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        """End the replicas; returns when nothing of them is left."""
        import ray

        seats, self._seats = self._seats, []
        if ray.is_initialized():
            there = [seat.actor.stop.remote() for seat in seats if seat.place]
            if there:
                ray.wait(there, num_returns=len(there), timeout=_PATIENCE)
            for seat in seats:
                ray.kill(seat.actor)
        if self._leaves:
            self._leaves = False
            ray.shutdown()

    def _ready(self) -> list[_Seat]:
        return [seat for seat in self._seats if seat.is_ready]

    async def _open(self) -> None:
        if not self._seats:
            self._leaves = await asyncio.to_thread(cluster.join, self._wanted.address)
            cluster.take_back_sigterm()
            number = self._wanted.replicas or max(1, cluster.room_for(self._wanted.gpus))
            if self._leaves and self._wanted.address == LOCAL and self._is_too_small():
                raise JudgeError(
                    f"this machine has no room for a replica with {self._wanted.each}: "
                    f"{cluster.holdings()}; see --ray-address and --gpus-per-replica"
                )
            self._say(
                f"Asking Ray for {number} replica{'s' * (number > 1)} of {self._order.model} with "
                f"{self._wanted.each} each; the cluster has {cluster.holdings()}."
            )
            self._seats = [_Seat(at + 1, self._actor()) for at in range(number)]
        self._keepers = [self._task(self._keep(seat)) for seat in self._seats]
        self._keepers.append(self._task(self._watch()))

    def _is_too_small(self) -> bool:
        return self._wanted.gpus > 0 and cluster.room_for(self._wanted.gpus) == 0

    def _actor(self) -> Any:  # noqa: ANN401 - Ray's handles have no type that one can name
        import ray

        options = {"max_restarts": -1, "max_task_retries": 0, "max_concurrency": _CALLS}
        placing = {"scheduling_strategy": "SPREAD", "runtime_env": _ENVIRON}
        make = ray.remote(**options, **placing, **self._wanted.resources)(Replica)
        return make.remote(self._order)

    def _task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(self._task_ended)
        return task

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._changed.set()

    async def _keep(self, seat: _Seat) -> None:
        """Have the replica placed and its vLLM started, again whenever it is lost."""
        import ray
        from ray.exceptions import ActorDiedError, RayActorError

        while seat.failed < _MOST_FAILURES:
            try:
                seat.place = await _result(seat.actor.place.remote())
                said = await _result(seat.actor.start.remote())
            except RayActorError as error:
                if seat.place is not None:  # before that there is nobody to blame
                    self._note(seat, f"on {seat.host} it died while vLLM started: {_words(error)}")
                elif isinstance(error, ActorDiedError):
                    self._note(seat, f"Ray cannot run it: {_words(error)}")
                    seat.actor = self._actor()
                await asyncio.sleep(_TICK)
            else:
                if said is None:
                    await self._serves(seat)
                    continue
                why, *log = said
                self._note(seat, f"on {seat.host}: {why}", tuple(log))
                ray.kill(seat.actor, no_restart=seat.failed >= _MOST_FAILURES)
        left = [each for each in self._seats if each.failed < _MOST_FAILURES]
        if left:
            self._say(f"Replica {seat.number} is given up after {seat.failed} failures; {seat.why}")
        else:
            self._give_up("no replica is left", seat)

    async def _serves(self, seat: _Seat) -> None:
        seat.lost.clear()
        seat.is_ready = self._was_ready = True
        self._changed.set()
        log = seat.place.log if seat.place else ""
        self._say(f"{self._state()}: one more on {seat.host}, its log there is {log}")
        await seat.lost.wait()

    def _note(self, seat: _Seat, why: str, log: tuple[str, ...] | None = None) -> None:
        seat.failed += 1
        seat.why, seat.log, seat.place = why, log, None

    def _give_up(self, what: str, seat: _Seat) -> None:
        if self._failure is None:
            for line in seat.log or ():
                self._say(line)
            self._fail(JudgeError(f"{what}: {seat.why}{self._kept()}"))

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        placed_at = spoke = loop.time()
        lacking: float | None = None
        told: float | None = None
        while True:
            await asyncio.sleep(_TICK)
            now = loop.time()
            placed = [seat for seat in self._seats if seat.place]
            lack = [s for s in self._seats if not s.place and s.failed < _MOST_FAILURES]
            lacking = (lacking or now) if lack else None
            if placed:
                placed_at = now
            if self._ready():
                spoke = now
            self._check_hope(is_settled=lacking is not None and now - lacking > _FIRST_WORD)
            if lacking is None:
                told = None
            elif now - lacking > _FIRST_WORD and (told is None or now - told > self._pause()):
                told = now
                self._say(f"{self._state()}; {self._lack(len(lack))}. Waiting for room.")
            if now - placed_at > self._order.start_timeout:
                minutes = self._order.start_timeout / 60
                error = (
                    f"{self._lack(len(lack))}, after {minutes:.3g} minutes: ask for less with "
                    "--gpus-per-replica, free some, or wait longer with --vllm-timeout"
                )
                self._fail(JudgeError(error + self._kept()))
            if placed and now - spoke > _SECONDS_BETWEEN_LINES:
                spoke = now
                await self._tell(placed[0])

    def _pause(self) -> float:
        return float("inf") if self._ready() else _SECONDS_BETWEEN_REMINDERS

    def _check_hope(self, *, is_settled: bool) -> None:
        failed = [seat for seat in self._seats if seat.log is not None]
        others = [seat for seat in self._seats if seat.log is None]
        none_starts = not others or (is_settled and not any(seat.place for seat in others))
        if failed and none_starts and not self._was_ready:
            self._give_up("no replica could start", failed[0])

    async def _tell(self, seat: _Seat) -> None:
        from ray.exceptions import RayError

        try:
            line = await asyncio.wait_for(_result(seat.actor.newest.remote()), _TICK)
        except (TimeoutError, RayError):
            return
        if line:
            self._say(f"  {seat.host}: {line}")

    def _state(self) -> str:
        return f"{len(self._ready())} of {len(self._seats)} replicas ready"

    def _lack(self, waiting: int) -> str:
        return (
            f"{waiting} of {len(self._seats)} replicas have no place: each asks for "
            f"{self._wanted.each}, and the cluster has {cluster.holdings()}"
        )

    def _kept(self) -> str:
        return "; what was answered is in the cache" if self._was_ready else ""

    async def _ask(
        self, seat: _Seat, body: Mapping[str, Any], path: str, mode: Mode | None
    ) -> Completion:
        from ray.exceptions import RayError, RayTaskError

        seat.in_flight += 1
        try:
            reply = await asyncio.wait_for(
                _result(seat.actor.ask.remote(dict(body), path, mode)), self._order.timeout + _SLACK
            )
        except TimeoutError as error:
            raise UnavailableError("timeout", f"nothing comes from {seat.host}") from error
        except RayTaskError:
            raise  # not of the cluster: a fault of this program
        except RayError as error:
            self._lose(seat, "Ray has lost it")
            raise UnavailableError(ENDED, _words(error)) from error
        finally:
            seat.in_flight -= 1
        if isinstance(reply, Failure):
            failed = reply.error
            if isinstance(failed, UnavailableError) and failed.reason == ENDED:
                self._lose(seat, "its vLLM has ended")
            raise failed
        seat.failed = 0
        assert isinstance(reply, Completion)
        return reply

    def _lose(self, seat: _Seat, why: str) -> None:
        if seat.is_ready:
            seat.is_ready = False
            host, seat.place = seat.host, None
            seat.lost.set()
            self._say(f"The replica on {host} is lost ({why}); starting it again. {self._state()}.")


def _result(reference: Any) -> Awaitable[Any]:  # noqa: ANN401
    return asyncio.wrap_future(reference.future())


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
