"""A run is a value: model, task, text, data, optimiser and how long, in one frozen dataclass."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from softquery.answers import ReadingRules
from softquery.measure import ClassMetric
from softquery.models import (
    BERT_HEADS,
    CLASSIFIERS,
    GENERATORS,
    MODELS,
    READERS,
    TEXT_MODELS,
    AttentiveConfig,
    BertClassifierConfig,
    BertMatcherConfig,
    BertReaderConfig,
    BertTaggerConfig,
    BiDafConfig,
    BiLstmTaggerConfig,
    EsimConfig,
    HierarchicalConfig,
    Seq2SeqConfig,
    SiameseConfig,
    TransformerConfig,
)
from softquery.nn import ElmoSettings
from softquery.tasks import (
    Generation,
    PairTask,
    SpanReading,
    Tagging,
    TextClassification,
    check_consistency,
)
from softquery.text import TextConfig
from softquery.training import Optim, Schedule, Training


@dataclass(frozen=True, kw_only=True, slots=True)
class Vocabulary:
    """Which words get a row of the embedding table."""

    min_count: int = 1
    """Rarer words of the training text become `<unk>`."""
    size: int | None = None
    """The most entries; for BPE and WordPiece, how many pieces are learnt."""
    from_vectors: int = 0
    """How many words of the first vectors file, most frequent first, are added to the text's."""
    frozen: bool = False
    """Keep the embedding table as it was filled; one that nothing fills learns all the same."""

    def __post_init__(self) -> None:
        if self.min_count < 1:
            raise ValueError(f"min_count must be at least 1, got {self.min_count}")
        if self.size is not None and self.size < 1:
            raise ValueError(f"size must be at least 1, got {self.size}")
        if self.from_vectors < 0:
            raise ValueError(f"from_vectors must not be negative, got {self.from_vectors}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    """Which files of the data folder are read, and how they are cut into batches."""

    train: tuple[str, ...] = ("train",)
    dev: str = "dev"
    tune_share: float = 0.05
    """Share of the training rows that is held back to stop early by and to tune on."""
    tune: str | None = None
    """A split to tune on, in place of a share of the training rows."""
    share: float = 1.0
    """Share of what is then left that is trained on, to see how much of it is needed."""
    batch_size: int = 32
    pad_multiple: int = 8
    num_tokens: int | None = None
    """The most tokens of a batch of documents, padding included; None for no limit."""

    def __post_init__(self) -> None:
        if not 0 < self.tune_share < 1:
            raise ValueError(f"tune_share must be between 0 and 1, got {self.tune_share}")
        if not 0 < self.share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {self.share}")
        if self.batch_size < 1 or self.pad_multiple < 1:
            raise ValueError("batch_size and pad_multiple must be positive")
        if self.num_tokens is not None and self.num_tokens < 1:
            raise ValueError(f"num_tokens must be positive, got {self.num_tokens}")


@dataclass(frozen=True, kw_only=True, slots=True)
class TagSettings:
    """How tags stand in files, and how they are learnt."""

    given: Literal["auto", "plain", "iob1", "iob2", "bioes", "bmes"] = "auto"
    """`"auto"` looks at the training file; `"plain"` tags stand for no spans."""
    learnt: Literal["iob1", "iob2", "bioes", "bmes"] = "bioes"
    decoding: Literal["legal", "any"] = "legal"
    """Whether only sequences of tags that the scheme allows are answered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassifySettings:
    """How classes of texts are learnt, where they are those found in the training file."""

    metric: ClassMetric = "accuracy"
    """By which the run is steered."""
    smoothing: float = 0.0
    """Label smoothing of the loss."""
    consistency: float = 0.0
    """Weight of the agreement between two passes with different dropout (R-Drop)."""

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < 1:
            raise ValueError(f"smoothing must be in [0, 1), got {self.smoothing}")
        check_consistency(self.consistency)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadSettings(ReadingRules):
    """How questions are answered, and how that is learnt."""

    consistency: float = 0.0
    """Weight of the agreement between two passes with different dropout (R-Drop)."""

    def __post_init__(self) -> None:
        ReadingRules.__post_init__(self)
        check_consistency(self.consistency)

    @property
    def rules(self) -> ReadingRules:
        """What a bundle says of itself."""
        given = {each.name: getattr(self, each.name) for each in dataclasses.fields(ReadingRules)}
        return ReadingRules(**given)


Vocabularies = Literal["shared", "separate"]


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateSettings:
    """How texts to be written stand in files, are cut into batches, and are searched for."""

    languages: tuple[str, ...] = ()
    """Endings of two files that stand line by line, the source's first: `de,en` for train.de and
    train.en. Without them, rows have `source` and `target`."""
    vocabularies: Vocabularies = "shared"
    """One for both sides, or one for each, of `vocabulary.size` entries."""
    batch_tokens: int = 4096
    """Tokens of a batch on either side, padding included."""
    beam: int = 5
    """Width of the search by which dev is measured, beside greedy."""
    length_penalty: float = 1.0
    """Of that search; see `softquery.decoding.Ranking`."""

    def __post_init__(self) -> None:
        if len(self.languages) not in (0, 2) or len(set(self.languages)) != len(self.languages):
            raise ValueError(f"languages must be two endings, or none, got {self.languages}")
        if self.vocabularies not in get_args(Vocabularies):
            raise ValueError(
                f"vocabularies must be one of {get_args(Vocabularies)}, got {self.vocabularies!r}"
            )
        if self.batch_tokens < 1 or self.beam < 1 or not self.length_penalty >= 0:
            raise ValueError(
                "batch_tokens and beam must be positive, and length_penalty not negative"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class BertSettings:
    """The encoder under a head: where it comes from, and how much of it learns along."""

    bundle: str = ""
    """A pretrained BERT, by its name or its folder; its sizes and its vocabulary are taken."""
    weights: Literal["pretrained", "random"] = "pretrained"
    """`"random"` takes no more than sizes and vocabulary, and without a bundle learns pieces from
    the training text: to see what pretraining is worth."""
    tuned_layers: int | None = None
    """How many of the highest layers learn along; none for all of them and the embeddings, 0 for
    the head alone."""

    def __post_init__(self) -> None:
        if self.tuned_layers is not None and self.tuned_layers < 0:
            raise ValueError(f"tuned_layers must not be negative, got {self.tuned_layers}")


ModelConfig = (
    EsimConfig
    | SiameseConfig
    | BiLstmTaggerConfig
    | AttentiveConfig
    | HierarchicalConfig
    | BiDafConfig
    | BertClassifierConfig
    | BertMatcherConfig
    | BertTaggerConfig
    | BertReaderConfig
    | Seq2SeqConfig
    | TransformerConfig
)
Task = PairTask | Tagging | TextClassification | SpanReading | Generation


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Everything that determines a training run of a model of a task, its data aside."""

    name: str
    summary: str
    model: ModelConfig
    task: Task | None = None
    """Without one, classes and tags are those found in the training file."""
    tags: TagSettings | None = None
    """For taggers."""
    classes: ClassifySettings | None = None
    """For classifiers of texts."""
    writing: GenerateSettings | None = None
    """For models that write."""
    reading: ReadSettings | None = None
    """For readers."""
    text: TextConfig = field(default_factory=TextConfig)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    vectors: tuple[str, ...] = ()
    """Files of pretrained word vectors, laid side by side."""
    elmo: ElmoSettings | None = None
    """A biLM that gives the words vectors in their context."""
    bert: BertSettings | None = None
    """A pretrained encoder under a head."""
    data: Files = field(default_factory=Files)
    optim: Optim = field(default_factory=Optim)
    schedule: Schedule = field(default_factory=Schedule)
    training: Training = field(default_factory=Training)

    def __post_init__(self) -> None:
        if not 0 <= self.training.seed < 2**32:
            raise ValueError(f"seed must be from 0 to {2**32 - 1:,}, got {self.training.seed:,}")

    def model_name(self) -> str:
        """The model's name in a bundle."""
        known: dict[str, tuple[Any, Any]] = {
            **MODELS,
            **TEXT_MODELS,
            **CLASSIFIERS,
            **READERS,
            **BERT_HEADS,
            **GENERATORS,
        }
        return next(name for name, (config, _) in known.items() if isinstance(self.model, config))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for `run.json`."""
        return {**dataclasses.asdict(self), "model_name": self.model_name()}
