"""Recurrent kernels under autocast: in which dtype they run, and what torch says about it."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


def autocast_dtype(inputs: Tensor) -> torch.dtype:
    """The dtype in which autocast would multiply here.

    Torch's own autocast of cuDNN's recurrence knows float16 only, so weights are cast by hand.
    """
    if torch.is_autocast_enabled(inputs.device.type):
        return torch.get_autocast_dtype(inputs.device.type)
    return inputs.dtype


@contextmanager
def quiet_about_weights() -> Iterator[None]:
    """Silence torch where it misses a faster path that is not to be had.

    On a GPU the weights were just cast and are gathered anew, some megabytes; on a CPU, oneDNN has
    no projection.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
