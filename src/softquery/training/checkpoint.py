"""A run's state in one safetensors file: weights, optimiser, average, memory, random state, place.

Written beside and renamed, so that whatever kills the process leaves the last whole state. No
pickle: what is not a tensor is JSON in the file's header.
"""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from softquery.atomic import write_bytes
from softquery.errors import BundleError
from softquery.training.average import WeightAverage
from softquery.training.plan import Memory

NAME = "checkpoint.safetensors"


def save_tensors(path: Path, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
    """Write tensors and a JSON state as one file, whole or not at all."""
    alone = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    write_bytes(path, save(alone, metadata={"format": "softquery", "state": json.dumps(state)}))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote."""
    try:
        with safe_open(path, framework="pt") as opened:
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
            return tensors, json.loads(opened.metadata()["state"])
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise BundleError(f"{path}: not a readable checkpoint ({reason})") from error


def save_checkpoint(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: WeightAverage | None,
    state: dict[str, Any],
    memory: dict[str, Tensor] | None = None,
) -> None:
    """Write everything that the run's future depends on."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for index, values in optimizer.state_dict()["state"].items():
        tensors.update({f"optim.{index}.{key}": value for key, value in values.items()})
    if average is not None:
        tensors.update({f"average.{name}": value for name, value in average.state().items()})
    tensors.update({f"memory.{name}": value for name, value in (memory or {}).items()})
    tensors["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    save_tensors(folder / NAME, tensors, state)


def load_checkpoint(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: WeightAverage | None,
    memory: Memory | None = None,
) -> dict[str, Any]:
    """Put a run back to where its checkpoint was; returns the JSON state."""
    tensors, state = load_tensors(folder / NAME)
    try:
        model.load_state_dict(_under("model.", tensors))
        if average is not None:
            average.restore(_under("average.", tensors))
        if memory is not None:
            memory.restore(_under("memory.", tensors))
        torch.set_rng_state(tensors["random.cpu"])
    except KeyError as error:
        raise BundleError(f"{folder / NAME}: does not fit this run: lacks {error}") from error
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise BundleError(f"{folder / NAME}: does not fit this model: {reason}") from error
    _restore_optimizer(optimizer, _under("optim.", tensors))
    if torch.cuda.is_available() and "random.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random.cuda"])
    return state


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, key = name.split(".", 1)
        state.setdefault(int(index), {})[key] = value
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
