"""A bundle's model as a torch module. The only part of the runtime that needs torch."""

import dataclasses
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softquery.bundle import Bundle
from softquery.data import Pairs, in_order
from softquery.errors import BundleError
from softquery.models import MODELS, Esim, EsimConfig, Siamese, SiameseConfig
from softquery.runtime.weights import dequantised


def build_model(name: str, settings: dict[str, Any]) -> Esim | Siamese:
    """The model that a bundle's config describes, with random weights."""
    if name not in MODELS:
        raise BundleError(f"unknown model {name!r} (known: {', '.join(MODELS)})")
    config_class, model_class = MODELS[name]
    known = {each.name for each in dataclasses.fields(config_class)}
    if unknown := sorted(set(settings) - known):
        raise BundleError(f"{name} has no setting {unknown[0]!r}")
    plain = {
        key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()
    }
    try:
        model: Esim | Siamese = model_class(config_class(**plain))  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise BundleError(f"{name} cannot be built: {error}") from None
    except (RuntimeError, MemoryError):
        raise BundleError(f"{name} cannot be built: its sizes need too much memory") from None
    return model


def load_model(bundle: Bundle) -> Esim | Siamese:
    """The model of a bundle with its weights, in evaluation mode."""
    try:
        model = build_model(bundle.config.model["name"], bundle.config.model["config"])
    except BundleError as error:
        raise BundleError(f"{bundle.path / 'config.json'}: {error}") from None
    try:
        stored = dequantised(bundle.read_weights())
    except BundleError as error:
        raise BundleError(f"{bundle.weights_path}: {error}") from None
    weights = {name: torch.from_numpy(array) for name, array in stored.items()}
    for name, values in weights.items():
        if not values.isfinite().all():
            raise BundleError(f"{bundle.weights_path}: {name} holds a number that is not finite")
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise BundleError(f"{bundle.weights_path}: does not fit config.json: {reason}") from None
    return model.eval()


def config_of(model: nn.Module) -> dict[str, Any]:
    """A model's config as plain values for `config.json`."""
    config: EsimConfig | SiameseConfig = model.config  # type: ignore[assignment]
    return dataclasses.asdict(config)


@torch.inference_mode()
def pair_logits(model: nn.Module, pairs: Pairs, *, batch_size: int = 256) -> Float[Tensor, "N C"]:
    """Logits of every pair, in the order of the pairs, on the CPU."""
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    lengths = pairs.lengths().cpu()
    answers: Tensor | None = None
    for slot in in_order(lengths, batch_size=batch_size):
        rows = slot.rows.to(device)
        logits = model(pairs.batch(rows, slot.length)).logits.float()
        if answers is None:
            answers = logits.new_empty(len(pairs), logits.shape[1])
        answers[rows] = logits
    model.train(was_training)
    return torch.empty(0, 0) if answers is None else answers.cpu()
