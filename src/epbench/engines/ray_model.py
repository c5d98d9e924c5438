"""A model that is several replicas of itself in a Ray cluster."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from weakref import WeakSet

from epbench.engines.cluster import MOST_DEATHS, Engine, HandOut, Layout, Work, connect, layout
from epbench.errors import BadInput, RunFailed, reason_of
from epbench.models.protocol import Model, Reply, Request, variant_of, weights_of

PATIENCE = 600.0
"""Seconds without any replica after which a run gives up: so long may it take until a lost machine is replaced."""
SAME = "every machine needs epbench and its libraries in the versions of this one"
TOLD_AFTER = 20.0
"""Seconds without any replica after which the log says what is being waited for."""

_log = logging.getLogger(__name__)


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
        self._layout: Layout | None = None
        self._copies: list[_Copy] = []
        self._failed_starts = 0

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def identity(self) -> str:
        return self._model.identity

    @property
    def costs_nothing(self) -> bool:
        return self._model.costs_nothing

    @property
    def continues_prompts(self) -> bool:
        return self._model.continues_prompts

    def window(self) -> int | None:
        return self._model.window()

    def count_tokens(self, request: Request) -> tuple[int, int]:
        return self._model.count_tokens(request)

    @property
    def engine(self) -> dict[str, Any]:
        """What a run notes about where its answers come from: the engine, its version, replicas, machines."""
        import ray

        plan = self._plan()
        of_each = {"cpus_per_replica": plan.cpus, "gpus_per_replica": plan.gpus}
        return {"name": "ray", "version": ray.__version__, "replicas": plan.replicas, "nodes": plan.nodes, **of_each}

    def about_variant(self) -> dict[str, str]:
        """What a run notes of the model beside its name; see `variant_of`."""
        return variant_of(self._model).get("model_args", {})

    def _plan(self) -> Layout:
        if self._layout is None:
            connect(self._engine.local)
            self._layout = layout(self._engine, self._gpus)
        return self._layout

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """Yield the replies as they arrive from any replica; see `Model.answer`.

        Raises:
            BadInput: The cluster is too small, or a replica cannot make the model.
            RunFailed: For `PATIENCE` seconds there has been no replica.
        """
        if not requests:
            return
        plan = self._plan()
        hand_out = HandOut(requests, plan.replicas)
        self._take_turn(plan)
        try:
            yield from self._answers(hand_out)
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
            if not working and not hand_out.waits:
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
            by_wait = {
                copy.opening or copy.replies: copy for copy in self._copies if copy in working or copy in opening
            }
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
        self._copies.append(self._start(self._plan()))
        if work and left:
            yield from self._failed(hand_out.lost(work, left), f"{reason}, as did {MOST_DEATHS - 1} before it")

    def _failed(self, requests: Sequence[Request], reason: str) -> Generator[Reply]:
        for request in requests:
            yield Reply(request.key(self.identity), request.id, failure=reason)

    def _take_turn(self, plan: Layout) -> None:
        """Have replicas, after those of other models have ended."""
        for other in list(self._holding):
            if other is not self:
                other.close()
        self._holding.add(self)
        self._copies += [self._start(plan) for _ in range(plan.replicas - len(self._copies))]

    def _start(self, plan: Layout) -> _Copy:
        import ray

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

        self._take_turn(self._plan())
        ray.get([copy.opening for copy in self._copies if copy.opening is not None])

    def close(self) -> None:
        """End all replicas; the next requests start new ones."""
        for copy in list(self._copies):
            self._end(copy)
        self._holding.discard(self)


class Replica:
    """What runs in the process of a replica; Ray makes an actor of it."""

    def __init__(self) -> None:
        self._model: Model | None = None

    def open(self, make: Callable[[], Model], weights: dict[str, str]) -> int:
        """Make the model, whose weights are loaded with its first requests, and return the number of this process.

        Raises:
            BadInput: The model cannot be made, or this machine has other weights under its name; see `weights_of`.
        """
        import os

        self._model = make()
        if (loaded := weights_of(self._model)) != weights:
            raise BadInput(
                f"{self._model.name}: expected the weights {weights.get('weights')}, a machine of the cluster has "
                f"{loaded.get('weights')}; give all machines the same files"
            )
        return os.getpid()

    def answer(self, requests: Sequence[Request]) -> Generator[tuple[int, Reply]]:
        """Yield the replies as they come, each with the position of its request."""
        assert self._model is not None
        positions = {request.key(self._model.identity): position for position, request in enumerate(requests)}
        for reply in self._model.answer(requests):
            yield positions[reply.key], reply
