"""Recurrent encoder–decoder.  Query: the decoder state.  Key, value: the encoder's states.

What the decoder knows of the source is (a) its own first state alone (Sutskever, Vinyals & Le 2014,
"Sequence to Sequence Learning with Neural Networks"), (b) one vector at every step (Cho et al.
2014, "Learning Phrase Representations using RNN Encoder–Decoder"), or (c) what a soft query brings
back: the previous state asks before it moves (Bahdanau, Cho & Bengio 2015, "Neural Machine
Translation by Jointly Learning to Align and Translate"), or the current one after it has moved
(Luong, Pham & Manning 2015, "Effective Approaches to Attention-based Neural Machine Translation").
`recurrent_decoders.py` has one decoder for (a) and (b), and one for each of the others. This file
has what they share: the encoder, the tables of words, and the prediction.

B sentences, S tokens of the source, T of the target, N rows of a step, E width of an encoder state,
H of a decoder state, V words of the target.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from softquery.data import Tokens, TranslationBatch
from softquery.models.config_checks import check_choices, check_dropout, check_positive
from softquery.models.generator import GeneratorOutput, Stepped
from softquery.models.recurrent_decoders import (
    BahdanauDecoder,
    DecoderLayers,
    DecoderOutputs,
    DecoderSizes,
    LuongDecoder,
    PlainDecoder,
    RecurrentDecoder,
    RecurrentSource,
    RecurrentState,
    in_time,
)
from softquery.nn import (
    Bridge,
    Direction,
    PreparedAttention,
    Recurrence,
    RecurrentCell,
    RecurrentEncoder,
    RecurrentOutput,
    ScheduledSampling,
    ScoreName,
    Tie,
    Weights,
    WordTables,
    max_pool,
    mean_pool,
)

Context = Literal["first_state", "every_step", "mean", "max", "attention"]
SUMMARIES: tuple[Context, ...] = ("every_step", "mean", "max")
"""Contexts that are one vector for all steps."""
Asker = Literal["previous", "current"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AskingConfig:
    """Which decoder state asks the source, and the score; the defaults are Bahdanau et al.'s."""

    asker: Asker = "previous"
    """`"previous"` asks before the step, as Bahdanau et al.; `"current"` after it, as Luong et
    al."""
    score: ScoreName = "additive"
    hidden_size: int = 0
    """Width of the hidden layer of `"additive"` and `"concat"`; 0 for that of the decoder."""
    input_feeding: bool = True
    """Whether the next step reads the attentional state of the one before (Luong et al. 2015,
    Section 3.3). Without it all steps are read at once, which is faster."""

    def __post_init__(self) -> None:
        check_choices(self, {"asker": Asker, "score": ScoreName})
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
    """Layers of the encoder, and of the decoder."""
    cell: RecurrentCell = "gru"
    direction: Direction = "both"
    """How the source is read."""
    context: Context = "attention"
    """What the decoder knows of the source: its own first state, one vector at every step (from
    the encoder's last state, or from the mean or the maximum of all), or what it attends to."""
    attention: AskingConfig = field(default_factory=AskingConfig)
    tie: Tie = "none"
    """Which tables of words are shared."""
    dropout: float = 0.2
    """Dropout of word vectors, between layers, and before the output."""
    own_words: float = 0.0
    """Scheduled sampling: the largest share of words that are sampled from the decoder itself in
    training."""
    own_words_rise: int = 0
    """Training steps until that share is reached."""

    def __post_init__(self) -> None:
        check_choices(
            self, {"cell": RecurrentCell, "direction": Direction, "context": Context, "tie": Tie}
        )
        check_positive(self, "embedding_size", "hidden_size", "num_layers")
        check_dropout(self, "dropout")
        if not 0 <= self.own_words <= 1 or self.own_words_rise < 0:
            raise ValueError(
                "own_words must be in [0, 1] and own_words_rise not negative, got "
                f"{self.own_words} and {self.own_words_rise}"
            )


