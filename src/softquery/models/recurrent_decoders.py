"""Three ways in which a recurrent decoder gets its context from the source.

`PlainDecoder` has no attention: the source is its first state (Sutskever, Vinyals & Le 2014,
Section 2), or one vector that every step reads as well (Cho et al. 2014, Section 2.2).
`BahdanauDecoder` lets the previous state ask the source before it moves (Bahdanau, Cho & Bengio
2015, Section 3.1). `LuongDecoder` moves first, and the current state asks (Luong, Pham & Manning
2015, Section 3). Each can be read by itself with its paper at hand; any score serves the last two.

A decoder holds no parameters of its own. They belong to the model (`Seq2Seq`), which hands its
layers over, so that all three store them under the same names.

B sentences, S tokens of the source, T of the target, N rows of a step, D width of a word, E of an
encoder state, H of a decoder state, G of all gates of a layer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softquery.nn import CellState, Maxout, PreparedAttention, Recurrence


class RecurrentSource(NamedTuple):
    """All that a decoder needs of a source."""

    states: Float[Tensor, "B S E"]
    keys: Float[Tensor, "B S F"] | None
    """The states as the score wants them; None without attention."""
    mask: Bool[Tensor, "B S"]
    first: tuple[CellState, ...]
    """The decoder's state before its first step, by layer."""
    summary: Float[Tensor, "B H"] | None
    """One vector for every step, such as Cho et al.'s; None for the other decoders."""


class RecurrentState(NamedTuple):
    """The decoder state: one of each layer, and what input feeding hands on to the next step."""

    layers: tuple[CellState, ...]
    fed: Float[Tensor, "N H"] | None = None


class DecoderOutputs(NamedTuple):
    """What one step computed, or what all steps did."""

    states: Float[Tensor, "*N H"]
    """The highest layer's states; Luong et al.'s attentional states h̃ where there are any."""
    context: Float[Tensor, "*N E"] | None = None
    """What was read of the source beside them, where the output layer needs it."""
    weights: Float[Tensor, "*N S"] | None = None


class DecoderSizes(NamedTuple):
    """What a decoder asks of the model that makes its layers."""

    added: int
    """Width of what the lowest layer reads beside the word; 0 for nothing."""
    output: int
    """Width of the states that words are predicted from."""
    readout: Callable[[], nn.Module]
    """Makes the layer before the prediction."""


@dataclass(frozen=True, slots=True)
class DecoderLayers:
    """A stack of recurrent layers, each reading the states of the one below after dropout."""

    layers: nn.ModuleList
    dropout: nn.Dropout

    @property
    def lowest(self) -> Recurrence:
        """The layer that reads words."""
        first: Recurrence = self.layers[0]  # type: ignore[assignment]
        return first

    def step(
        self, share: Float[Tensor, "N G"], states: tuple[CellState, ...]
    ) -> tuple[CellState, ...]:
        """One step of every layer, from what the input adds to the gates of the lowest."""
        new: list[CellState] = []
        for number, state in enumerate(states):
            layer: Recurrence = self.layers[number]  # type: ignore[assignment]
            if number:
                share = layer.share(self.dropout(new[-1].hidden))
            new.append(layer.step(share, state))
        return tuple(new)

    def run(
        self, inputs: Float[Tensor, "B T D"], first: tuple[CellState, ...]
    ) -> Float[Tensor, "B T H"]:
        """All steps at once, layer by layer: the states of the highest."""
        states = inputs
        for number, (layer, start) in enumerate(zip(self.layers, first, strict=True)):
            states, _ = layer(self.dropout(states) if number else states, None, start)
        return states


