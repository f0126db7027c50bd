"""Can the part of speech of a word be read off a model's layers by a linear classifier?"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError
from softquery.files import TAGGED_FORMS, TaggedSentence, find_split, read_tagged
from softquery.measure.linear_probe import fit_linear
from softquery.measure.probe_scores import ProbeReport
from softquery.runtime.probe.layers import Advance, WordLayers, layer_names, read_layers

BASELINE = "commonest tag"
TRAIN, MEASURED = "train", "dev"


class Labelled(NamedTuple):
    """Words and their tags, one each."""

    tokens: list[str]
    tags: list[str]


@dataclass(frozen=True, slots=True)
class TagSets:
    """Text to learn tags from, and text to measure on."""

    train: list[Labelled]
    dev: list[Labelled]

    def words(self) -> set[str]:
        """Every token of both."""
        return {token for each in (*self.train, *self.dev) for token in each.tokens}

    @property
    def num_sentences(self) -> int:
        """Of both."""
        return len(self.train) + len(self.dev)


def read_tag_sets(folder: str | PathLike[str]) -> TagSets:
    """`train` and `dev` of a folder in any form that has tags, such as `train.conllu.xz`."""
    paths = [find_split(folder, split, forms=TAGGED_FORMS) for split in (TRAIN, MEASURED)]
    return TagSets(*([_with_tags(each) for each in read_tagged(path)] for path in paths))


def _with_tags(sentence: TaggedSentence) -> Labelled:
    """The sentence, unless a word of it is left without a tag (`_` in CoNLL-U)."""
    tags = sentence.tags or []
    if "_" in tags:
        row = sentence.rows[tags.index("_")]
        raise InputError("expected a tag for this word, found _", source=sentence.source, row=row)
    return Labelled(sentence.tokens, tags)


def probe_tags(
    sets: TagSets,
    sources: Mapping[str, WordLayers],
    advance: Advance = lambda done: None,
    *,
    penalty: float = 1e-5,
) -> ProbeReport:
    """Fit a linear classifier to each layer of each source and measure it on dev.

    Args:
        sets: What to learn from and to measure on.
        sources: Names, and what gives vectors to words.
        advance: Is told of progress.
        penalty: Of the classifiers' squared weights.

    Returns:
        The commonest tag of each word as a baseline, then every layer of every source.
    """
    gold = [tag for sentence in sets.dev for tag in sentence.tags]
    places = [number for number, each in enumerate(sets.dev) for _ in each.tokens]
    probed = ProbeReport(np.array(places, dtype=np.int64), (BASELINE,))
    probed.add(BASELINE, _right(_commonest(sets), gold))
    for source_name, source in sources.items():
        seen, asked = (_stacked(source, part, advance) for part in (sets.train, sets.dev))
        labels = [f"{source_name} {name}".strip() for name in layer_names(len(seen))]
        for label, vectors, measured in zip(labels, seen, asked, strict=True):
            probed.add(label, _right(_predicted(sets, vectors, measured, penalty), gold))
        probed.families.append(labels)
    return probed


def _right(answers: list[str], gold: list[str]) -> list[bool]:
    return [answer == tag for answer, tag in zip(answers, gold, strict=True)]


def _commonest(sets: TagSets) -> list[str]:
    """The tag that each word of dev had most often in train; the commonest of all for new words."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sets.train:
        for token, tag in zip(sentence.tokens, sentence.tags, strict=True):
            counts[token][tag] += 1
    known = {token: found.most_common(1)[0][0] for token, found in counts.items()}
    of_all = sum(counts.values(), Counter()).most_common(1)[0][0]
    return [known.get(token, of_all) for sentence in sets.dev for token in sentence.tokens]


def _stacked(
    source: WordLayers, sentences: list[Labelled], advance: Advance
) -> NDArray[np.float32]:
    """Layers × words of all sentences × width."""
    num_words = sum(len(sentence.tokens) for sentence in sentences)
    stacked: NDArray[np.float32] | None = None
    start = 0
    for layers in read_layers(source, [sentence.tokens for sentence in sentences], advance):
        if stacked is None:  # filled piece by piece, so that nothing lies in memory twice
            stacked = np.empty((len(layers), num_words, layers.shape[2]), dtype=np.float32)
        stacked[:, start : start + layers.shape[1]] = layers
        start += layers.shape[1]
    if stacked is None:
        raise InputError("there is no sentence to read")
    return stacked


def _predicted(
    sets: TagSets, vectors: NDArray[np.float32], asked: NDArray[np.float32], penalty: float
) -> list[str]:
    tags = [tag for sentence in sets.train for tag in sentence.tags]
    names, classes = np.unique(tags, return_inverse=True)
    probe = fit_linear(vectors, classes, num_classes=len(names), penalty=penalty)
    predicted: list[str] = names[probe.predict(asked)].tolist()
    return predicted
