"""Recurrent encoder–decoder.  Query: the decoder's state.  Key, value: the encoder's states.

What the decoder knows of the source is (a) its own first state alone (Sutskever, Vinyals & Le 2014,
"Sequence to Sequence Learning with Neural Networks", Section 2), (b) one vector at every step (Cho
et al. 2014, "Learning Phrase Representations using RNN Encoder–Decoder", Section 2.2), or (c) what
a soft query brings back: the previous state asks before it moves (Bahdanau, Cho & Bengio 2015,
"Neural Machine Translation by Jointly Learning to Align and Translate", Section 3.1), or the
current one after it has moved (Luong, Pham & Manning 2015, "Effective Approaches to Attention-based
Neural Machine Translation", Section 3). Any score serves either.

B sentences, S tokens of the source, T of the target, N rows of a step, E width of an encoder state,
H of a decoder state, V words of the target.
"""

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from softquery.data import Tokens, TranslationBatch
from softquery.models.generator import GeneratorOutput, Stepped
from softquery.nn import (
    Bridge,
    CellState,
    Direction,
    Maxout,
    PreparedAttention,
    Recurrence,
    RecurrentCell,
    RecurrentEncoder,
    ScheduledSampling,
    ScoreName,
    Tie,
    Weights,
    WordTables,
)

