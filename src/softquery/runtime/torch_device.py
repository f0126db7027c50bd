"""Where a torch model runs. Needs torch."""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

from softquery.errors import ConfigError

Model = TypeVar("Model", bound=nn.Module)


def on_device(
    load: Callable[[], Model], device: str | None, threads: int | None
) -> tuple[Model, torch.device]:
    """A model on a device, and that device.

    Args:
        load: Makes the model, on the CPU.
        device: `"cpu"`, `"cuda"`, or None for a GPU where there is one.
        threads: How many threads torch may use, in the whole process; None leaves it as it is.

    Raises:
        ConfigError: There is no such device, or it cannot hold the model.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        place = torch.device(chosen)
        return load().to(place), place
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"device {chosen!r} cannot be used: {reason}") from None
