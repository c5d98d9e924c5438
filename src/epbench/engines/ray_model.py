"""A model that is several replicas of itself in a Ray cluster: how many these can be, and which of them gets which requests."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar
from weakref import WeakSet

from epbench.errors import BadInput, RunFailed, reason_of
from epbench.models.protocol import Model, Reply, Request, by_context, variant_of, weights_of

MOST_DEATHS = 3  # replicas that may end over the same work, which may be what ends them, until its requests have failed
_SHARE = 4  # a replica gets at most one part in so many of its fair share of what is left, so that all end together
PATIENCE = 600.0  # seconds without any replica after which a run gives up: a lost machine may be replaced meanwhile
SAME = "every machine needs epbench and its libraries in the versions of this one"
TOLD_AFTER = 20.0  # seconds without any replica after which the log says what is being waited for

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Engine:
    """How many copies of a model answer, and where."""

    # None for as many as the cluster can hold: on machines with GPUs one for every `gpus_per_replica`, on others one for each.
    replicas: int | None = None
    gpus_per_replica: float | None = None  # or a part of one; None for as many as the model needs where there are GPUs
    local: bool = False  # whether the copies run on this machine, even if it belongs to a cluster

    def __post_init__(self) -> None:
        if self.replicas is not None and self.replicas < 1:
            raise BadInput(f"replicas: expected at least 1, got {self.replicas}")
        if self.gpus_per_replica is not None and self.gpus_per_replica < 0:
            raise BadInput(f"GPUs per replica: expected at least 0, got {self.gpus_per_replica}")


@dataclass(frozen=True)
class Layout:
    """What the replicas of one model take."""

    replicas: int
    cpus: int  # the CPU cores of each
    gpus: float  # the GPUs of each
    nodes: int  # the number of machines in the cluster


def connect(local: bool) -> None:
    """Join the cluster of RAY_ADDRESS, which has to answer, or of this machine; if there is none, or `local`, start one here."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "1")  # a replica without GPUs sees none
    import ray

    if ray.is_initialized():
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    named = os.environ.get("RAY_ADDRESS")
    if not local:
        try:
            ray.init(address=named or "auto", **quiet)
            return
        except ConnectionError as error:
            if named:
                raise BadInput(f"RAY_ADDRESS={named}: expected a Ray cluster, but none answers ({error})") from None
        _log.info("engine ray: no cluster found, so one is started on this machine")
    ray.init(address="local", include_dashboard=False, **quiet)


