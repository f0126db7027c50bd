"""A small biLM as a bundle."""

from pathlib import Path

from elmo_cases import ENTRIES, ElmoCase
from softquery import __version__
from softquery.bundle import BundleConfig, write_bundle
from softquery.models import Elmo
from softquery.runtime.network import config_of
from softquery.text import TextConfig, pipeline_from_words


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
