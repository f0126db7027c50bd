"""ELMo inside a matcher: the one place where a recipe puts a model into another."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from softquery.bundle import read_bundle
from softquery.errors import BundleError, ConfigError
from softquery.models import Elmo
from softquery.nn import ElmoEmbedder, ElmoSettings
from softquery.recipes.prepare import Say
from softquery.recipes.run import Run
from softquery.runtime.network import load_embedder
from softquery.text import TextPipeline, spell_vocabulary
from softquery.training import Training
from softquery.zoo import resolve

Loss = Callable[[Any, Any], Tensor]


def nested_elmo(run: Run, settings: ElmoSettings, pipeline: TextPipeline, say: Say) -> ElmoEmbedder:
    """A bundle's biLM as an embedder for the words of this run."""
    if not settings.bundle:
        raise ConfigError(f"{run.name} needs a biLM; name its bundle with --set elmo.bundle=DIR")
    if run.text.unit in ("bpe", "wordpiece"):
        raise ConfigError(f"ELMo reads words, not pieces of them; text.unit is {run.text.unit!r}")
    bundle = read_bundle(resolve(settings.bundle))
    if bundle.config.model["name"] != "elmo":
        raise BundleError(f"{bundle.path}: expected an elmo, found {bundle.config.model['name']!r}")
    given = load_embedder(bundle)
    bilm = Elmo(replace(given.config, softmax=replace(given.config.softmax, kind="none")))
    own = bilm.state_dict()
    bilm.load_state_dict({name: v for name, v in given.state_dict().items() if name in own})
    characters = spell_vocabulary(pipeline.vocabulary(), bilm.config.characters.max_characters)
    places = " and ".join(settings.places)
    say(f"{bundle.path}: {bilm.output_size} wide at the {places}, {settings.tuning}")
    try:
        return settings.embedder(
            bilm,
            torch.from_numpy(characters),
            word_size=run.model.embedding_size,
            ends="there" if run.text.boundaries else "added",
        )
    except ValueError as error:
        raise ConfigError(f"elmo: {error}") from None


def penalised(loss: Loss, embedder: nn.Module) -> Loss:
    """The task's loss, and what a mix of layers adds to it."""
    if not isinstance(embedder, ElmoEmbedder):
        return loss

    def with_penalty(output: Any, batch: Any) -> Tensor:
        return loss(output, batch) + embedder.regulariser()

    return with_penalty


def recordable(run: Run) -> Training:
    """A biLM that learns along reads as many words as a batch has, which no recording can."""
    if run.elmo is not None and run.elmo.tuning == "tuned":
        return replace(run.training, graphs="off")
    return run.training
