"""Words to vectors, layer by layer, from whatever has them: what a probe looks into."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.errors import BundleError, InputError, MissingExtra
from softquery.files import VectorTable, read_vectors
from softquery.runtime.embed.word_layers import WordsInContext
from softquery.runtime.loading import Source, opened
from softquery.runtime.vectors.model import WordVectors, load_vectors

Layers = NDArray[np.float32]
"""Layers × words × width, of one sentence."""
CHUNK = 1024
"""Sentences that a probe asks for at a time."""
Advance = Callable[[int], object]
"""Is told how many sentences have been read."""
BATCH_WORDS = 8192
"""Words that a biLM reads at a time, padding included."""


class WordLayers(Protocol):
    """Anything that gives every word of a sentence a vector on each of its layers."""

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[Layers]:
        """One array per sentence; all have as many layers, all layers are equally wide."""


class VectorLayers:
    """Word vectors that know no context, as a single layer.

    A word that is not there is looked for in lower case; one that is not there either is zeros.

    Args:
        vectors: The words and their vectors.

    >>> vectors = VectorTable(["bank", "the"], np.eye(2, dtype=np.float32))
    >>> VectorLayers(vectors)([["The", "bank", "!"]])[0].tolist()
    [[[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]]
    """

    def __init__(self, vectors: VectorTable) -> None:
        self.rows = {word: row for row, word in enumerate(vectors.words)}
        nothing = np.zeros((1, vectors.size), dtype=np.float32)
        self.table = np.concatenate([vectors.matrix, nothing])

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[Layers]:
        """Look every word up."""
        return [self.table[[self._row(word) for word in each]][None] for each in sentences]

    def covers(self, word: str) -> bool:
        """Whether there is a vector for it."""
        return self._row(word) >= 0

    def _row(self, word: str) -> int:
        row = self.rows.get(word)
        return self.rows.get(word.lower(), -1) if row is None else row


def read_vector_layers(path: str | PathLike[str], words: Iterable[str]) -> VectorLayers:
    """Vectors from a file or a bundle, of which only those of some words are kept.

    Raises:
        BundleError: Where the bundle holds something else.
        InputError: Where there are none of them.
    """
    wanted = set(words)
    if Path(path).is_dir():
        source = VectorLayers(_kept(load_vectors(path), wanted))
    else:
        source = VectorLayers(read_vectors(path, keep=wanted | {word.lower() for word in wanted}))
    if not source.rows:
        raise InputError("holds no vector for any word of the text", source=path)
    return source


def _kept(vectors: WordVectors, wanted: set[str]) -> VectorTable:
    """A vector for each word that a bundle knows, or can put together from its n-grams."""
    tried = {word: vectors.vector(word) for word in sorted(wanted)}
    found = {word: each for word, each in tried.items() if each is not None}
    matrix = np.array(list(found.values()), dtype=np.float32)
    return VectorTable(list(found), matrix.reshape(len(found), vectors.vectors.size))


class ElmoLayers:
    """The layers of a biLM in torch; each sentence is read by itself, between its two ends.

    Args:
        model: An `Elmo`, on the device where it shall run.
    """

    def __init__(self, model: Any) -> None:
        self.model = model.eval()

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[Layers]:
        """Read every sentence, those of like length together."""
        found: dict[int, Layers] = {}
        for rows in batches([len(sentence) for sentence in sentences]):
            layers = self._read([sentences[row] for row in rows])
            for place, row in enumerate(rows):
                found[row] = layers[:, place, 1 : len(sentences[row]) + 1]
        return [found[row] for row in range(len(sentences))]

    def _read(self, sentences: list[Sequence[str]]) -> NDArray[np.float32]:
        """Layers × sentences × words with both ends × width; every distinct word is spelt once."""
        import torch

        from softquery.text import spell_sentences

        characters, mask = spell_sentences(sentences, self.model.config.characters.max_characters)
        types, places = np.unique(characters[mask], axis=0, return_inverse=True)
        device = next(self.model.parameters()).device
        with torch.inference_mode():
            known = torch.from_numpy(mask).to(device)
            vectors = self.model.read_tokens(torch.from_numpy(types).to(device))
            tokens = vectors.new_zeros(*mask.shape, vectors.shape[-1])
            tokens[known] = vectors[torch.from_numpy(places.ravel()).to(device)]
            layers: NDArray[np.float32] = (
                self.model.contextualise(tokens, known).layers.float().cpu().numpy()
            )
        return layers


def load_layers(name_or_path: str | PathLike[str], *, device: str | None = None) -> WordLayers:
    """A model by name or folder: a biLM's layers, or those of a generator's encoder.

    Args:
        name_or_path: Such as `"elmo-en"`, or a folder.
        device: Where torch shall run it.

    Raises:
        BundleError: Where the bundle is neither.
        MissingExtra: Where torch is needed, and not there.
    """
    bundle = opened(name_or_path)
    if bundle.config.kind != "generator":
        return load_elmo_layers(bundle, device=device)
    try:
        from softquery.runtime.probe.source_layers import load_source_layers
    except ImportError:
        raise MissingExtra("train", needed_for="reading an encoder's layers") from None
    return load_source_layers(bundle, device)


def load_elmo_layers(name_or_path: Source, *, device: str | None = None) -> WordLayers:
    """A biLM by name or folder.

    It runs on a GPU where there is one, else on ONNX Runtime where it was exported, else on torch.

    Args:
        name_or_path: Such as `"elmo-en"`, or a folder.
        device: Where torch shall run it.

    Raises:
        BundleError: Where the bundle is no biLM.
        MissingExtra: Without torch.
    """
    bundle = opened(name_or_path)
    name = bundle.config.model.get("name")
    if bundle.config.kind != "embedder":
        raise BundleError(f"{bundle.path}: expected a model of words in context, found {name!r}")
    chosen = device or ("cuda" if _has_gpu() else None)
    if chosen is None and bundle.is_exported:
        return WordsInContext.open(bundle).layers
    try:
        from softquery.runtime.torch_models import load_embedder
    except ImportError:
        raise MissingExtra("train", needed_for="reading a biLM's layers") from None
    return ElmoLayers(load_embedder(bundle).to(chosen or "cpu"))


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def with_mean(layers: Layers) -> Layers:
    """Several layers and, as one more, their mean: the mix before it has learnt anything."""
    if len(layers) == 1:
        return layers
    return np.concatenate([layers, layers.mean(axis=0, keepdims=True)])


def layer_names(num_layers: int) -> list[str]:
    """What `with_mean` gave, in words.

    >>> layer_names(1), layer_names(3)
    ([''], ['layer 0', 'layer 1', 'mean of layers'])
    """
    if num_layers == 1:
        return [""]
    return [*(f"layer {number}" for number in range(num_layers - 1)), "mean of layers"]


def read_layers(
    source: WordLayers, sentences: Sequence[Sequence[str]], advance: Advance
) -> Iterator[Layers]:
    """The layers of every sentence and their mean, a part of the text at a time."""
    for start in range(0, len(sentences), CHUNK):
        part = sentences[start : start + CHUNK]
        yield from (with_mean(layers) for layers in source(part))
        advance(len(part))


def batches(lengths: Sequence[int]) -> list[list[int]]:
    """Rows of like length together, as many as memory allows."""
    batches: list[list[int]] = []
    for row in np.argsort(lengths, kind="stable").tolist():
        size = lengths[row] + 2
        if not batches or (len(batches[-1]) + 1) * size > BATCH_WORDS:
            batches.append([])
        batches[-1].append(row)
    return batches