def spread(engine: Engine, gpus_needed: float, nodes: Sequence[tuple[int, float]]) -> Layout:
    """Spread replicas over machines with so many CPU cores and GPUs; `BadInput` if they have too few."""
    has_gpus, gpus = any(gpus for _, gpus in nodes), engine.gpus_per_replica
    if gpus is None:
        gpus = gpus_needed if has_gpus else 0.0
    if gpus:
        fit = sum(int(min(on_node / gpus, cpus)) for cpus, on_node in nodes)
        replicas, cpus_each = engine.replicas or fit, 1
    else:
        replicas = engine.replicas or sum(cpus > 0 for cpus, _ in nodes)
        cpus_each = max(sum(cpus for cpus, _ in nodes) // max(replicas, 1), 1)
        while cpus_each > 1 and sum(cpus // cpus_each for cpus, _ in nodes) < replicas:
            cpus_each -= 1
        fit = sum(cpus // cpus_each for cpus, _ in nodes)
    if not fit or replicas > fit:
        cores, all_gpus = sum(cpus for cpus, _ in nodes), sum(on_node for _, on_node in nodes)
        raise BadInput(
            f"the cluster has {len(nodes)} machines, {cores} CPU cores and {all_gpus:g} GPUs, which is room for {fit} replicas "
            f"of {gpus:g} GPUs and {cpus_each} CPU cores each, expected {replicas or 'at least 1'}"
        )
    return Layout(replicas, cpus_each, gpus, len(nodes))


@dataclass(eq=False)
class Work:
    """Requests that one replica answers at a time."""

    requests: list[Request]  # all requests of one or several contexts, or a part of those of one
    size: int  # what it takes, in characters to be read; a shared context counts once
    deaths: int = 0  # how many replicas have ended with this work


@dataclass
class HandOut:
    """Hands out work until every request has been answered.

    The requests of one context stay together, so that one replica reads it once. Only if there are fewer contexts than
    replicas are they divided among several. Large contexts come first, and small ones are handed out several at a time:
    an engine that gets them together computes them together.
    """

    requests: Sequence[Request]
    replicas: int
    waiting: list[Work] = field(init=False)  # the work that no replica has, the largest last

    def __post_init__(self) -> None:
        parts = _divided(by_context(self.requests), self.replicas)
        self.waiting = sorted((Work(part, _size(part)) for part in parts), key=lambda work: work.size)

    def next(self) -> Work | None:
        """Return the work for a free replica; None if all is handed out."""
        waiting = self.waiting
        if not waiting:
            return None
        work = waiting.pop()
        room = sum(other.size for other in waiting) // (self.replicas * _SHARE)
        while not work.deaths and waiting and not waiting[-1].deaths and work.size + waiting[-1].size <= room:
            more = waiting.pop()
            work.requests += more.requests
            work.size += more.size
        return work

    def lost(self, work: Work, unanswered: Sequence[Request]) -> list[Request]:
        """Hand out again what a replica that has ended did not answer, each context alone, so that what ends replicas is found.

        Returns the requests that have failed for good, because too many replicas have ended over them.
        """
        deaths = work.deaths + 1
        if deaths >= MOST_DEATHS:
            return list(unanswered)
        self.waiting += [Work(group, _size(group), deaths) for group in by_context(unanswered)]
        self.waiting.sort(key=lambda waiting: waiting.size)
        return []


def _divided(groups: Sequence[list[Request]], replicas: int) -> list[list[Request]]:
    """Divide the largest groups into equal parts until there are as many parts as replicas."""
    n_parts = [1] * len(groups)
    while groups and sum(n_parts) < min(replicas, sum(map(len, groups))):
        largest = max(range(len(groups)), key=lambda i: len(groups[i]) / n_parts[i])
        n_parts[largest] += 1
    return [group[i::n] for group, n in zip(groups, n_parts, strict=True) for i in range(n)]


def _size(group: Sequence[Request]) -> int:
    """Characters that are read: the context once, and what differs from request to request."""
    return len(group[0].system) + len(group[0].context) + sum(len(request.question) for request in group)


@dataclass(eq=False)
class _Copy:
    """A replica, and what it is doing."""

    actor: Any
    opening: Any  # what `Replica.open` will return; None once it has
    replies: Any = None  # the stream of its replies, while it answers
    work: Work | None = None
    unanswered: dict[int, Request] = field(default_factory=dict)  # those whose replies have not arrived, by position


class RayModel:
    """Answers as the model that it is given does, with replicas of it.

    This process counts tokens and knows the window, and it keeps the journal; the replicas only answer. A replica gets the
    requests of whole contexts, so that a book is read once per replica and an excerpt once in all. If a replica or its
    machine is lost, another one gets what it had not yet answered. `make` makes the same model in another process.
    """

    _holding: ClassVar[WeakSet[RayModel]] = WeakSet()
    """The models that have replicas now. A reader and a judge rarely fit beside one another, so that they take turns."""

    def __init__(self, model: Model, make: Callable[[], Model], engine: Engine, gpus: float) -> None:
        self._model, self._make, self._engine, self._gpus = model, make, engine, gpus
        self.name, self.costs_nothing, self.continues_prompts = model.name, model.costs_nothing, model.continues_prompts
        self._copies: list[_Copy] = []
        self._failed_starts = 0

    @property
    def identity(self) -> str:
        return self._model.identity

    def window(self) -> int | None:
        return self._model.window()

    def count_tokens(self, request: Request) -> tuple[int, int]:
        return self._model.count_tokens(request)

    @property
    def engine(self) -> dict[str, Any]:
        """What a run notes about where its answers come from: the engine, its version, replicas, machines."""
        import ray

        plan = self._plan
        of_each = {"cpus_per_replica": plan.cpus, "gpus_per_replica": plan.gpus}
        return {"name": "ray", "version": ray.__version__, "replicas": plan.replicas, "nodes": plan.nodes, **of_each}

    def about_variant(self) -> dict[str, str]:
        """What a run notes of the model beside its name; see `variant_of`."""
        return variant_of(self._model).get("model_args", {})

    @cached_property
    def _plan(self) -> Layout:
        import ray

        connect(self._engine.local)
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
        sizes = [(int(node.get("CPU", 0)), node.get("GPU", 0.0)) for node in nodes]
        return spread(self._engine, self._gpus, sizes)

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """Yield the replies as they arrive from any replica; see `Model.answer`.

        `BadInput` if the cluster is too small or a replica cannot make the model, `RunFailed` after `PATIENCE` seconds without
        any replica.
        """
        if not requests:
            return
        self._take_turn()
        try:
            yield from self._answers(HandOut(requests, self._plan.replicas))
        finally:
            # A replica that still answers, because the caller has stopped, would go on for nobody.
            for copy in [copy for copy in self._copies if copy.work is not None]:
                self._end(copy)

    def _answers(self, hand_out: HandOut) -> Generator[Reply]:
        import ray

        alone_since, warned = time.monotonic(), False
        while True:
            for copy in self._copies:
                if copy.opening is None and copy.work is None and (work := hand_out.next()):
                    copy.work, copy.unanswered = work, dict(enumerate(work.requests))
                    copy.replies = copy.actor.answer.options(num_returns="streaming").remote(work.requests)
            working = [copy for copy in self._copies if copy.work is not None]
            opening = [copy for copy in self._copies if copy.opening is not None]
            if not working and not hand_out.waiting:
                return
            if working or not opening:
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > PATIENCE:
                raise RunFailed(
                    f"{self.name}: no replica could be started for {PATIENCE:.0f} seconds; what has been answered is kept, so "
                    "give the same command again when the cluster has machines"
                )
            elif not warned and time.monotonic() - alone_since > TOLD_AFTER:
                warned = True
                _log.info("%s: waiting for the cluster to start %d replicas", self.name, len(opening))
            by_wait = {copy.opening or copy.replies: copy for copy in self._copies if copy.opening or copy.work}
            ready, _ = ray.wait(list(by_wait), num_returns=1, timeout=1.0)
            for waited in ready:
                copy = by_wait[waited]
                # To the end of the line: replies that wait behind those of one replica would be lost with this process.
                self._copies.remove(copy)
                self._copies.append(copy)
                yield from self._received(copy, hand_out)

    def _received(self, copy: _Copy, hand_out: HandOut) -> Generator[Reply]:
        """What one replica has to say: that it is ready, a reply, that its work is done, or that it has ended."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        try:
            if copy.opening is not None:
                ray.get(copy.opening)
                copy.opening, self._failed_starts = None, 0
                return
            position, reply = ray.get(next(copy.replies))
        except StopIteration:
            left, work, copy.work = list(copy.unanswered.values()), copy.work, None
            if left and work:  # the model has given fewer replies than it was asked for
                yield from self._failed(hand_out.lost(work, left), "the replica gave no reply")
        except RayTaskError as error:  # an error of the model, which would be the same anywhere
            cause = error.cause
            if isinstance(cause, ImportError):
                raise BadInput(f"{self.name}: a machine of the cluster lacks libraries ({cause}); {SAME}") from None
            raise (cause if isinstance(cause, Exception) else error) from None
        except RayError as error:
            yield from self._lost(copy, hand_out, error)
        else:
            request = copy.unanswered.pop(position)
            yield replace(reply, key=request.key(self.identity))

    def _lost(self, copy: _Copy, hand_out: HandOut, error: Exception) -> Generator[Reply]:
        """Another replica takes the place of one that has ended, and its unanswered requests are handed out again."""
        work, left = copy.work, list(copy.unanswered.values())
        reason = f"the replica ended ({type(error).__name__})"
        _log.warning("%s: %s; %d requests are handed out again", self.name, reason, len(left))
        self._end(copy)
        if copy.opening is not None:
            self._failed_starts += 1
            if self._failed_starts >= MOST_DEATHS:
                raise RunFailed(
                    f"{self.name}: {MOST_DEATHS} replicas ended while they started; the last: {reason_of(error)}; {SAME}"
                )
        self._copies.append(self._start())
        if work and left:
            yield from self._failed(hand_out.lost(work, left), f"{reason}, as did {MOST_DEATHS - 1} before it")

    def _failed(self, requests: Sequence[Request], reason: str) -> Generator[Reply]:
        for request in requests:
            yield Reply(request.key(self.identity), request.id, failure=reason)

    def _take_turn(self) -> None:
        """Have replicas, after those of other models have ended."""
        n = self._plan.replicas
        for other in self._holding - {self}:
            other.close()
        self._holding.add(self)
        self._copies += [self._start() for _ in range(n - len(self._copies))]

    def _start(self) -> _Copy:
        import ray

        plan = self._plan
        on_ray: Any = ray.remote(Replica)
        actor = on_ray.options(num_cpus=plan.cpus, num_gpus=plan.gpus, scheduling_strategy="SPREAD").remote()
        return _Copy(actor, actor.open.remote(self._make, weights_of(self._model)))

    def _end(self, copy: _Copy) -> None:
        import ray

        self._copies.remove(copy)
        ray.kill(copy.actor)

    def start(self) -> None:
        """Start all replicas and wait until each has made its model; otherwise the first requests do so."""
        import ray

        self._take_turn()
        ray.get([copy.opening for copy in self._copies if copy.opening is not None])

    def close(self) -> None:
        """End all replicas; the next requests start new ones."""
        for copy in list(self._copies):
            self._end(copy)
        self._holding.discard(self)


class Replica:
    """What runs in the process of a replica; Ray makes an actor of it."""

    _model: Model

    def open(self, make: Callable[[], Model], weights: dict[str, str]) -> None:
        """Make the model; `BadInput` if this machine has other weights under its name."""
        self._model = make()
        if (loaded := weights_of(self._model)) != weights:
            raise BadInput(
                f"{self._model.name}: expected the weights {weights.get('weights')}, a machine of the cluster has "
                f"{loaded.get('weights')}; give all machines the same files"
            )

    def answer(self, requests: Sequence[Request]) -> Generator[tuple[int, Reply]]:
        """Yield the replies as they come, each with the position of its request."""
        positions = {request.key(self._model.identity): position for position, request in enumerate(requests)}
        for reply in self._model.answer(requests):
            yield positions[reply.key], reply
