"""A model as a bundle on disk, for laws about what comes back."""

from pathlib import Path
from typing import Any

from torch import nn

from softquery import __version__
from softquery.bundle import Bundle, BundleConfig, read_bundle, write_bundle
from softquery.runtime.torch_models import config_of
from softquery.text import TextPipeline


def stored(
    model: nn.Module, case: Any, folder: Path, kind: str, pipeline: TextPipeline, **changes: Any
) -> Bundle:
    """Write a case's model and read the bundle, with some settings changed on the way."""
    write_bundle(
        folder,
        config=BundleConfig(
            kind=kind,
            model={"name": case.name, "config": {**config_of(model), **changes}},
            task=case.task.to_dict(),
            text=pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={name: value.numpy() for name, value in model.state_dict().items()},
        metrics={"n": 0},
        card="# a case\n",
    )
    return read_bundle(folder)