@dataclass(frozen=True, slots=True)
class PlainDecoder:
    """s_t = f(y_{t-1}, s_{t-1}), or f(y_{t-1}, s_{t-1}, c) with one c for all steps.

    Without c, the first state is all that is known of the source (Sutskever et al. 2014, Section
    2). With it, the states and the output layer read c at every step (Cho et al. 2014, Section
    2.2). No step waits for another's output: known targets are read in one call.
    """

    layers: DecoderLayers
    readout: nn.Module

    @staticmethod
    def sizes(*, word_size: int, hidden_size: int, has_summary: bool) -> DecoderSizes:
        """What words are predicted from: the states alone, or a maxout layer.

        That layer reads [s_t; y_{t-1}; c] (Cho et al. 2014, Appendix A.1.2).
        """
        if not has_summary:
            return DecoderSizes(0, hidden_size, nn.Identity)
        input_size = hidden_size + word_size + hidden_size
        return DecoderSizes(hidden_size, word_size, partial(Maxout, input_size, word_size))

    def decode(self, words: Float[Tensor, "B T D"], source: RecurrentSource) -> DecoderOutputs:
        """All steps at once."""
        if source.summary is None:
            return DecoderOutputs(self.layers.run(words, source.first))
        context = source.summary.unsqueeze(1).expand(-1, words.shape[1], -1)
        states = self.layers.run(torch.cat([words, context], dim=-1), source.first)
        return DecoderOutputs(states, context)

    def initial_state(self, source: RecurrentSource) -> RecurrentState:
        """The encoder's last state."""
        return RecurrentState(source.first)

    def step(
        self, share: Float[Tensor, "N G"], state: RecurrentState, source: RecurrentSource
    ) -> tuple[RecurrentState, DecoderOutputs]:
        """One step of every layer."""
        if source.summary is not None:
            share = share + self.layers.lowest.share_added(source.summary)
        layers = self.layers.step(share, state.layers)
        return RecurrentState(layers), DecoderOutputs(layers[-1].hidden, source.summary)

    def output_states(
        self, outputs: DecoderOutputs, words: Float[Tensor, "*N D"]
    ) -> Float[Tensor, "*N F"]:
        """The states, or a maxout layer over state, word and summary."""
        if outputs.context is None:
            return outputs.states
        parts = [outputs.states, words, outputs.context]
        return self.readout(torch.cat(parts, dim=-1))  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class BahdanauDecoder:
    """s_i = f(s_{i-1}, y_{i-1}, c_i): the previous state asks, then moves.

    Bahdanau et al. (2015), Section 3.1; section and equation numbers below are theirs.

    Query: s_{i-1}. Key, value: the encoder's states h_j. What comes back is the context
    c_i = Σ_j α_ij h_j (Eq. 5) with α_ij = softmax_j a(s_{i-1}, h_j) (Eq. 6); the first layer reads
    it beside the word. Each step needs the state before it, so steps are taken one by one.
    """

    layers: DecoderLayers
    attention: PreparedAttention
    readout: nn.Module

    @staticmethod
    def sizes(*, word_size: int, hidden_size: int, key_size: int) -> DecoderSizes:
        """Words are predicted from a maxout layer over [s_i; y_{i-1}; c_i] (Appendix A.2.2)."""
        input_size = hidden_size + word_size + key_size
        return DecoderSizes(key_size, word_size, partial(Maxout, input_size, word_size))

    def decode(self, words: Float[Tensor, "B T D"], source: RecurrentSource) -> DecoderOutputs:
        """All steps, one after the other."""
        return in_steps(self, self.layers.lowest.share(words), source)

    def initial_state(self, source: RecurrentSource) -> RecurrentState:
        """s_0, from the encoder's last states (Appendix A.2.2)."""
        return RecurrentState(source.first)

    def step(
        self, share: Float[Tensor, "N G"], state: RecurrentState, source: RecurrentSource
    ) -> tuple[RecurrentState, DecoderOutputs]:
        """c_i from s_{i-1} (Eqs. 5-6), then s_i from word, state and context."""
        context, weights = ask(self.attention, state.layers[-1].hidden, source)
        share = share + self.layers.lowest.share_added(context)
        layers = self.layers.step(share, state.layers)
        return RecurrentState(layers), DecoderOutputs(layers[-1].hidden, context, weights)

    def output_states(
        self, outputs: DecoderOutputs, words: Float[Tensor, "*N D"]
    ) -> Float[Tensor, "*N F"]:
        """The maxout layer over s_i, y_{i-1} and c_i.

        Differs from Appendix A.2.2, which reads s_{i-1}: s_i is read here, as in Eq. 4.
        """
        assert outputs.context is not None
        parts = [outputs.states, words, outputs.context]
        return self.readout(torch.cat(parts, dim=-1))  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class LuongDecoder:
    """h_t = f(h_{t-1}, y_{t-1}), and the current state asks after it has moved.

    Luong et al. (2015), Section 3.1; section and equation numbers below are theirs.

    Query: h_t. Key, value: the encoder's states. The context c_t that comes back makes, with the
    state, the attentional state h̃_t = tanh(W_c [c_t; h_t]) (Eq. 5), from which words are
    predicted (Eq. 6). With input feeding the next step reads h̃_t beside its word (Section 3.3),
    and steps are taken one by one; without it, all are read in one call.
    """

    layers: DecoderLayers
    attention: PreparedAttention
    readout: nn.Module
    """W_c."""
    input_feeding: bool

    @staticmethod
    def sizes(*, hidden_size: int, key_size: int, input_feeding: bool) -> DecoderSizes:
        """Words are predicted from h̃, which the next step reads where it is fed to it."""
        readout = partial(nn.Linear, key_size + hidden_size, hidden_size, bias=False)
        return DecoderSizes(hidden_size if input_feeding else 0, hidden_size, readout)

    def decode(self, words: Float[Tensor, "B T D"], source: RecurrentSource) -> DecoderOutputs:
        """All steps: at once, unless one reads what came of the one before."""
        if self.input_feeding:
            return in_steps(self, self.layers.lowest.share(words), source)
        return self._attentional(self.layers.run(words, source.first), source)

    def initial_state(self, source: RecurrentSource) -> RecurrentState:
        """The encoder's last state; zeros are fed to the first step."""
        fed = torch.zeros_like(source.first[-1].hidden) if self.input_feeding else None
        return RecurrentState(source.first, fed)

    def step(
        self, share: Float[Tensor, "N G"], state: RecurrentState, source: RecurrentSource
    ) -> tuple[RecurrentState, DecoderOutputs]:
        """h_t from word and state (and h̃_{t-1}), then c_t and h̃_t."""
        if state.fed is not None:
            share = share + self.layers.lowest.share_added(state.fed)
        layers = self.layers.step(share, state.layers)
        outputs = self._attentional(layers[-1].hidden, source)
        return RecurrentState(layers, outputs.states if self.input_feeding else None), outputs

    def output_states(
        self, outputs: DecoderOutputs, words: Float[Tensor, "*N D"]
    ) -> Float[Tensor, "*N F"]:
        """h̃ itself."""
        return outputs.states

    def _attentional(
        self, states: Float[Tensor, "*N H"], source: RecurrentSource
    ) -> DecoderOutputs:
        """h̃ = tanh(W_c [c; h]) (Eq. 5)."""
        context, weights = ask(self.attention, states, source)
        attentional = torch.tanh(self.readout(torch.cat([context, states], dim=-1)))
        return DecoderOutputs(attentional, weights=weights)


