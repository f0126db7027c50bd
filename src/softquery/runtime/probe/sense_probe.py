"""Do a model's layers tell the senses of a word apart? Nearest mean over SemCor, layer by layer."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike

import numpy as np

from softquery.errors import InputError, counted
from softquery.files.senses import (
    SensedSentence,
    SenseMention,
    find_senses,
    read_semcor,
    read_sense_task,
)
from softquery.measure.probe_scores import (
    ProbeReport,
    SenseDictionary,
    SenseMeans,
    build_dictionary,
)
from softquery.runtime.probe.layers import Advance, Layers, WordLayers, layer_names, read_layers

HELD_OUT = "semcor"
"""The name of what is held out of SemCor."""
FIRST, COMMONEST = "first sense", "commonest sense"


@dataclass(frozen=True, slots=True)
class SenseSets:
    """Text to learn senses from, and text to measure on."""

    train: list[SensedSentence]
    held_out: list[SensedSentence]
    others: dict[str, list[SensedSentence]]

    def words(self) -> set[str]:
        """Every token of all sets."""
        return {token for each in self._all() for sentence in each for token in sentence.tokens}

    @property
    def num_sentences(self) -> int:
        """How many sentences all sets have."""
        return sum(map(len, self._all()))

    def _all(self) -> list[list[SensedSentence]]:
        return [self.train, self.held_out, *self.others.values()]


def read_sense_sets(
    folder: str | PathLike[str], *, held_out: float = 0.1, seed: int = 1
) -> SenseSets:
    """SemCor with a share of its documents held out, and the other sets of a folder.

    Args:
        folder: With SemCor and any sets beside it, each a folder or an archive.
        held_out: Share of SemCor's documents to measure on.
        seed: Decides which ones.
    """
    files = find_senses(folder)
    sentences = read_semcor(files.semcor)
    documents = sorted({sentence.document for sentence in sentences})
    count = round(held_out * len(documents))
    if not 0 < count < len(documents):
        raise InputError(
            f"of {counted(len(documents), 'document')}, {held_out:.0%} cannot be held out",
            source=files.semcor,
        )
    chosen = np.random.default_rng(seed).permutation(len(documents))[:count]
    kept_back = {documents[place] for place in chosen}
    return SenseSets(
        [each for each in sentences if each.document not in kept_back],
        [each for each in sentences if each.document in kept_back],
        {name: read_sense_task(path) for name, path in files.others.items()},
    )


def probe_senses(
    sets: SenseSets,
    sources: Mapping[str, WordLayers],
    advance: Advance = lambda done: None,
) -> dict[str, ProbeReport]:
    """Find senses by the nearest mean, on each layer of each source.

    What is held out of SemCor is answered from the rest of it, the other sets from all of it.

    Args:
        sets: What to learn from and to measure on.
        sources: Names, and what gives vectors to words.
        advance: Is told of progress.

    Returns:
        By the name of the set: the two baselines, then every layer of every source.
    """
    dictionaries = _dictionaries(sets)
    found = {name: _baselines(tested, dictionaries[name]) for name, tested in _tested(sets).items()}
    for source_name, source in sources.items():
        answers = _answers(sets, source, dictionaries, advance)
        for set_name, (names, rows) in answers.items():
            labels = [f"{source_name} {name}".strip() for name in names]
            gold = _sensed(_tested(sets)[set_name])
            for place, label in enumerate(labels):
                _add(found[set_name], label, gold, [row[place] for row in rows])
            found[set_name].families.append(labels)
    return found


def _tested(sets: SenseSets) -> dict[str, list[SensedSentence]]:
    return {HELD_OUT: sets.held_out, **sets.others}


def _dictionaries(sets: SenseSets) -> dict[str, SenseDictionary]:
    """What is known of senses where each set is answered."""
    everywhere = _sensed([*sets.train, *sets.held_out])
    whole = build_dictionary(everywhere, everywhere)
    part = build_dictionary(_sensed(sets.train), everywhere)
    return {HELD_OUT: part, **dict.fromkeys(sets.others, whole)}


def _sensed(sentences: Iterable[SensedSentence]) -> list[SenseMention]:
    return [sensed for sentence in sentences for sensed in sentence.sensed]


def _baselines(tested: list[SensedSentence], dictionary: SenseDictionary) -> ProbeReport:
    places = [number for number, each in enumerate(tested) for _ in each.sensed]
    probed = ProbeReport(np.array(places, dtype=np.int64), (FIRST, COMMONEST))
    gold = _sensed(tested)
    _add(probed, FIRST, gold, [dictionary.first_sense(each.word) for each in gold])
    _add(probed, COMMONEST, gold, [dictionary.commonest(each.word) for each in gold])
    return probed


def _add(
    probed: ProbeReport, name: str, gold: list[SenseMention], answers: list[str | None]
) -> None:
    probed.add(
        name,
        (answer in each.senses for answer, each in zip(answers, gold, strict=True)),
        (answer is not None for answer in answers),
    )


Answers = tuple[list[str], list[list[str | None]]]
"""Names of the layers, and for each word an answer on each layer."""


def _answers(
    sets: SenseSets,
    source: WordLayers,
    dictionaries: Mapping[str, SenseDictionary],
    advance: Advance,
) -> dict[str, Answers]:
    senses = [
        sense for each in (sets.train, sets.held_out) for s in _sensed(each) for sense in s.senses
    ]
    means: SenseMeans | None = None
    for sensed, vectors in _vectors(source, sets.train, advance):
        if means is None:
            means = SenseMeans(senses, *vectors.shape)
        means.add(sensed, vectors)
    if means is None:
        raise InputError("no word with a sense is left to learn from", source="SemCor")
    kept = list(_vectors(source, sets.held_out, advance))
    answers = {HELD_OUT: _nearest(means, kept, dictionaries[HELD_OUT])}
    for sensed, vectors in kept:
        means.add(sensed, vectors)
    for name, tested in sets.others.items():
        answers[name] = _nearest(means, _vectors(source, tested, advance), dictionaries[name])
    names = layer_names(means.sums.shape[1])
    return {name: (names, rows) for name, rows in answers.items()}


def _vectors(
    source: WordLayers, sentences: list[SensedSentence], advance: Advance
) -> Iterator[tuple[SenseMention, Layers]]:
    """Each word with a sense and its vectors; those of several tokens are averaged."""
    layers = read_layers(source, [sentence.tokens for sentence in sentences], advance)
    for sentence, found in zip(sentences, layers, strict=True):
        for sensed in sentence.sensed:
            yield sensed, found[:, sensed.start : sensed.end].mean(axis=1)


def _nearest(
    means: SenseMeans, words: Iterable[tuple[SenseMention, Layers]], dictionary: SenseDictionary
) -> list[list[str | None]]:
    """The nearest sense on each layer, or the first sense where no vector can tell."""
    answers = []
    for sensed, vectors in words:
        first = dictionary.first_sense(sensed.word)
        nearest = means.nearest(vectors, dictionary.seen.get(sensed.word, ()))
        answers.append([first if each is None else each for each in nearest])
    return answers
