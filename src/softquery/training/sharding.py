"""Weights that are too many for one device: each of several processes holds a share of them.

Weights, gradients and the optimiser's moments are divided among processes (FSDP; Zhao et al. 2023,
Section 3, as in ZeRO, Rajbhandari et al. 2020). A block's weights are gathered for the moment in
which they are needed, and its gradients are summed into shares. What a step computes is the same
as where every process holds everything.

Checkpoints hold whole tensors, so that a run may go on with another number of processes.
"""

import copy
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from lightning_fabric import Fabric
from lightning_fabric.strategies.ddp import DDPStrategy
from lightning_fabric.strategies.strategy import _BackwardSyncControl
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor

from softquery.errors import ConfigError

OTHER_ENTRIES = ("read_packed",)
"""Methods of blocks that are called instead of `forward`."""


class _GradientsHeldBack(_BackwardSyncControl):
    """Gradients of all parts of a batch but the last are kept where they are."""

    def no_backward_sync(self, module: nn.Module, enabled: bool) -> AbstractContextManager[None]:
        return _held_back(module) if enabled else nullcontext()


@contextmanager
def _held_back(module: nn.Module) -> Iterator[None]:
    assert isinstance(module, FSDPModule)
    module.set_requires_gradient_sync(False)
    try:
        yield
    finally:
        module.set_requires_gradient_sync(True)


class ShardedStrategy(DDPStrategy):
    """Processes as for DDP; the model exchanges its gradients by itself."""

    def __init__(self) -> None:
        super().__init__()
        self._backward_sync_control = _GradientsHeldBack()

    def setup_module(self, module: nn.Module) -> nn.Module:  # type: ignore[override]
        """The model as it is, which `shard` has divided already."""
        return module


def shard(model: nn.Module, fabric: Fabric) -> nn.Module:
    """A copy of a model, divided among all processes block by block.

    Args:
        model: With the same weights in every process. It stays whole, on the CPU.
        fabric: Launched with `ShardedStrategy`.

    Raises:
        ConfigError: The model has no blocks of attention, which are what is divided.
    """
    divided = copy.deepcopy(model).to(fabric.device)
    model.cpu()
    blocks = [
        block
        for each in divided.modules()
        for name in ("blocks", "encoder", "decoder")
        if isinstance(found := getattr(each, name, None), nn.ModuleList)
        for block in found
    ]
    if not blocks:
        raise ConfigError(
            f"training.sharding=full divides blocks of attention, which {type(model).__name__} "
            "lacks; set it to none"
        )
    mesh = init_device_mesh(fabric.device.type, (fabric.world_size,))
    for block in blocks:
        fully_shard(block, mesh=mesh)
        for name in OTHER_ENTRIES:
            if hasattr(block, name):
                register_fsdp_forward_method(block, name)
    fully_shard(divided, mesh=mesh)
    return divided


@contextmanager
def gathered(model: nn.Module) -> Iterator[None]:
    """While a model is measured, by whatever method: what lies outside its blocks is whole."""
    parts = [each for each in model.modules() if isinstance(each, FSDPModule)]
    for part in parts:
        part.unshard()
    try:
        yield
    finally:
        for part in parts:
            part.reshard()


def whole(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors put together from the shares of all processes, each of which must call this."""
    return {
        name: tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
        for name, tensor in tensors.items()
    }


def share_of(tensor: Tensor, like: Tensor) -> Tensor:
    """This process's share of a whole tensor, divided as another is, or all of it."""
    if not isinstance(like, DTensor) or tensor.shape != like.shape:
        return tensor
    place: Any = like.device_mesh
    moved = tensor.to(like.device)
    divided: Tensor = distribute_tensor(moved, place, like.placements, src_data_rank=None)
    return divided


def shares(tensors: Mapping[str, Tensor], model: nn.Module) -> dict[str, Tensor]:
    """Whole weights of a model as it holds them."""
    held = model.state_dict()
    return {
        name: share_of(tensor, held[name]) if name in held else tensor
        for name, tensor in tensors.items()
    }


def is_sharded(model: nn.Module) -> bool:
    """Whether a model holds shares."""
    return isinstance(model, FSDPModule)


def check_steps(average_decay: float) -> None:
    """Refuse what works on whole weights.

    Raises:
        ConfigError: An average of the weights is asked for.
    """
    if average_decay:
        raise ConfigError(
            "training.average_decay averages whole weights; set training.sharding=none or "
            f"average_decay=0, got {average_decay}"
        )
