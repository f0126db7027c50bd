"""ELMo inside another model: the one place where a recipe puts a model into another."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from softquery.bundle import read_bundle
from softquery.data import Texts
from softquery.errors import BundleError, ConfigError
from softquery.models import Elmo, TaggerConfig
from softquery.nn import ElmoEmbedder, ElmoSettings
from softquery.recipes.run import Run
from softquery.recipes.work import Say
from softquery.runtime.nested import PREFIX
from softquery.runtime.network import load_embedder
from softquery.text import SUBWORDS, TextPipeline, spell_vocabulary
from softquery.training import Training
from softquery.zoo import resolve

Data = TypeVar("Data")
Loss = Callable[[Any, Any], Tensor]


def nested_elmo(run: Run, settings: ElmoSettings, pipeline: TextPipeline, say: Say) -> ElmoEmbedder:
    """A bundle's biLM as an embedder for the words of this run."""
    if not settings.bundle:
        raise ConfigError(f"{run.name} needs a biLM; name its bundle with --set elmo.bundle=DIR")
    if run.text.unit in SUBWORDS:
        raise ConfigError(f"ELMo reads words, not pieces of them; text.unit is {run.text.unit!r}")
    bundle = read_bundle(resolve(settings.bundle))
    if bundle.config.model["name"] != "elmo":
        raise BundleError(f"{bundle.path}: expected an elmo, found {bundle.config.model['name']!r}")
    given = load_embedder(bundle)
    bilm = Elmo(replace(given.config, softmax=replace(given.config.softmax, kind="none")))
    own = bilm.state_dict()
    bilm.load_state_dict({name: v for name, v in given.state_dict().items() if name in own})
    longest = bilm.config.characters.max_characters
    # Models of one text bring a lexicon with each batch; to others the vocabulary is spelt once.
    reads_lexicon = isinstance(run.model, TaggerConfig)
    entries = pipeline.vocabulary()
    characters = spell_vocabulary(entries, longest)[: 0 if reads_lexicon else None]
    places = " and ".join(settings.places)
    say(f"{bundle.path}: {bilm.output_size} wide at the {places}, {settings.tuning}")
    try:
        return settings.embedder(
            bilm,
            torch.from_numpy(characters),
            word_size=run.model.embedding_size,
            ends="there" if run.text.boundaries else "added",
            num_words=len(entries),
            word_dropout=getattr(run.model, "word_dropout", 0.0),
        )
    except ValueError as error:
        raise ConfigError(f"elmo: {error}") from None


def spelt_alike(run: Run, embedder: ElmoEmbedder) -> Run:
    """The run with words spelt as the biLM reads them."""
    bilm = embedder.bilm
    if not isinstance(run.model, TaggerConfig) or not isinstance(bilm, Elmo):
        return run
    longest = bilm.config.characters.max_characters
    try:
        spelling = replace(run.model.spelling, max_characters=longest)
    except ValueError as error:
        raise ConfigError(f"model.spelling: {error}") from None
    return replace(run, model=replace(run.model, spelling=spelling))


def read_beforehand(data: Data, model: nn.Module) -> Data:
    """Data whose words a frozen biLM has read, so that each is read once and not once an epoch."""
    embedder = model.embedder
    if not isinstance(embedder, ElmoEmbedder) or not isinstance(data, Texts):
        return data
    return replace(data, lexicon=embedder.read(data.lexicon))


def base_of(model: nn.Module) -> str | None:
    """The zoo's name of the biLM inside, where that is what was asked for and it stays frozen."""
    embedder = model.embedder
    if not isinstance(embedder, ElmoEmbedder) or embedder.settings is None:
        return None
    name = embedder.settings.bundle
    is_folder = Path(name).is_dir() or len(Path(name).parts) > 1
    return None if is_folder or embedder.tuning == "tuned" else name


def own_weights(model: nn.Module, base: str | None) -> dict[str, NDArray[Any]]:
    """What a bundle stores: all weights, but none of a base that is found by its name."""
    return {
        name: value.cpu().numpy()
        for name, value in model.state_dict().items()
        if base is None or not name.startswith(PREFIX)
    }


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