Context = Literal["first_state", "every_step", "attention"]
Asker = Literal["previous", "current"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AskingConfig:
    """Who asks the source, and how an answer is scored; the defaults are Bahdanau et al.'s."""

    asker: Asker = "previous"
    """`"previous"` asks before the step, as Bahdanau et al.; `"current"` after it, as Luong et
    al."""
    score: ScoreName = "additive"
    hidden_size: int = 0
    """Width of the hidden layer of `"additive"` and `"concat"`; 0 for that of the decoder."""
    input_feeding: bool = True
    """Whether the current state, once it has its answer, hands it on to the next step (Luong et al.
    2015, Section 3.3). Without it all steps are read at once, which is faster."""

    def __post_init__(self) -> None:
        for name, choices in (("asker", Asker), ("score", ScoreName)):
            if getattr(self, name) not in get_args(choices):
                raise ValueError(
                    f"{name} must be one of {get_args(choices)}, got {getattr(self, name)!r}"
                )
        if self.hidden_size < 0:
            raise ValueError(f"hidden_size must not be negative, got {self.hidden_size}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Seq2SeqConfig:
    """Sizes of an encoder–decoder; `presets` has the published ones."""

    source_vocab_size: int = 0
    """Words of the source, padding included; 0 until the data is known."""
    target_vocab_size: int = 0
    embedding_size: int = 256
    hidden_size: int = 512
    """Width of the decoder, and of one direction of the encoder."""
    num_layers: int = 1
    """Of the encoder, and of the decoder."""
    cell: RecurrentCell = "gru"
    direction: Direction = "both"
    """How the source is read."""
    context: Context = "attention"
    """What the decoder knows of the source."""
    attention: AskingConfig = field(default_factory=AskingConfig)
    tie: Tie = "none"
    """Which tables of words are one."""
    dropout: float = 0.2
    """Of word vectors, between layers, and before the output."""
    own_words: float = 0.0
    """Largest share of words that the decoder reads as it would have said them, in training."""
    own_words_rise: int = 0
    """Training steps until that share is reached."""

    def __post_init__(self) -> None:
        for name, choices in (
            ("cell", RecurrentCell),
            ("direction", Direction),
            ("context", Context),
            ("tie", Tie),
        ):
            if getattr(self, name) not in get_args(choices):
                raise ValueError(
                    f"{name} must be one of {get_args(choices)}, got {getattr(self, name)!r}"
                )
        for name in ("embedding_size", "hidden_size", "num_layers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {self.dropout}")
        if not 0 <= self.own_words <= 1 or self.own_words_rise < 0:
            raise ValueError(
                "own_words must be in [0, 1] and own_words_rise not negative, got "
                f"{self.own_words} and {self.own_words_rise}"
            )


class RecurrentSource(NamedTuple):
    """All that the decoder asks of a source."""

    states: Float[Tensor, "B S E"]
    keys: Float[Tensor, "B S F"] | None
    """The states as the score wants them; None where nobody asks."""
    mask: Bool[Tensor, "B S"]
    first: tuple[CellState, ...]
    """The decoder's state before its first step, by layer."""
    summary: Float[Tensor, "B H"] | None
    """The one vector of `"every_step"`."""


class RecurrentState(NamedTuple):
    """Where the decoder stands: its layers, and the answer that is handed on to the next step."""

    layers: tuple[CellState, ...]
    fed: Float[Tensor, "N H"] | None = None


class DecoderOutputs(NamedTuple):
    """One step, or many: the highest state, what it knew of the source, and from where."""

    top: Float[Tensor, "*N H"]
    context: Float[Tensor, "*N E"] | None
    weights: Float[Tensor, "*N S"] | None
    attentional: Float[Tensor, "*N H"] | None = None
    """Luong et al.'s h̃, where the current state asks."""


class Seq2Seq(nn.Module):
    """A recurrent network reads a source; another one, which may look back at it, writes.

    Whole targets are read in one call wherever no step needs the answer of the one before: with
    contexts (a) and (b), and where the current state asks without input feeding. Otherwise steps
    are taken one by one; all products that do not depend on the step before (those of the words,
    the keys and the output) are taken out of that loop.

    Args:
        config: The sizes.
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        self.config, self.vocab_size = config, config.target_vocab_size
        hidden = config.hidden_size
        asker = config.attention.asker if config.context == "attention" else None
        self.asks_before, self.asks_after = asker == "previous", asker == "current"
        self.feeds = self.asks_after and config.attention.input_feeding
        self.reader = RecurrentEncoder(
            config.embedding_size,
            hidden,
            num_layers=config.num_layers,
            cell=config.cell,
            direction=config.direction,
            dropout=config.dropout,
        )
        key_size = self.reader.output_size
        self.bridge = self._build_bridge() if key_size != hidden else None
        self.asking = self._build_asking() if asker is not None else None
        self.summarise = nn.Linear(key_size, hidden) if config.context == "every_step" else None
        self.layers = nn.ModuleList(
            Recurrence(
                hidden if number else config.embedding_size,
                hidden,
                cell=config.cell,
                added_size=0 if number else self._added_size,
            )
            for number in range(config.num_layers)
        )
        self.readout = self._build_readout()
        self.words = self._build_words()
        self.dropout = nn.Dropout(config.dropout)
        share, rise = config.own_words, config.own_words_rise
        self.own_words = ScheduledSampling(share, rise) if share else None

    def forward(self, batch: TranslationBatch) -> GeneratorOutput:
        """Every next word of known targets, each from the true words before it."""
        source = self.encode(batch.source)
        if self.training and self.own_words is not None:
            return self._with_own_words(batch.inputs, source, self.own_words)
        vectors = self.dropout(self.words.read_target(batch.inputs))
        one_by_one = self.asks_before or self.feeds
        told = (self._in_steps if one_by_one else self._at_once)(vectors, source)
        return GeneratorOutput(self._logits(told, vectors), told.weights)

    def encode(self, tokens: Tokens) -> RecurrentSource:
        """Read the source (Bahdanau et al. 2015, Section 3.2)."""
        read = self.reader(self.dropout(self.words.read_source(tokens.ids)), tokens.mask)
        first = read.last if self.bridge is None else self.bridge(read.last)
        summary = None
        if self.summarise is not None:  # Cho et al. 2014, Appendix A.1.1
            summary = torch.tanh(self.summarise(read.last[-1].hidden))
        return RecurrentSource(
            states=read.states,
            keys=None if self.asking is None else self.asking.prepare(read.states),
            mask=tokens.mask,
            first=tuple(state.widened() for state in first),
            summary=summary,
        )

    def source_layers(self, tokens: Tokens) -> tuple[Float[Tensor, "B S E"], ...]:
        """What every word of a source is: the highest states, which the decoder asks.

        The table below them has another width.
        """
        return (self.encode(tokens).states,)

    def initial_state(self, source: RecurrentSource) -> RecurrentState:
        """The state before the first word."""
        fed = torch.zeros_like(source.first[-1].hidden) if self.feeds else None
        return RecurrentState(source.first, fed)

    def step(
        self,
        tokens: Int[Tensor, " N"],
        state: RecurrentState,
        source: RecurrentSource,
        *,
        weights: Weights = "hidden",
    ) -> Stepped:
        """One more word in every row; weights cost nothing here and are always shown."""
        vectors = self.dropout(self.words.read_target(tokens))
        state, told = self._advance(self._first_layer.share(vectors), state, source)
        return Stepped(self._logits(told, vectors), state, told.weights)

    def _at_once(self, vectors: Float[Tensor, "B T D"], source: RecurrentSource) -> DecoderOutputs:
        """All steps, layer by layer; nothing that is asked changes what comes next."""
        context, states = None, vectors
        if source.summary is not None:
            context = source.summary.unsqueeze(1).expand(-1, vectors.shape[1], -1)
            states = torch.cat([vectors, context], dim=-1)
        for number, (layer, first) in enumerate(zip(self.layers, source.first, strict=True)):
            states, _ = layer(self.dropout(states) if number else states, None, first)
        return (
            DecoderOutputs(states, context, None)
            if self.asking is None
            else self._ask(states, source)
        )

    def _in_steps(self, vectors: Float[Tensor, "B T D"], source: RecurrentSource) -> DecoderOutputs:
        """All steps, one after the other."""
        state, told = self.initial_state(source), []
        # Unbound at once: the gradient of a slice would be a tensor as large as all of them.
        for share in self._first_layer.share(vectors).unbind(dim=1):
            state, one = self._advance(share, state, source)
            told.append(one)
        tops, *others = zip(*told, strict=True)
        return DecoderOutputs(torch.stack(tops, dim=1), *map(_in_time, others))

    def _with_own_words(
        self, inputs: Int[Tensor, "B T"], source: RecurrentSource, own_words: ScheduledSampling
    ) -> GeneratorOutput:
        """All steps, some of which read what the last one would have said."""
        state, is_own = self.initial_state(source), own_words.toss(inputs)
        stepped = self.step(inputs[:, 0], state, source)
        steps = [stepped]
        for place in range(1, inputs.shape[1]):
            said = own_words.say(stepped.logits)
            tokens = torch.where(is_own[:, place], said, inputs[:, place])
            stepped = self.step(tokens, stepped.state, source)
            steps.append(stepped)
        logits = torch.stack([each.logits for each in steps], dim=1)
        return GeneratorOutput(logits, _in_time(tuple(each.attention for each in steps)))

    def _advance(
        self, share: Float[Tensor, "N G"], state: RecurrentState, source: RecurrentSource
    ) -> tuple[RecurrentState, DecoderOutputs]:
        """One step, from what the word adds to the gates of the first layer."""
        context, weights = source.summary, None
        if self.asks_before:  # c_i from s_{i-1}: Bahdanau et al. 2015, Eqs. 5-6
            _, context, weights, _ = self._ask(state.layers[-1].hidden, source)
        added = state.fed if self.feeds else context
        if added is not None:
            share = share + self._first_layer.share_added(added)
        layers = self._climbed(share, state.layers)
        top = layers[-1].hidden
        if not self.asks_after:
            return RecurrentState(layers), DecoderOutputs(top, context, weights)
        told = self._ask(top, source)  # c_t from h_t: Luong et al. 2015, Section 3.1
        return RecurrentState(layers, told.attentional if self.feeds else None), told

    def _climbed(
        self, share: Float[Tensor, "N G"], states: tuple[CellState, ...]
    ) -> tuple[CellState, ...]:
        """One step of every layer."""
        new: list[CellState] = []
        for number, state in enumerate(states):
            layer: Recurrence = self.layers[number]  # type: ignore[assignment]
            if number:
                share = layer.share(self.dropout(new[-1].hidden))
            new.append(layer.step(share, state))
        return tuple(new)

    @property
    def _first_layer(self) -> Recurrence:
        first: Recurrence = self.layers[0]  # type: ignore[assignment]
        return first

    def _ask(self, query: Float[Tensor, "*N H"], source: RecurrentSource) -> DecoderOutputs:
        """What the source answers to one state of each row, or to many."""
        assert self.asking is not None
        many = query if query.dim() == 3 else query.unsqueeze(1)
        mixed, weights = self.asking(many, source.keys, source.states, source.mask)
        if query.dim() == 2:
            mixed, weights = mixed.squeeze(1), weights.squeeze(1)
        if not self.asks_after:
            return DecoderOutputs(query, mixed, weights)
        # h̃ = tanh(W [c; h]): Luong et al. 2015, Eq. 5
        answer = torch.tanh(self.readout(torch.cat([mixed, query], dim=-1)))
        return DecoderOutputs(query, mixed, weights, answer)

    def _logits(
        self, told: DecoderOutputs, vectors: Float[Tensor, "*N D"]
    ) -> Float[Tensor, "*N V"]:
        """The next word, from the state, what it knew of the source, and the word before.

        Differs from Bahdanau et al. 2015, Appendix A.2.2: reads s_i, as their Eq. 4 does, where the
        appendix has s_{i-1}.
        """
        if told.attentional is not None:
            states = told.attentional
        elif told.context is None:
            states = told.top
        else:
            states = self.readout(torch.cat([told.top, vectors, told.context], dim=-1))
        return self.words.logits(self.dropout(states))

    @property
    def _added_size(self) -> int:
        """Width of what the first layer reads beside the word: what is known of the source."""
        if self.asks_before:
            return self.reader.output_size
        return self.config.hidden_size if self.feeds or self.summarise is not None else 0

    def _build_bridge(self) -> Bridge:
        config = self.config
        return Bridge(
            self.reader.output_size,
            config.hidden_size,
            num_layers=config.num_layers,
            has_cell=config.cell == "lstm",
        )

    def _build_asking(self) -> PreparedAttention:
        attention, hidden = self.config.attention, self.config.hidden_size
        return PreparedAttention(
            attention.score,
            query_size=hidden,
            key_size=self.reader.output_size,
            hidden_size=attention.hidden_size or hidden,
        )

    def _build_readout(self) -> nn.Module:
        """The layer before the softmax."""
        size, hidden, key_size = (
            self.config.embedding_size, self.config.hidden_size, self.reader.output_size
        )  # fmt: skip
        if self.asks_after:
            return nn.Linear(key_size + hidden, hidden, bias=False)
        if self.config.context == "first_state":
            return nn.Identity()
        return Maxout(hidden + size + (key_size if self.asks_before else hidden), size)

    def _build_words(self) -> WordTables:
        config = self.config
        is_wide = self.asks_after or config.context == "first_state"
        return WordTables(
            config.source_vocab_size,
            config.target_vocab_size,
            config.embedding_size,
            output_size=config.hidden_size if is_wide else config.embedding_size,
            tie=config.tie,
        )


def _in_time(steps: tuple[Tensor | None, ...]) -> Tensor | None:
    """Steps side by side, or None where no step has any."""
    known = [step for step in steps if step is not None]
    return torch.stack(known, dim=1) if known else None


def presets() -> dict[str, Seq2SeqConfig]:
    """The published sizes.

    Sutskever et al. (2014), Section 3.4; Cho et al. (2014), Section 4.1; Bahdanau et al. (2015),
    Appendices A.2.3 and B; Luong et al. (2015), Section 4.1. Differs from the papers: Cho's and
    Bahdanau's maxout layer is as wide as a word and not 500, and Cho's decoder begins with the
    encoder's last state as it is.

    >>> {name: config.num_layers for name, config in presets().items()}
    {'sutskever': 4, 'cho': 1, 'bahdanau': 1, 'luong': 4}
    """
    deep = Seq2SeqConfig(
        embedding_size=1000,
        hidden_size=1000,
        num_layers=4,
        cell="lstm",
        direction="backwards",
        context="first_state",
        dropout=0.0,
    )
    luong = AskingConfig(asker="current", score="general")
    return {
        "sutskever": deep,
        "cho": Seq2SeqConfig(
            embedding_size=100,
            hidden_size=1000,
            direction="forwards",
            context="every_step",
            dropout=0.0,
        ),
        "bahdanau": Seq2SeqConfig(embedding_size=620, hidden_size=1000, dropout=0.0),
        "luong": replace(deep, context="attention", attention=luong, dropout=0.2),
    }
