"""In which numbers autocast would multiply."""

import torch
from torch import Tensor


def autocast_dtype(inputs: Tensor) -> torch.dtype:
    """The dtype in which autocast would multiply these, for layers that it does not know."""
    if torch.is_autocast_enabled(inputs.device.type):
        return torch.get_autocast_dtype(inputs.device.type)
    return inputs.dtype
