"""The machines of a Ray cluster, how many replicas of a model they can hold, and which of them gets which requests."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from epbench.errors import BadInput
from epbench.models.protocol import Request, by_context

MOST_DEATHS = 3
"""How many replicas may end over the same work until its requests have failed: one of them may be what ends replicas."""

_SHARE = 4
"""A replica gets at most one part in `_SHARE` of its fair share of what is left, so that all end at about the same time."""

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
    """Join the cluster that the environment names or this machine belongs to; if there is none, or `local`, start one here.

    Raises:
        BadInput: RAY_ADDRESS names a cluster that does not answer.
    """
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


def layout(engine: Engine, gpus_needed: float) -> Layout:
    """Return how the replicas of a model are spread over the cluster.

    Where there are GPUs and the user does not say, a replica takes `gpus_needed`.

    Raises:
        BadInput: The cluster is too small; the message has the numbers.
    """
    import ray

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    return spread(engine, gpus_needed, [(int(node.get("CPU", 0)), node.get("GPU", 0.0)) for node in nodes])


def spread(engine: Engine, gpus_needed: float, nodes: Sequence[tuple[int, float]]) -> Layout:
    """Return the same for machines of which the numbers of CPU cores and GPUs are known."""
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
    _waiting: list[Work] = field(init=False)  # the largest last

    def __post_init__(self) -> None:
        parts = _divided(by_context(self.requests), self.replicas)
        self._waiting = sorted((Work(part, _size(part)) for part in parts), key=lambda work: work.size)

    @property
    def waits(self) -> bool:
        """Whether there is work that no replica has."""
        return bool(self._waiting)

    def next(self) -> Work | None:
        """Return the work for a free replica; None if all is handed out."""
        if not self._waiting:
            return None
        work, waiting = self._waiting.pop(), self._waiting
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
        self._waiting += [Work(group, _size(group), deaths) for group in by_context(unanswered)]
        self._waiting.sort(key=lambda waiting: waiting.size)
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
