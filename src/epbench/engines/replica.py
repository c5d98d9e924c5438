"""One copy of a model in a process of its own, on any machine of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from epbench.models.protocol import Model, Reply, Request, weights_of


class Replica:
    """What runs in the process of a replica; Ray makes an actor of it."""

    def __init__(self) -> None:
        self._model: Model | None = None

    def open(self, make: Callable[[], Model], weights: dict[str, str]) -> int:
        """Make the model; its weights are loaded when it gets its first requests.

        Args:
            make: Makes it.
            weights: What the model of the process that asks says of its weights; see `weights_of`.

        Returns:
            The number of this process, as its machine counts.

        Raises:
            BadInput: The model cannot be made, or this machine has other weights under its name.
        """
        import os

        from epbench.errors import BadInput

        self._model = make()
        if (found := weights_of(self._model)) != weights:
            raise BadInput(
                f"{self._model.name}: expected the weights {weights.get('weights')}, a machine of the cluster has "
                f"{found.get('weights')}; give all machines the same files"
            )
        return os.getpid()

    def answer(self, requests: Sequence[Request]) -> Generator[tuple[int, Reply]]:
        """Yield the replies as they come, each with the position of its request."""
        assert self._model is not None
        positions = {request.key(self._model.identity): position for position, request in enumerate(requests)}
        for reply in self._model.answer(requests):
            yield positions[reply.key], reply
