"""A small biLM as a bundle."""

from pathlib import Path
from typing import Any

import torch

from elmo_cases import ENTRIES, ElmoCase
from softquery import __version__
from softquery.bundle import BundleConfig, read_bundle, write_bundle
from softquery.export import ExportReport, export_embedder
from softquery.models import Elmo, Esim, EsimConfig
from softquery.nn import ElmoSettings
from softquery.runtime.torch_models import config_of
from softquery.text import TextConfig, pipeline_from_words, spell_vocabulary


def write_elmo(folder: Path, model: Elmo | None = None, **changes: object) -> Path:
    """Write a biLM, that of a seed by default; `changes` are lies in its config."""
    model = model or ElmoCase().build()
    pipeline = pipeline_from_words(ENTRIES, TextConfig(lowercase=False, boundaries=True))
    return write_bundle(
        folder,
        config=BundleConfig(
            kind="embedder",
            model={"name": "elmo", "config": {**config_of(model), **changes}},
            task={"name": "language-model"},
            text=pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={name: value.numpy() for name, value in model.state_dict().items()},
        metrics={"n": 0},
        card="# a small biLM\n",
    )


def exported_elmo(folder: Path, model: Elmo | None = None, **options: Any) -> ExportReport:
    """Write a biLM as `FOLDER/plain`, and export it to `FOLDER/exported`."""
    plain = write_elmo(folder / "plain", model)
    return export_embedder(read_bundle(plain), folder / "exported", **options)


def write_esim_elmo(folder: Path, *, places: tuple[str, ...] = ("output",)) -> Path:
    """Write an ESIM with a biLM inside."""
    bilm = ElmoCase(softmax={"kind": "none"}).build()
    characters = torch.from_numpy(spell_vocabulary(ENTRIES, 9))
    settings = ElmoSettings(places=places)  # type: ignore[arg-type]
    sizes = {"vocab_size": len(ENTRIES), "embedding_size": 5, "hidden_size": 6, "output_size": 2}
    model = Esim(
        EsimConfig(**sizes), settings.embedder(bilm, characters, word_size=5, ends="added")
    )
    pipeline = pipeline_from_words(ENTRIES, TextConfig(lowercase=False))
    return write_bundle(
        folder,
        config=BundleConfig(
            kind="matcher",
            model={"name": "esim", "config": config_of(model)},
            task={"name": "match", "labels": ["no", "yes"]},
            text=pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={name: value.numpy() for name, value in model.state_dict().items()},
        metrics={"n": 0},
        card="# a small matcher with a biLM inside\n",
    )
