"""The encoder under a head: sizes, vocabulary and weights from a pretrained bundle.

It comes by `--init BUNDLE` or by `--set bert.bundle=BUNDLE`, ours or an imported one.
"""

from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from torch import nn

from softquery.answers import ReadingRules
from softquery.bundle import Bundle, read_bundle
from softquery.errors import BundleError, ConfigError
from softquery.models import (
    Bert,
    BertClassifier,
    BertConfig,
    BertHead,
    BertMatcher,
    BertMatcherConfig,
    BertReader,
    BertReaderConfig,
    BertTagger,
)
from softquery.recipes.run import BertSettings, Run
from softquery.running.adapter import Say
from softquery.running.bert_start import SIZES
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.torch_models import load_encoder
from softquery.text import TextPipeline
from softquery.zoo import resolve

INSIDE = "encoder."


@dataclass(frozen=True, slots=True)
class BertBase:
    """A pretrained encoder that a run puts a head on."""

    bundle: Bundle
    model: Bert
    pipeline: TextPipeline

    def shape(self, run: Run, say: Say) -> Run:
        """The run with the bundle's sizes; dropout stays the run's own."""
        if self.model.config.direction != "both":
            raise ConfigError(f"{self.bundle.path}: reads from the left alone; a head needs both")
        own: Any = run.model
        taken = {name: getattr(self.model.config, name) for name in SIZES}
        say(
            f"{self.bundle.path}: {taken['num_layers']} layers of {taken['hidden_size']}, "
            f"{taken['vocab_size']:,} pieces"
        )
        return replace(run, model=replace(own, encoder=replace(own.encoder, **taken)))

    def fill(self, model: BertHead, say: Say) -> None:
        """Take over every weight of the encoder."""
        own = model.state_dict()
        given = {f"{INSIDE}{name}": value for name, value in self.model.state_dict().items()}
        fitting = {name: value for name, value in given.items() if name in own}
        model.load_state_dict({**own, **fitting})
        fresh = sorted(set(own) - set(fitting))
        say(f"started from {len(fitting)} of {len(own)} weights; new: {', '.join(fresh)}")


def with_base(run: Run, init: str | PathLike[str] | None) -> tuple[Run, str | PathLike[str] | None]:
    """The run with `--init` as its base where that names a pretrained encoder, and what is left."""
    if run.bert is None or init is None or read_bundle(resolve(init)).config.kind != "encoder":
        return run, init
    return replace(run, bert=replace(run.bert, bundle=str(init))), None


def read_base(run: Run, init: str | PathLike[str] | None) -> BertBase | None:
    """Open what the run's head stands on; None where it learns by itself or goes on."""
    if run.bert is None or init is not None:
        return None
    if not run.bert.bundle:
        if run.bert.weights == "random":
            return None
        raise ConfigError(
            f"{run.name} needs a pretrained BERT; name its bundle with --init DIR or "
            "--set bert.bundle=DIR, or start from none with --set bert.weights=random"
        )
    bundle = read_bundle(resolve(run.bert.bundle))
    if bundle.config.model["name"] != "bert":
        raise BundleError(f"{bundle.path}: expected a bert, found {bundle.config.model['name']!r}")
    return BertBase(bundle, load_encoder(bundle), fitting_pipeline(bundle))


def fitting_text(
    run: Run, pipeline: TextPipeline | None, say: Say, *, goes_on: bool
) -> tuple[Run, TextPipeline | None]:
    """The run and its text pipeline, both cut where the encoder's positions end.

    Args:
        run: With its encoder's sizes.
        pipeline: Of the bundle that it stands on or goes on from; None where pieces are learnt.
        say: Told of a limit.
        goes_on: Whether the bundle's own limit is kept, rather than the recipe's.
    """
    if run.vectors:
        raise ConfigError(f"--vectors: {run.name} learns the vectors of its pieces by itself")
    if run.text.unit != "bert" or not run.text.boundaries:
        raise ConfigError("text.unit must be bert, and text.boundaries true, for a BERT inside")
    if pipeline is not None:
        cut = pipeline.config.max_tokens if goes_on else run.text.max_tokens
        run = replace(run, text=replace(pipeline.config, boundaries=True, max_tokens=cut))
    limit = _room(run)
    if run.text.max_tokens > limit:
        positions = run.model.encoder.max_length  # type: ignore[union-attr]
        say(f"the encoder has {positions} positions: {limit} pieces {_parts(run)} are read")
        run = replace(run, text=replace(run.text, max_tokens=limit))
    if run.reading is not None:  # every answer must lie within one window
        step = max(1, min(run.reading.step, run.text.max_tokens - run.reading.max_words))
        run = replace(run, reading=replace(run.reading, step=step))
    if pipeline is not None:
        pipeline = TextPipeline(pipeline.tokenizer, run.text)
    return run, pipeline


def _room(run: Run) -> int:
    """The most pieces of a text, its marks included; of a reader's context, without them."""
    encoder: BertConfig = run.model.encoder  # type: ignore[union-attr]
    # Batches are padded to a multiple.
    room = encoder.max_length - encoder.max_length % run.data.pad_multiple
    if isinstance(run.model, BertMatcherConfig):
        room = (room + 1) // 2
    elif isinstance(run.model, BertReaderConfig):
        room -= 3 + (ReadingRules() if run.reading is None else run.reading).max_question
    if room < 3:
        raise ConfigError(
            f"model.encoder.max_length ({encoder.max_length}) leaves no room for a text"
        )
    return room


def _parts(run: Run) -> str:
    """What is read at a time."""
    if isinstance(run.model, BertMatcherConfig):
        return "of each side"
    return "of a context at a time" if isinstance(run.model, BertReaderConfig) else "of a text"


def stand(model: nn.Module, settings: BertSettings, base: BertBase | None, say: Say) -> None:
    """Put a fresh head on what it stands on, and keep of that as it is what is not to learn."""
    if not isinstance(model, (BertClassifier, BertMatcher, BertTagger, BertReader)):
        raise TypeError(f"expected a BERT with a head, got {type(model).__name__}")
    if base is not None and settings.weights == "pretrained":
        base.fill(model, say)
    if settings.tuned_layers is not None:
        freeze(model, settings.tuned_layers)
        learning = sum(each.requires_grad for each in model.parameters())
        all_of_them = sum(1 for _ in model.parameters())
        say(
            f"{learning} of {all_of_them} weights learn: the head, and {settings.tuned_layers} of "
            f"{model.config.encoder.num_layers} layers"
        )


def freeze(model: BertHead, tuned_layers: int) -> None:
    """Keep what is not to learn as it is: all but the highest layers and the head."""
    if tuned_layers > (layers := model.config.encoder.num_layers):
        raise ConfigError(
            f"bert.tuned_layers ({tuned_layers}) exceeds the encoder's {layers} layers"
        )
    for name, parameter in model.encoder.named_parameters():
        parameter.requires_grad_(model.encoder.layers_above(name) <= tuned_layers)
