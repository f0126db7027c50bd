"""Export a biLM: write its graphs, check them against torch, store its weights as int8.

int8 is a way of storing: the runtime computes in float32. It is kept only where it costs little, in
perplexity where the bundle can still foresee words, else in the direction of the vectors. Writing
graphs needs onnx alone; torch, where it is there, checks them.
"""

import json
import math
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import RECORDS, Bundle, BundleConfig, read_bundle, with_section, write_bundle
from softquery.errors import BundleError, ConfigError, MissingExtra, counted
from softquery.export.accuracy_gate import AccuracyGate, ExportReport, per_cent_grown
from softquery.export.graph.builder import Graph
from softquery.export.graph.elmo import context_graph, read_graph
from softquery.export.quantise import quantise
from softquery.runtime.embed.bilm_sizes import BiLmSizes
from softquery.runtime.embed.bilm_weights import fitting
from softquery.runtime.embed.model import ContextEmbedder, open_embedder
from softquery.runtime.embed.word_layers import sizes_of
from softquery.runtime.graph_weights import SCALE, dequantised
from softquery.runtime.onnx_session import USED
from softquery.text import TextConfig, pipeline_from_words

Weights = dict[str, NDArray[Any]]
Text = TypeVar("Text")
Softmax = Literal["kept", "left out"]
SOFTMAX = "softmax."
"""What the names of its weights begin with."""
TOLERANCE = 1e-4
"""How far a float32 graph's numbers may lie from torch's, beside the largest of them."""
CHECKED_WORDS = 2_000
"""Words on which the graphs are compared with torch, and vectors with each other."""
GATE_WORDS = 30_000
"""Words, more or less, on which perplexity is measured."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """What of a bundle an export changes."""

    config: BundleConfig
    weights: Weights
    tokenizer_json: str


def export_embedder(
    bundle: Bundle,
    output: Path,
    *,
    int8: bool = False,
    limit: float = 0.5,
    texts: Iterable[str] = (),
    softmax: Softmax = "kept",
) -> ExportReport:
    """Write an exported bundle, whole or not at all.

    Args:
        bundle: An ELMo.
        output: Where it goes; the bundle's own folder is replaced.
        int8: Try int8.
        limit: Per cent of perplexity that int8 may cost; without a softmax, of the cosine between
            the vectors.
        texts: Text for the gate and the check.
        softmax: Whether what foresees words comes along, with the vocabulary it needs; embedding
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
    whole = _content(bundle)
    small = replace(whole, weights=quantise(whole.weights)) if int8 else whole
    gate = None
    with tempfile.TemporaryDirectory() as scratch:
        plain = _write(bundle, Path(scratch) / "float32", whole, sizes)
        checked = first_words(some, CHECKED_WORDS) or MADE_UP
        difference = _difference(bundle, plain, checked)
        if int8:
            tried = _write(bundle, Path(scratch) / "int8", small, sizes)
            gate = _gate(plain, tried, some, limit)
    accepted = gate is not None and gate.accepted
    kept = small if accepted else whole
    precision = "int8" if accepted else "float32"
    note: dict[str, Any] = {"precision": precision, "difference_from_torch": difference}
    note |= {"gate": asdict(gate)} if gate is not None else {}
    note["softmax"] = "kept" if any(n.startswith(SOFTMAX) for n in kept.weights) else "none"
    if softmax == "left out" and note["softmax"] == "kept":
        kept = _without_softmax(kept)
        note["softmax"] = softmax
    target = _write(bundle, output, kept, sizes, note)
    return ExportReport(
        bundle=target,
        precision=precision,
        difference=difference,
        gate=gate,
        size_bytes=sum(path.stat().st_size for path in target.rglob("*") if path.is_file()),
    )


def bilm_graphs(stored: Weights, sizes: BiLmSizes, prefix: str = "") -> list[Graph]:
    """The graphs `read` and `context` of a biLM, for its own bundle or for one around it.

    Args:
        stored: As float32, by torch's names.
        sizes: The biLM's.
        prefix: What stands before the names of its weights.
    """
    reader, ahead, _ = fitting(stored, sizes, prefix)
    return [read_graph(reader, sizes), context_graph(ahead, sizes)]


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


def _content(bundle: Bundle) -> Content:
    """All weights as float32, those that are no floats as they are."""
    stored = bundle.read_weights()
    try:
        wide = dequantised(stored)
        fitting(wide, sizes_of(bundle))
    except BundleError as error:
        raise BundleError(f"{bundle.weights_path}: {error}") from None
    for name, values in wide.items():
        if not np.isfinite(values).all():
            raise BundleError(f"{bundle.weights_path}: {name} holds a number that is not finite")
        if stored[name].dtype.kind != "f" and name + SCALE not in stored:
            wide[name] = stored[name]
    return Content(
        config=bundle.config,
        weights=wide,
        tokenizer_json=bundle.tokenizer_path.read_text(encoding="utf-8"),
    )


