"""A bundle's model as a torch module. The only part of the runtime that needs torch."""

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from softquery.bundle import Bundle
from softquery.data import Pairs, PiecePairs, Texts, WordPieces, in_order
from softquery.errors import BundleError
from softquery.models import Bert, BertHead, BiLstmTagger, Elmo, TagOutput, models_of
from softquery.models.registry import ModelEntry
from softquery.nn import ElmoEmbedder, ElmoSettings
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.inner.inner_weights import INNER as KEY
from softquery.runtime.inner.torch import InnerEmbedder, describe, with_base
from softquery.runtime.tag.backend import Chain, Floats

Model = TypeVar("Model", bound=nn.Module)
TASKS = ("matcher", "sentence-encoder", "tagger", "classifier", "reader", "generator")
"""Kinds of bundles whose model answers a task."""


def build_model(
    name: str, settings: dict[str, Any], embedder: ElmoEmbedder | None = None
) -> nn.Module:
    """The model of a task that a bundle's config describes, with random weights.

    Args:
        name: The model's name in the registry.
        settings: Its config as plain values, with those of a biLM inside where it has one.
        embedder: A biLM to put inside instead.
    """
    entry = _entry(name, "model", *TASKS)
    own = {key: value for key, value in settings.items() if key != KEY}
    if embedder is None and KEY in settings:
        embedder = _inner_embedder(settings[KEY])
    model: nn.Module = _built(name, own, entry, embedder)
    return model


def _entry(name: str, noun: str, *kinds: str) -> ModelEntry:
    known = models_of(*kinds)
    if name not in known:
        raise BundleError(f"unknown {noun} {name!r} (known: {', '.join(known)})")
    return known[name]


def _inner_embedder(settings: dict[str, Any]) -> ElmoEmbedder:
    """The biLM inside another model."""
    try:
        return InnerEmbedder(**settings).build(
            build_embedder,
            lambda values: _config(KEY, values, ElmoSettings),
        )
    except (TypeError, ValueError) as error:
        raise BundleError(f"{KEY} cannot be built: {_first_line(error)}") from None
    except (RuntimeError, MemoryError, OverflowError):
        raise BundleError(f"{KEY} cannot be built: its sizes need too much memory") from None


def build_embedder(name: str, settings: dict[str, Any]) -> Elmo:
    """The model of word vectors that a bundle's config describes, with random weights."""
    model: Elmo = _built(name, settings, _entry(name, "embedder", "embedder"))
    return model


def build_encoder(name: str, settings: dict[str, Any]) -> Bert:
    """The pretrained encoder that a bundle's config describes, with random weights."""
    model: Bert = _built(name, settings, _entry(name, "encoder", "encoder"))
    return model


def _built(
    name: str, settings: dict[str, Any], entry: ModelEntry, embedder: nn.Module | None = None
) -> Any:
    inside = [] if embedder is None else [embedder]
    try:
        return entry.module(_config(name, settings, entry.config), *inside)
    except (TypeError, ValueError) as error:
        raise BundleError(f"{name} cannot be built: {_first_line(error)}") from None
    except (RuntimeError, MemoryError, OverflowError):
        raise BundleError(f"{name} cannot be built: its sizes need too much memory") from None


def _first_line(error: Exception) -> str:
    """What an error says; torch adds a trace of its own."""
    return next(iter(str(error).splitlines()), "")


def _config(name: str, settings: dict[str, Any], config_class: Any) -> Any:
    """A config dataclass from plain values; its groups are dataclasses, too."""
    kinds = get_type_hints(config_class)
    if unknown := sorted(set(settings) - set(kinds)):
        raise BundleError(f"{name} has no setting {unknown[0]!r}")
    plain = {
        key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()
    }
    for key, value in settings.items():
        if dataclasses.is_dataclass(kinds[key]):
            if not isinstance(value, dict):
                raise ValueError(f"{key} must be a group of settings, got {value!r:.40}")
            plain[key] = _config(f"{name}.{key}", value, kinds[key])
    return config_class(**plain)


