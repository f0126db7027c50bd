"""The registry of models as tests go through it: config and module of every model of a kind."""

from typing import Any

from torch import nn

from softquery.models import REGISTRY, models_of


def registered(kind: str) -> dict[str, tuple[type[Any], type[nn.Module]]]:
    """Models of a kind that are built whole; heads on an encoder are `registered_heads`."""
    found = models_of(kind).items()
    return {name: (entry.config, entry.module) for name, entry in found if not entry.has_encoder}


def registered_heads() -> dict[str, tuple[type[Any], type[nn.Module]]]:
    """Heads of tasks on a pretrained encoder, of every kind; pools are not learnt, and no head."""
    found = [each for each in REGISTRY.items() if each[1].kind != "sentence-encoder"]
    return {name: (entry.config, entry.module) for name, entry in found if entry.has_encoder}