def ask(
    attention: PreparedAttention, query: Float[Tensor, "*N H"], source: RecurrentSource
) -> tuple[Float[Tensor, "*N E"], Float[Tensor, "*N S"]]:
    """The context for one query per row, or for one per step, and the weights."""
    many = query if query.dim() == 3 else query.unsqueeze(1)
    context, weights = attention(many, source.keys, source.states, source.mask)
    if query.dim() == 2:
        context, weights = context.squeeze(1), weights.squeeze(1)
    return context, weights


RecurrentDecoder = PlainDecoder | BahdanauDecoder | LuongDecoder


def in_steps(
    decoder: BahdanauDecoder | LuongDecoder, shares: Float[Tensor, "B T G"], source: RecurrentSource
) -> DecoderOutputs:
    """All steps of a decoder, one after the other, from what the words add to the gates."""
    state, steps = decoder.initial_state(source), []
    # Unbound at once: the gradient of a slice would be a tensor as large as all of them.
    for share in shares.unbind(dim=1):
        state, outputs = decoder.step(share, state, source)
        steps.append(outputs)
    states, contexts, weights = zip(*steps, strict=True)
    return DecoderOutputs(torch.stack(states, dim=1), in_time(contexts), in_time(weights))


def in_time(steps: tuple[Tensor | None, ...]) -> Tensor | None:
    """Steps side by side, or None where no step has any."""
    known = [step for step in steps if step is not None]
    return torch.stack(known, dim=1) if known else None
