"""Exported matchers with random weights, which cost what trained ones cost."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

import softquery
from softquery.bench.sample_sentences import sentences
from softquery.bundle import BundleConfig, read_bundle, write_bundle
from softquery.export.match import export_matcher
from softquery.files import Row
from softquery.models import Decomposable, DecomposableConfig, Esim, EsimConfig
from softquery.runtime.torch_models import config_of
from softquery.text import TextConfig, build_pipeline

VOCABULARY = 27_599
"""Words, as many as a shipped matcher knows."""
MODELS: dict[str, tuple[Any, type[nn.Module]]] = {
    "esim": (EsimConfig, Esim),
    "decomposable": (DecomposableConfig, Decomposable),
}


def random_matcher(
    folder: Path, model: str = "esim", *, int8: bool = True, **settings: Any
) -> Path:
    """An exported matcher of these sizes and of the shipped vocabulary's size."""
    texts = sentences(1000)
    fill = (f"filler{number}" for number in range(VOCABULARY))
    pipeline = build_pipeline([*texts, *fill], TextConfig(max_tokens=256, boundaries=True))
    make_config, make_model = MODELS[model]
    torch.manual_seed(1)
    made = make_model(
        make_config(vocab_size=pipeline.vocab_size, output_size=3, embedding_size=150, **settings)
    )
    plain = write_bundle(
        folder / "plain",
        config=BundleConfig(
            kind="matcher",
            model={"name": model, "config": config_of(made)},
            task={"name": "match", "labels": ["a", "b", "c"]},
            text=pipeline.config.to_dict(),
            library_version=softquery.__version__,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={name: value.numpy() for name, value in made.state_dict().items()},
        metrics={},
        card="# random\n\nRandom weights, for timing.\n",
    )
    rows = [
        Row({"sentence1": one, "sentence2": other, "label": "a"}, number, "rows")
        for number, (one, other) in enumerate(zip(texts[:200], texts[200:400], strict=True), 1)
    ]
    output = folder / ("int8" if int8 else "float32")
    report = export_matcher(read_bundle(plain), output, int8=int8, limit=100, rows=rows)
    assert report.precision == output.name
    return output
