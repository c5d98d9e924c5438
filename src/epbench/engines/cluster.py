"""The machines of a Ray cluster, and how many replicas of a model they can hold."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Engine:
    """How many copies of a model answer, and where.

    Attributes:
        replicas: The number of copies; None for as many as the cluster can hold: on machines with GPUs one for every
            `gpus_per_replica`, on others one for each machine.
        gpus_per_replica: The GPUs of one copy, or a part of one; None for as many as the model needs where there are GPUs.
        local: Whether the copies run on this machine, even if it belongs to a cluster.
    """

    replicas: int | None = None
    gpus_per_replica: float | None = None
    local: bool = False

    def __post_init__(self) -> None:
        if self.replicas is not None and self.replicas < 1:
            raise BadInput(f"replicas: expected at least 1, got {self.replicas}")
        if self.gpus_per_replica is not None and self.gpus_per_replica < 0:
            raise BadInput(f"GPUs per replica: expected at least 0, got {self.gpus_per_replica}")


@dataclass(frozen=True)
class Layout:
    """What the replicas of one model take.

    Attributes:
        replicas: Their number.
        cpus: The CPU cores of each.
        gpus: The GPUs of each.
        nodes: The number of machines in the cluster.
    """

    replicas: int
    cpus: int
    gpus: float
    nodes: int


def connect(local: bool) -> None:
    """Join the cluster that the environment names or this machine belongs to; if there is none, start one here.

    Args:
        local: Whether to start one on this machine in any case.

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

    Args:
        engine: What the user wants.
        gpus_needed: The GPUs of a replica where there are GPUs and the user does not say.

    Raises:
        BadInput: The cluster is too small; the message has the numbers.
    """
    import ray

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    return spread(engine, gpus_needed, [(int(node.get("CPU", 0)), node.get("GPU", 0.0)) for node in nodes])


def spread(engine: Engine, gpus_needed: float, nodes: Sequence[tuple[int, float]]) -> Layout:
    """Return the same for machines of which the numbers of CPU cores and GPUs are known."""
    has_gpus = any(gpus for _, gpus in nodes)
    gpus = engine.gpus_per_replica
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
        there = (
            f"{len(nodes)} machines, {sum(cpus for cpus, _ in nodes)} CPU cores and {sum(g for _, g in nodes):g} GPUs"
        )
        raise BadInput(
            f"the cluster has {there}, which is room for {fit} replicas of {gpus:g} GPUs and {cpus_each} CPU cores each, "
            f"expected {replicas or 'at least 1'}"
        )
    return Layout(replicas, cpus_each, gpus, len(nodes))