def _without_softmax(content: Content) -> Content:
    """The same as if it had come without one: no words are foreseen, so that none need names."""
    pipeline = pipeline_from_words([], TextConfig.from_dict(content.config.text))
    model = content.config.model
    settings = {**model["config"], "vocab_size": pipeline.vocab_size, "softmax": {"kind": "none"}}
    return Content(
        config=replace(content.config, model={**model, "config": settings}),
        weights={n: v for n, v in content.weights.items() if not n.startswith(SOFTMAX)},
        tokenizer_json=pipeline.tokenizer.to_str(),
    )


def _write(
    bundle: Bundle,
    output: Path,
    content: Content,
    sizes: BiLmSizes,
    note: Mapping[str, Any] | None = None,
) -> Path:
    graphs = bilm_graphs(dequantised(content.weights), sizes)
    files = {f"{graph.name}.onnx": graph.to_bytes() for graph in graphs}
    used = {graph.name: sorted(graph.used) for graph in graphs}
    files[USED] = (json.dumps(used, indent=1) + "\n").encode()
    records = bundle.path / RECORDS
    card = bundle.card if note is None else with_section(bundle.card, "Export", _told(note))
    return write_bundle(
        output,
        config=content.config,
        tokenizer_json=content.tokenizer_json,
        weights=content.weights,
        metrics={**bundle.metrics, **({} if note is None else {"export": note})},
        card=card,
        graphs=files,
        records=records if records.is_dir() else None,
        replace=output.exists(),
    )


def _told(note: Mapping[str, Any]) -> list[str]:
    """What the card says of an export."""
    lines = [f"- Weights: {note['precision']}."]
    gate = note.get("gate")
    if gate is not None:
        lines.append(
            f"- int8 {'was kept' if gate['accepted'] else 'was refused'}: {gate['metric']} "
            f"{gate['float32']:.4f} as float32, {gate['int8']:.4f} as int8, "
            f"on {counted(gate['n'], 'word')}."
        )
    if note["softmax"] != "kept":
        lines.append("- Without a softmax: it embeds; adapting it learns a new one.")
    return lines


def _difference(bundle: Bundle, exported: Path, texts: Sequence[str]) -> float | None:
    """The largest difference in a number between torch and the graphs; None without torch."""
    ours = open_embedder(exported, backend="onnx").embed(texts)
    model = _on_torch(bundle)
    if model is None:
        return None
    theirs = model.embed(texts)
    pairs = [pair for pair in zip(ours, theirs, strict=True) if pair[0].size]
    worst = max((float(np.abs(one - other).max()) for one, other in pairs), default=0.0)
    largest = max((float(np.abs(other).max()) for _, other in pairs), default=0.0)
    if not worst <= TOLERANCE * max(1.0, largest):
        raise BundleError(f"{bundle.path}: the exported graphs differ from torch by {worst:.1e}")
    return worst


def _on_torch(bundle: Bundle) -> ContextEmbedder | None:
    try:
        return open_embedder(bundle, backend="torch", device="cpu")
    except MissingExtra:
        return None


def _gate(plain: Path, small: Path, texts: Sequence[str], limit: float) -> AccuracyGate:
    one, other = read_bundle(plain), read_bundle(small)
    foresees = any(name.startswith(SOFTMAX) for name in one.read_weights())
    return (_by_perplexity if foresees else _by_cosine)(one, other, texts, limit)


def _by_perplexity(
    plain: Bundle, small: Bundle, texts: Sequence[str], limit: float
) -> AccuracyGate:
    """By how many per cent perplexity grows."""
    try:
        from softquery.runtime.embed.evaluate import perplexity
    except ImportError as error:
        if error.name and error.name.split(".")[0] in ("torch", "jaxtyping"):
            raise MissingExtra("train", needed_for="measuring perplexity") from None
        raise
    before, after = (perplexity(bundle, texts) for bundle in (plain, small))
    lost = per_cent_grown(before["perplexity"], after["perplexity"])
    return AccuracyGate(
        metric="perplexity",
        float32=before["perplexity"],
        int8=after["perplexity"],
        lost_points=lost,
        limit_points=limit,
        n=int(before["n"]),
        accepted=lost <= limit,
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
    return AccuracyGate(
        metric="cosine",
        float32=1.0,
        int8=cosine,
        lost_points=100 * (1 - cosine),
        limit_points=limit,
        n=len(one) // embedders[0].num_layers,
        accepted=100 * (1 - cosine) <= limit,
    )
