"""What every generator has in common, and how it is decoded.

A generator encodes a source once (`encode`) and then predicts one token after the other (`step`).
`TorchStep` makes it a step of `softquery.decoding`, so that the same searches serve training and
runtime.

B sentences, N rows (hypotheses), S tokens of the source, T of the target, V tokens of the
vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from softquery.data import Tokens, TranslationBatch
from softquery.decoding import (
    Candidates,
    Hypothesis,
    Rules,
    StepRequest,
    Strategy,
    all_tokens,
    decode,
    with_watched,
)
from softquery.nn import Weights

Tree = TypeVar("Tree")


class GeneratorOutput(NamedTuple):
    """Logits of every next token, and the attention to the source where the model reports it."""

    logits: Float[Tensor, "B T V"]
    attention: Float[Tensor, "B *heads T S"] | None = None


class Stepped(NamedTuple):
    """Logits of the next token, the decoder state after it, and the attention to the source."""

    logits: Float[Tensor, "N V"]
    state: Any
    attention: Float[Tensor, "N *heads S"] | None = None


@runtime_checkable
class GeneratorModel(Protocol):
    """A model that generates a target from a source."""

    vocab_size: int
    """Tokens of the target."""
    training: bool

    def __call__(self, batch: TranslationBatch) -> GeneratorOutput:
        """Every next token of known targets (teacher forcing)."""

    def encode(self, tokens: Tokens) -> Any:
        """All that the decoder needs of a source: tensors whose first axis counts sentences."""

    def initial_state(self, source: Any) -> Any:
        """The decoder state before the first token: tensors whose first axis counts sentences."""

    def step(
        self, tokens: Int[Tensor, " N"], state: Any, source: Any, *, weights: Weights = "hidden"
    ) -> Stepped:
        """One more token in every row."""


def select_rows(tree: Tree, rows: Int[Tensor, " M"]) -> Tree:
    """The given rows of every tensor in nested tuples; None stays None."""
    if isinstance(tree, Tensor):
        return tree.index_select(0, rows)  # type: ignore[return-value]
    if not isinstance(tree, tuple):
        return tree
    parts = [select_rows(part, rows) for part in tree]
    return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)


@dataclass(frozen=True, slots=True)
class TorchState:
    """A decoder's state on its device, and which sentence each row belongs to."""

    source: Any
    state: Any
    sentences: NDArray[np.int64]


class TorchStep:
    """A generator as a step of `softquery.decoding`.

    States stay on the device. Of the vocabulary, only the candidates that a search asks for cross
    to the host: 32 sentences with a beam of 5 and 8,000 tokens bring 960 numbers per step, not a
    million. What belongs to the source is moved only when sentences come or go, not when hypotheses
    of one sentence change places.

    Args:
        model: In evaluation mode.
        weights: `"shown"` reports the attention of each step, for models that hide it otherwise.
    """

    def __init__(self, model: GeneratorModel, *, weights: Weights = "hidden") -> None:
        if model.training:
            raise ValueError("decoding needs a model in evaluation mode: call eval() first")
        self.model, self.weights = model, weights

    @property
    def vocab_size(self) -> int:
        """Tokens of the target."""
        return self.model.vocab_size

    @torch.inference_mode()
    def begin(self, source: Tokens) -> TorchState:
        """The state before the first token."""
        encoded = self.model.encode(source)
        first = self.model.initial_state(encoded)
        return TorchState(encoded, first, np.arange(len(source.ids)))

    @torch.inference_mode()
    def __call__(
        self, state: TorchState, tokens: NDArray[np.int64], wanted: StepRequest
    ) -> Candidates[TorchState]:
        """The candidates for the next token of every row."""
        device = _device_of(state)
        output = self.model.step(
            torch.from_numpy(tokens).to(device), state.state, state.source, weights=self.weights
        )
        found, values = _candidates(output.logits.float(), wanted)
        attention = output.attention
        return Candidates(
            tokens=found,
            log_probabilities=values,
            state=TorchState(state.source, output.state, state.sentences),
            attention=None if attention is None else attention.float().cpu().numpy(),
        )

    @torch.inference_mode()
    def reorder(self, state: TorchState, rows: NDArray[np.int64]) -> TorchState:
        """The state of these rows."""
        if np.array_equal(rows, np.arange(len(state.sentences))):
            return state
        places = torch.from_numpy(rows).to(_device_of(state))
        sentences = state.sentences[rows]
        source = state.source
        if not np.array_equal(sentences, state.sentences):
            source = select_rows(source, places)
        return TorchState(source, select_rows(state.state, places), sentences)


def generate(
    model: GeneratorModel,
    source: Tokens,
    *,
    strategy: Strategy,
    rules: Rules | Sequence[Rules] | None = None,
    numbers: Sequence[int] | None = None,
    weights: Weights = "hidden",
) -> list[list[Hypothesis]]:
    """Texts for each source, best first.

    Args:
        model: In evaluation mode, on the device of `source`.
        source: The texts to generate from.
        strategy: `Greedy`, `Beam` or `Sampling`.
        rules: Constraints on the texts, for all sources or for each.
        numbers: The sources' numbers among all, which seed the sampling.
        weights: `"shown"` reports the attention of each token.
    """
    step = TorchStep(model, weights="shown" if strategy.ranking.coverage else weights)
    return decode(
        step,
        step.begin(source),
        len(source.ids),
        strategy=strategy,
        rules=rules,
        source_mask=source.mask.cpu().numpy(),
        numbers=numbers,
    )


def _candidates(
    logits: Float[Tensor, "N V"], wanted: StepRequest
) -> tuple[NDArray[np.int64], NDArray[np.floating[Any]]]:
    """The likeliest allowed tokens and the watched ones, brought to the host in one piece."""
    allowed: Bool[Tensor, "#N V"] = torch.from_numpy(wanted.allowed).to(logits.device)
    values = logits - logits.logsumexp(dim=-1, keepdim=True)
    values = torch.where(allowed & ~values.isnan(), values, -torch.inf)
    if wanted.num_candidates >= values.shape[1]:
        return all_tokens(values.cpu().numpy(), wanted.watched)
    best = values.topk(wanted.num_candidates, dim=-1)
    watched = torch.from_numpy(wanted.watched).to(logits.device)
    packed = torch.cat([best.indices.double(), best.values.double(), values[:, watched]], dim=1)
    count = best.indices.shape[1]
    tokens, numbers, more = np.split(packed.cpu().numpy(), [count, 2 * count], axis=1)
    return with_watched(tokens.astype(np.int64), numbers, wanted.watched, more)


def _device_of(state: TorchState) -> torch.device:
    tensor = _first_tensor(state.source)
    return torch.device("cpu") if tensor is None else tensor.device


def _first_tensor(tree: Any) -> Tensor | None:
    if isinstance(tree, Tensor):
        return tree
    if isinstance(tree, tuple):
        found = (_first_tensor(part) for part in tree)
        return next((each for each in found if each is not None), None)
    return None