def load_task_model(bundle: Bundle) -> Any:
    """The model of a bundle with its weights, in evaluation mode."""
    return _loaded(bundle, build_model)


def load_matcher_model(bundle: Bundle) -> Any:
    """The matcher of a bundle that reads each text by itself, with its weights."""
    model = load_task_model(bundle)
    entry = _entry(bundle.config.model["name"], "model", *TASKS)
    if entry.kind != "matcher" or entry.has_encoder:
        raise BundleError(f"{bundle.path}: expected a matcher, found a {bundle.config.kind}")
    return model


def load_tagger(bundle: Bundle) -> BiLstmTagger:
    """The BiLSTM tagger of a bundle, with its weights."""
    model = load_task_model(bundle)
    if not isinstance(model, BiLstmTagger):
        raise BundleError(f"{bundle.path}: expected a tagger, found a {bundle.config.kind}")
    return model


def load_bert_head(bundle: Bundle) -> BertHead:
    """The BERT with a head of a bundle, with its weights."""
    model: BertHead = load_task_model(bundle)
    if not _entry(bundle.config.model["name"], "model", *TASKS).has_encoder:
        raise BundleError(f"{bundle.path}: expected a BERT with a head, found another model")
    return model


def load_embedder(bundle: Bundle) -> Elmo:
    """The biLM of a bundle of word vectors in context, with its weights."""
    return _loaded(bundle, build_embedder)


def load_encoder(bundle: Bundle) -> Bert:
    """The pretrained encoder of a bundle, with its weights."""
    return _loaded(bundle, build_encoder)


def _loaded(bundle: Bundle, build: Callable[[str, dict[str, Any]], Model]) -> Model:
    try:
        model = build(bundle.config.model["name"], bundle.config.model["config"])
    except BundleError as error:
        raise BundleError(f"{bundle.path / 'config.json'}: {error}") from None
    try:
        stored = with_base(bundle, dequantised(bundle.read_weights()))
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
    config: Any = model.config
    embedder = elmo_inside(model)
    inner = {} if embedder is None else {KEY: describe(embedder)}
    return {**dataclasses.asdict(config), **inner}


def elmo_inside(model: nn.Module) -> ElmoEmbedder | None:
    """The inner embedder of a model; None where it reads a table of words, or has no embedder."""
    embedder = getattr(model, "embedder", None)
    return embedder if isinstance(embedder, ElmoEmbedder) else None


def max_characters(config: object) -> int:
    """Symbols by which a model's words are spelt; a few where it reads no characters."""
    spelling = getattr(config, "spelling", None)
    return 3 if spelling is None else int(spelling.max_characters)


@torch.inference_mode()
def tag_scores(
    model: nn.Module, texts: Texts | WordPieces, *, batch_size: int = 256
) -> tuple[list[Floats], Chain | None]:
    """Scores [T, C] of the tags of every sentence, in their order, and of tags in a chain."""
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    lengths = texts.lengths().cpu()
    counts = texts.num_words().cpu() if isinstance(texts, WordPieces) else lengths
    scores: list[Floats] = [np.empty((0, 0), dtype=np.float32)] * len(texts)
    chain = None
    for slot in in_order(lengths, batch_size=batch_size):
        output: TagOutput = model(texts.batch(slot.rows.to(device), slot.length))
        found = output.logits.float().cpu().numpy()
        for place, row in enumerate(slot.rows.tolist()):
            scores[row] = found[place, : int(counts[row])]
        if chain is None and output.transitions is not None:
            chain = Chain(*(part.float().cpu().numpy() for part in output.transitions))
    model.train(was_training)
    return scores, chain


@torch.inference_mode()
def pair_logits(
    model: nn.Module, pairs: Pairs | PiecePairs, *, batch_size: int = 256
) -> Float[Tensor, "N C"]:
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
