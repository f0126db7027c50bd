"""Export a biLM: write its graphs, check them against torch, store its weights as int8.

int8 is a way of storing: the runtime computes in float32. It is kept only where it costs little, in
perplexity where the bundle can still predict words, else in the direction of the vectors. Writing
graphs needs onnx alone; torch, where it is there, checks them.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from softquery.bundle import Bundle, read_bundle
from softquery.errors import BundleError, ConfigError, MissingExtra
from softquery.export.accuracy_gate import AccuracyGate, ExportReport, per_cent_grown
from softquery.export.graph.elmo import bilm_graphs
from softquery.export.quantise import quantise
from softquery.export.trial import Difference, Form, Trial, Weights
from softquery.runtime.embed.elmo import bilm_weights, sizes_of
from softquery.runtime.embed.model import ContextEmbedder, open_embedder
from softquery.runtime.graph_weights import SCALE, dequantised
from softquery.runtime.graphs import stored_weights
from softquery.runtime.inner.inner_weights import SOFTMAX
from softquery.runtime.loading import needs_torch
from softquery.text import TextConfig, pipeline_from_words

Text = TypeVar("Text")
Softmax = Literal["kept", "left out"]
CHECKED_WORDS = 2_000
"""Words on which the graphs are compared with torch, and vectors with each other."""
GATE_WORDS = 30_000
"""Words, more or less, on which perplexity is measured."""


def export_embedder(
    bundle: Bundle,
    output: Path,
    *,
    int8: bool = False,
    limit: float = 0.5,
    texts: Iterable[str] = (),
    softmax: Softmax = "kept",
) -> ExportReport:
    """Write an exported embedder, whole or not at all.

    Args:
        bundle: An ELMo.
        output: Where it goes; the bundle's own folder is replaced.
        int8: Try int8.
        limit: Per cent of perplexity that int8 may cost; without a softmax, of the cosine between
            the vectors.
        texts: Text for the gate and the check.
        softmax: Whether what predicts words comes along, with the vocabulary it needs; embedding
            and nesting do without.
    """
    if bundle.config.kind != "embedder":
        raise BundleError(f"{bundle.path}: expected an embedder, found kind {bundle.config.kind!r}")
    if not math.isfinite(limit):
        raise ConfigError(f"the gate must be a finite number of per cent, got {limit}")
    sizes = sizes_of(bundle)
    some = first_words(texts, GATE_WORDS)
    if int8 and not some:
        raise ConfigError("int8 needs text for its gate; name a file with --data")
    weights = _checked_weights(bundle)
    checked = first_words(some, CHECKED_WORDS) or MADE_UP
    trial = Trial(
        bundle=bundle,
        difference=lambda exported: _difference(bundle, exported, checked),
        judge=lambda plain, small, allowed: _judge(plain, small, some, allowed),
        judged_on="word",
    )

    def form(stored: Weights) -> Form:
        return Form(
            config=bundle.config,
            weights=stored,
            graphs=lambda: bilm_graphs(dequantised(stored), sizes),
            softmax="kept" if any(name.startswith(SOFTMAX) for name in stored) else "none",
        )

    smaller = [form(quantise(weights))] if int8 else []
    finish = _without_softmax if softmax == "left out" else _as_it_is
    return trial.run(output, form(weights), smaller, limit, finish)


MADE_UP = [
    "The quick brown fox jumps over the lazy dog.",
    "Bank",
    "She sells sea-shells by the sea shore; the shells that she sells are sea-shells, I'm sure.",
    "naïve 漢字 \U0001f44d x",
]
"""Text for the check where none was given."""


def first_words(
    texts: Iterable[Text], most: int, *, read: Callable[[Text], str] = str
) -> list[Text]:
    """The first texts that hold about so many words.

    Args:
        texts: Strings, or what holds one.
        most: Words.
        read: The string of a text.

    >>> first_words(["one two", "three", "four"], 3)
    ['one two', 'three']
    """
    found: list[Text] = []
    count = 0
    for text in texts:
        found.append(text)
        count += len(read(text).split())
        if count >= most:
            break
    return found


def _checked_weights(bundle: Bundle) -> Weights:
    """All weights as float32, those that are no floats as they are."""
    stored = stored_weights(bundle)
    try:
        wide = dequantised(stored)
        bilm_weights(wide, sizes_of(bundle))
    except BundleError as error:
        raise BundleError(f"{bundle.weights_path}: {error}") from None
    return {
        name: values if stored[name].dtype.kind == "f" or name + SCALE in stored else stored[name]
        for name, values in wide.items()
    }


def _as_it_is(form: Form) -> Form:
    return form


def _without_softmax(form: Form) -> Form:
    """The same as if it had come without one: no words are predicted, so that none need names."""
    if form.softmax != "kept":
        return form
    pipeline = pipeline_from_words([], TextConfig.from_dict(form.config.text))
    model = form.config.model
    settings = {**model["config"], "vocab_size": pipeline.vocab_size, "softmax": {"kind": "none"}}
    return replace(
        form,
        config=replace(form.config, model={**model, "config": settings}),
        weights={n: v for n, v in form.weights.items() if not n.startswith(SOFTMAX)},
        tokenizer_json=pipeline.tokenizer.to_str(),
        softmax="left out",
    )


def _difference(bundle: Bundle, exported: Path, texts: Sequence[str]) -> Difference | None:
    """The largest difference in a number, beside the largest of them; None without torch."""
    ours = open_embedder(exported, backend="onnx").embed(texts)
    model = _on_torch(bundle)
    if model is None:
        return None
    theirs = model.embed(texts)
    pairs = [pair for pair in zip(ours, theirs, strict=True) if pair[0].size]
    worst = max((float(np.abs(one - other).max()) for one, other in pairs), default=0.0)
    largest = max((float(np.abs(other).max()) for _, other in pairs), default=0.0)
    return Difference(worst, max(1.0, largest))


def _on_torch(bundle: Bundle) -> ContextEmbedder | None:
    try:
        return open_embedder(bundle, backend="torch", device="cpu")
    except MissingExtra:
        return None


def _judge(plain: Path, small: Path, texts: Sequence[str], limit: float) -> AccuracyGate:
    one, other = read_bundle(plain), read_bundle(small)
    predicts = any(name.startswith(SOFTMAX) for name in one.read_weights())
    return (_by_perplexity if predicts else _by_cosine)(one, other, texts, limit)


def _by_perplexity(
    plain: Bundle, small: Bundle, texts: Sequence[str], limit: float
) -> AccuracyGate:
    """By how many per cent perplexity grows."""
    with needs_torch(needed_for="measuring perplexity"):
        from softquery.runtime.embed.evaluate import perplexity
    before, after = (perplexity(bundle, texts) for bundle in (plain, small))
    return AccuracyGate.decide(
        metric="perplexity",
        float32=before["perplexity"],
        int8=after["perplexity"],
        lost=per_cent_grown(before["perplexity"], after["perplexity"]),
        limit=limit,
        n=int(before["n"]),
    )


def _by_cosine(plain: Bundle, small: Bundle, texts: Sequence[str], limit: float) -> AccuracyGate:
    """By how many hundredths the vectors' mean cosine falls below one."""
    some = first_words(texts, CHECKED_WORDS)
    embedders: list[ContextEmbedder] = [
        open_embedder(each, backend="onnx") for each in (plain, small)
    ]
    one, other = (
        np.concatenate([each.reshape(-1, embedder.output_size) for each in embedder.embed(some)])
        for embedder in embedders
    )
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    cosine = float(np.mean(np.sum(one * other, axis=1) / np.maximum(lengths, 1e-12)))
    return AccuracyGate.decide(
        metric="cosine",
        float32=1.0,
        int8=cosine,
        lost=100 * (1 - cosine),
        limit=limit,
        n=len(one) // embedders[0].num_layers,
    )
