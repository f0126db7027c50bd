"""A bundle's model as a torch module on one device: what all backends in torch have in common.

Needs torch.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from softquery.errors import ConfigError

Model = TypeVar("Model", bound=nn.Module)


class TorchModel(Generic[Model]):
    """A model on a device.

    Args:
        load: Makes the model, on the CPU.
        device: `"cpu"`, `"cuda"`, or None for a GPU where there is one.
        threads: How many threads torch may use, in the whole process; None leaves it as it is.

    Raises:
        ConfigError: There is no such device, or it cannot hold the model.
    """

    def __init__(
        self, load: Callable[[], Model], device: str | None = None, threads: int | None = None
    ) -> None:
        if threads is not None:
            torch.set_num_threads(threads)
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            self.device = torch.device(chosen)
            self.module: Model = load().to(self.device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(f"device {chosen!r} cannot be used: {reason}") from None

    @property
    def name(self) -> str:
        """What computes."""
        return f"torch on {self.device.type}"

    def put(self, values: NDArray[Any]) -> Tensor:
        """An array on the device."""
        return torch.from_numpy(values).to(self.device)

    def mask(self, lengths: NDArray[Any], longest: int) -> Tensor:
        """Whether there is a token, [B, T], in rows of these lengths."""
        return torch.arange(longest, device=self.device) < self.put(lengths).unsqueeze(1)


@contextmanager
def evaluating(model: Model) -> Iterator[Model]:
    """A model in evaluation mode for a while."""
    was_training = model.training
    model.eval()
    try:
        yield model
    finally:
        model.train(was_training)