class Seq2Seq(nn.Module):
    """A recurrent encoder reads a source; a recurrent decoder, which may look back at it, writes.

    Known targets are read in one call wherever no step needs the output of the one before: by
    `PlainDecoder`, and by `LuongDecoder` without input feeding. Otherwise steps are taken one by
    one; all products that do not depend on the step before (those of the words, the keys and the
    output) are taken out of that loop.

    Args:
        config: The sizes.
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        self.config, self.vocab_size = config, config.target_vocab_size
        hidden = config.hidden_size
        # The names of parts are those of stored weights: `reader` encodes, `asking` attends.
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
        self.asking = self._build_attention() if config.context == "attention" else None
        self.summarise = nn.Linear(key_size, hidden) if config.context in SUMMARIES else None
        sizes = self._decoder_sizes()
        self.layers = nn.ModuleList(
            Recurrence(
                hidden if number else config.embedding_size,
                hidden,
                cell=config.cell,
                added_size=0 if number else sizes.added,
            )
            for number in range(config.num_layers)
        )
        self.readout = sizes.readout()
        self.words = WordTables(
            config.source_vocab_size,
            config.target_vocab_size,
            config.embedding_size,
            output_size=sizes.output,
            tie=config.tie,
        )
        self.dropout = nn.Dropout(config.dropout)
        share, rise = config.own_words, config.own_words_rise
        self.own_words = ScheduledSampling(share, rise) if share else None

    @property
    def decoder(self) -> RecurrentDecoder:
        """The decoder that the config names, over this model's own layers."""
        layers = DecoderLayers(self.layers, self.dropout)
        if self.asking is None:
            return PlainDecoder(layers, self.readout)
        attention = self.config.attention
        if attention.asker == "previous":
            return BahdanauDecoder(layers, self.asking, self.readout)
        return LuongDecoder(layers, self.asking, self.readout, attention.input_feeding)

    def forward(self, batch: TranslationBatch) -> GeneratorOutput:
        """Every next word of known targets, each from the true words before it."""
        source = self.encode(batch.source)
        if self.training and self.own_words is not None:
            return self._sampled(batch.inputs, source, self.own_words)
        vectors = self.dropout(self.words.read_target(batch.inputs))
        outputs = self.decoder.decode(vectors, source)
        return GeneratorOutput(self._logits(outputs, vectors), outputs.weights)

    def encode(self, tokens: Tokens) -> RecurrentSource:
        """Read the source (Bahdanau et al. 2015, Section 3.2)."""
        read = self.reader(self.dropout(self.words.read_source(tokens.ids)), tokens.mask)
        first = read.last if self.bridge is None else self.bridge(read.last)
        return RecurrentSource(
            states=read.states,
            keys=None if self.asking is None else self.asking.prepare(read.states),
            mask=tokens.mask,
            first=tuple(state.widened() for state in first),
            summary=self._summary(read, tokens.mask),
        )

    def source_layers(self, tokens: Tokens) -> tuple[Float[Tensor, "B S E"], ...]:
        """The highest encoder states of every word of a source, which the decoder asks.

        The table below them has another width.
        """
        return (self.encode(tokens).states,)

    def initial_state(self, source: RecurrentSource) -> RecurrentState:
        """The decoder state before the first word."""
        return self.decoder.initial_state(source)

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
        decoder = self.decoder
        share = decoder.layers.lowest.share(vectors)
        state, outputs = decoder.step(share, state, source)
        return Stepped(self._logits(outputs, vectors), state, outputs.weights)

    def _sampled(
        self, inputs: Int[Tensor, "B T"], source: RecurrentSource, sampling: ScheduledSampling
    ) -> GeneratorOutput:
        """All steps by scheduled sampling: some read a word drawn from the step before."""
        state, is_sampled = self.initial_state(source), sampling.toss(inputs)
        stepped = self.step(inputs[:, 0], state, source)
        steps = [stepped]
        for place in range(1, inputs.shape[1]):
            sampled = sampling.draw(stepped.logits)
            tokens = torch.where(is_sampled[:, place], sampled, inputs[:, place])
            stepped = self.step(tokens, stepped.state, source)
            steps.append(stepped)
        logits = torch.stack([each.logits for each in steps], dim=1)
        return GeneratorOutput(logits, in_time(tuple(each.attention for each in steps)))

    def _logits(
        self, outputs: DecoderOutputs, vectors: Float[Tensor, "*N D"]
    ) -> Float[Tensor, "*N V"]:
        states = self.decoder.output_states(outputs, vectors)
        return self.words.logits(self.dropout(states))

    def _summary(
        self, read: RecurrentOutput, mask: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B H"] | None:
        """The one vector that every step reads: c = tanh(V h) (Cho et al. 2014, A.1.1).

        Differs from paper: h may also be the mean of all states, or their maximum by dimension.
        """
        if self.summarise is None:
            return None
        pool = {"mean": mean_pool, "max": max_pool}.get(self.config.context)
        whole = read.last[-1].hidden if pool is None else pool(read.states, mask)
        return torch.tanh(self.summarise(whole))

    def _decoder_sizes(self) -> DecoderSizes:
        config, key_size = self.config, self.reader.output_size
        words, hidden = config.embedding_size, config.hidden_size
        if config.context != "attention":
            has_summary = config.context in SUMMARIES
            return PlainDecoder.sizes(word_size=words, hidden_size=hidden, has_summary=has_summary)
        if config.attention.asker == "previous":
            return BahdanauDecoder.sizes(word_size=words, hidden_size=hidden, key_size=key_size)
        return LuongDecoder.sizes(
            hidden_size=hidden, key_size=key_size, input_feeding=config.attention.input_feeding
        )

    def _build_bridge(self) -> Bridge:
        config = self.config
        return Bridge(
            self.reader.output_size,
            config.hidden_size,
            num_layers=config.num_layers,
            has_cell=config.cell == "lstm",
        )

    def _build_attention(self) -> PreparedAttention:
        attention, hidden = self.config.attention, self.config.hidden_size
        return PreparedAttention(
            attention.score,
            query_size=hidden,
            key_size=self.reader.output_size,
            hidden_size=attention.hidden_size or hidden,
        )


def presets() -> dict[str, Seq2SeqConfig]:
    """The published sizes.

    Sutskever et al. (2014), Section 3.4; Cho et al. (2014), Section 4.1; Bahdanau et al. (2015),
    Appendices A.2.3 and B; Luong et al. (2015), Section 4.1. Differs from the papers: Cho's and
    Bahdanau's maxout layer is as wide as a word and not 500, and Cho's decoder begins with the
    encoder's last state unchanged.

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
