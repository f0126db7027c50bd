"""How large the values are that int8 has to hold, measured once, when a model is exported.

ONNX Runtime would measure them in every batch, so that an answer moved with the company it is
computed in. With fixed ranges it does not (see `softquery.runtime.bounded_lstm`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from softquery.models import Esim
from softquery.nn import Embedded
from softquery.runtime.match.model import Matcher, Pair
from softquery.runtime.match.torch import TorchMatchBackend

Hook = Callable[[nn.Module, Any], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranges:
    """The largest absolute values that were met; larger ones are cut to them."""

    embedded: float = 1.0
    """Of word vectors, and of a biLM's at the input."""
    states: float = 1.0
    """Of the first BiLSTM's states, and of a biLM's vectors beside them."""
    product: float = 1.0
    """Of ESIM's a ⊙ ã."""
    local: float = 1.0
    """Of ESIM's projection, which the second BiLSTM reads."""
    pooled: float = 1.0
    """Of what the classifier reads."""


def measure_ranges(matcher: Matcher, pairs: Sequence[Pair]) -> Ranges:
    """Watch a torch model answer these pairs."""
    backend = matcher.backend
    if not isinstance(backend, TorchMatchBackend):
        raise TypeError(f"ranges are measured in torch, got a matcher on {backend.name}")
    model, found = backend.model, dict.fromkeys(Ranges.__dataclass_fields__, 0.0)

    def watch(name: str, part: Callable[[Tensor], Tensor] = lambda value: value) -> Hook:
        def hook(module: nn.Module, inputs: Any) -> None:
            found[name] = max(found[name], float(part(inputs[0]).abs().max()))

        return hook

    def look_beside(module: nn.Module, inputs: Any, output: Any) -> None:
        if isinstance(output, Embedded) and output.at_output is not None:
            found["states"] = max(found["states"], 1.0, float(output.at_output.abs().max()))

    watched: list[tuple[nn.Module, Hook]] = [(model.encoder, watch("embedded"))]
    if isinstance(model, Esim):
        parts = model.config.parts
        for name, part in (("states", "own"), ("product", "product")):
            if part in parts:
                watched.append((model.project, watch(name, _part(parts.index(part), len(parts)))))
        watched += [(model.composer, watch("local")), (model.classifier, watch("pooled"))]
    else:
        watched.append((model.head, watch("pooled")))
    handles = [module.register_forward_pre_hook(hook) for module, hook in watched]
    reads_own = not isinstance(model, Esim) or "own" in model.config.parts
    if not reads_own and isinstance(model.embedder, nn.Module):
        handles.append(model.embedder.register_forward_hook(look_beside))
    try:
        matcher.logits(pairs)
    finally:
        for handle in handles:
            handle.remove()
    return Ranges(**{name: value or 1.0 for name, value in found.items()})


def _part(place: int, count: int) -> Callable[[Tensor], Tensor]:
    return lambda value: value.chunk(count, dim=-1)[place]
