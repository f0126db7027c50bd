"""ELMo inside another model: the one place where a run puts a model into another."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from softquery.bundle import read_bundle, weights_fingerprint
from softquery.errors import BundleError, ConfigError
from softquery.models import Elmo
from softquery.nn import ElmoEmbedder, ElmoSettings
from softquery.recipes import Run
from softquery.running.run_options import Say
from softquery.runtime.inner.inner_weights import base_weights
from softquery.runtime.torch_models import elmo_inside, load_embedder
from softquery.text import SUBWORDS, TextPipeline
from softquery.training import Loss, Training
from softquery.zoo import resolve


def inner_elmo(run: Run, settings: ElmoSettings, pipeline: TextPipeline, say: Say) -> ElmoEmbedder:
    """A bundle's biLM as an embedder for the words of this run."""
    if not settings.bundle:
        raise ConfigError(f"{run.name} needs a biLM; name its bundle with --set elmo.bundle=DIR")
    if run.text.unit in SUBWORDS:
        raise ConfigError(f"ELMo reads words, not pieces of them; text.unit is {run.text.unit!r}")
    if run.text.boundaries and hasattr(run.model, "spelling"):
        raise ConfigError(f"text.boundaries must be false: {run.name} reads words without ends")
    bundle = read_bundle(resolve(settings.bundle))
    if bundle.config.model["name"] != "elmo":
        raise BundleError(f"{bundle.path}: expected an elmo, found {bundle.config.model['name']!r}")
    given = load_embedder(bundle)
    bilm = Elmo(replace(given.config, softmax=replace(given.config.softmax, kind="none")))
    own = bilm.state_dict()
    bilm.load_state_dict({name: v for name, v in given.state_dict().items() if name in own})
    longest = bilm.config.characters.max_characters
    places = " and ".join(settings.places)
    projected = f", projected to {settings.size}," if settings.size else ""
    say(f"{bundle.path}: {bilm.output_size} wide{projected} at the {places}, {settings.tuning}")
    try:
        return settings.embedder(
            bilm,
            # Every batch brings a lexicon: words are spelt as they are, known or not.
            torch.zeros(0, longest, dtype=torch.int16),
            word_size=getattr(run.model, "embedding_size", 0),
            ends="there" if run.text.boundaries else "added",
            num_words=pipeline.vocab_size,
            word_dropout=getattr(run.model, "word_dropout", 0.0),
        )
    except ValueError as error:
        raise ConfigError(f"elmo: {error}") from None
    except (RuntimeError, MemoryError):
        raise ConfigError("elmo: its sizes need too much memory") from None


def spelled_alike(run: Run, embedder: ElmoEmbedder) -> Run:
    """The run with words spelt as the biLM reads them."""
    bilm = embedder.bilm
    if not isinstance(bilm, Elmo):
        return run
    longest = bilm.config.characters.max_characters
    if hasattr(run.model, "max_characters"):
        return replace(run, model=replace(run.model, max_characters=longest))
    if not hasattr(run.model, "spelling"):
        return run
    try:
        spelling = replace(run.model.spelling, max_characters=longest)
    except ValueError as error:
        raise ConfigError(f"model.spelling: {error}") from None
    return replace(run, model=replace(run.model, spelling=spelling))


class Base(NamedTuple):
    """A bundle that a head finds by its name, and knows by its weights."""

    name: str
    fingerprint: str


def base_of(model: nn.Module) -> Base | None:
    """The biLM inside, where it was asked for by its name in the zoo and is still what lies there.

    One that learnt along, or that has changed meanwhile, is stored with the model instead.
    """
    embedder = elmo_inside(model)
    if embedder is None or embedder.settings is None:
        return None
    name = embedder.settings.bundle
    if Path(name).is_dir() or len(Path(name).parts) > 1 or embedder.tuning == "tuned":
        return None
    try:
        there = base_weights(read_bundle(resolve(name)))
    except BundleError:
        return None
    inside = _inside(embedder)
    same = inside.keys() == there.keys() and all(
        np.array_equal(values, there[key]) for key, values in inside.items()
    )
    return Base(name, weights_fingerprint(there)) if same else None


def known_by(model: nn.Module) -> dict[str, str]:
    """By what a resumed run knows a frozen biLM; it refuses one that has changed meanwhile.

    What was found in sentences is not in the checkpoint, and would be another's.
    """
    embedder = elmo_inside(model)
    if embedder is None or embedder.tuning == "tuned":
        return {}
    return {"elmo_weights": weights_fingerprint(_inside(embedder))}


def _inside(embedder: ElmoEmbedder) -> dict[str, NDArray[Any]]:
    return {name: value.cpu().numpy() for name, value in embedder.bilm.state_dict().items()}


def penalised(loss: Loss, model: nn.Module) -> Loss:
    """The task's loss, and what a mix of layers adds to it."""
    embedder = elmo_inside(model)
    if embedder is None:
        return loss

    def with_penalty(output: Any, batch: Any) -> Tensor:
        return loss(output, batch) + embedder.regulariser()

    return with_penalty


def recordable(run: Run) -> Training:
    """A biLM that learns along reads as many words as a batch has, which no recording can."""
    if run.elmo is not None and run.elmo.tuning == "tuned":
        return replace(run.training, graphs="off")
    return run.training
