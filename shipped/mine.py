r"""Mine unlabelled pairs that are worth a teacher's opinion, by nearness of sentence vectors.

    python shipped/mine.py questions --encoder MINILM --gold train.jsonl --output mined.jsonl
    python shipped/mine.py inferences --encoder MINILM --gold train.jsonl --output mined.jsonl
    python shipped/mine.py texts --encoder NAME --texts texts.txt --held-out test.tsv \
        --output mined.jsonl

`texts` pairs any texts by the vectors of any model of ours that encodes sentences: for each text
some of its nearest neighbours, some that are farther, and some at random, as many as `--near`,
`--middle` and `--far` say. It looks at one chunk of texts at a time, and takes no text of the
probes, nor of `--held-out` files. `questions` pairs questions that nobody called duplicates, as
near to each other as the gold negatives are. `inferences` pairs premises with hypotheses of near
premises, and hypotheses of one premise with each other. The last two need `transformers`.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hard.guard import ProbeGuard, normal
from text_collection import bare_key, same_key, tidy

from softquery import load
from softquery.files import read_rows, read_texts

Rows = list[dict[str, Any]]
Pair = tuple[str, str]
BLOCK = 1024
"""Texts that are compared with all others at a time."""
NUM_NEAR = 50
NUM_BINS = 20


def read(path: Path) -> Rows:
    """The rows of a JSONL file."""
    return [json.loads(line) for line in path.open(encoding="utf-8")]


class Embedded:
    """Sentences with vectors of length one, by mean pooling."""

    def __init__(self, sentences: Iterable[str], encoder: Path) -> None:
        self.sentences = list(dict.fromkeys(sentences))
        self.places = {sentence: place for place, sentence in enumerate(self.sentences)}
        from transformers import AutoModel, AutoTokenizer

        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.vectors = self._embed(
            AutoTokenizer.from_pretrained(encoder),
            AutoModel.from_pretrained(encoder).to(self.device).eval(),
        )

    def _embed(self, tokenizer: Any, model: Any) -> torch.Tensor:
        order = sorted(range(len(self.sentences)), key=lambda place: len(self.sentences[place]))
        found = torch.zeros(len(order), model.config.hidden_size, device=self.device)
        with torch.inference_mode():
            for start in range(0, len(order), 1024):
                chosen = order[start : start + 1024]
                batch = tokenizer(
                    [self.sentences[place] for place in chosen], truncation=True, max_length=96,
                    padding=True, return_tensors="pt",
                ).to(self.device)  # fmt: skip
                mask = batch["attention_mask"].unsqueeze(-1)
                mean = (model(**batch).last_hidden_state * mask).sum(1) / mask.sum(1)
                found[chosen] = torch.nn.functional.normalize(mean, dim=-1)
        return found

    def nearest(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """For each sentence the places of the nearest others, and their cosines."""
        return nearest(self.vectors, count)

    def cosines(self, pairs: list[tuple[int, int]]) -> np.ndarray:
        """Of each pair of places."""
        one, other = torch.tensor(pairs, device=self.device).T
        parts = zip(one.split(100_000), other.split(100_000), strict=True)
        return np.concatenate(
            [(self.vectors[a] * self.vectors[b]).sum(-1).cpu().numpy() for a, b in parts]
        )


def nearest(vectors: torch.Tensor, count: int) -> tuple[np.ndarray, np.ndarray]:
    """For each vector the places of the nearest others, and their cosines."""
    places, cosines = [], []
    for part in vectors.split(BLOCK):
        scores, near = (part @ vectors.T).topk(min(count + 1, len(vectors)), dim=1)
        places.append(near[:, 1:].cpu().numpy())
        cosines.append(scores[:, 1:].cpu().numpy())
    return np.concatenate(places), np.concatenate(cosines)


class Clusters:
    """Sentences that are duplicates of each other, directly or through others."""

    def __init__(self) -> None:
        self.parent: dict[str, str] = {}

    def find(self, item: str) -> str:
        """The one that stands for its cluster."""
        root = item
        while self.parent.get(root, root) != root:
            root = self.parent[root]
        while self.parent.get(item, item) != root:
            self.parent[item], item = root, self.parent[item]
        return root

    def join(self, one: str, other: str) -> None:
        """Make two clusters one."""
        self.parent[self.find(one)] = self.find(other)


def mine_questions(options: argparse.Namespace) -> list[Pair]:
    """Pairs that nobody called duplicates, with the gold negatives' histogram of cosines."""
    random = np.random.default_rng(1)
    rows = [row for row in read(options.gold) if row["source"].startswith("qqp")]
    embedded = Embedded((row[name] for row in rows for name in ("sentence1", "sentence2")),
                        options.encoder)  # fmt: skip
    same, known = Clusters(), set()
    for row in rows:
        known.add(frozenset((row["sentence1"], row["sentence2"])))
        if row["label"] == "1":
            same.join(row["sentence1"], row["sentence2"])
    pool, cosines = candidates(embedded, same, known, random)
    negatives = [
        (embedded.places[row["sentence1"]], embedded.places[row["sentence2"]])
        for row in rows
        if row["label"] == "0"
    ]
    chosen = like(embedded.cosines(negatives), cosines, options.count, random)
    names = embedded.sentences
    return [(names[one], names[other]) for one, other in (pool[place] for place in chosen)]


def candidates(
    embedded: Embedded, same: Clusters, known: set[frozenset[str]], random: np.random.Generator
) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Near and random pairs of different clusters, with their cosines."""
    near, _ = embedded.nearest(NUM_NEAR)
    names = embedded.sentences
    roots = [same.find(name) for name in names]
    num = len(names)
    picks = random.integers(0, near.shape[1], (num, 6))
    drawn = np.concatenate([np.take_along_axis(near, picks, axis=1),
                            random.integers(0, num, (num, 4))], axis=1)  # fmt: skip
    pairs = {
        (min(one, int(other)), max(one, int(other)))
        for one, others in enumerate(drawn)
        for other in others
        if roots[one] != roots[int(other)]
    }
    kept = sorted(
        pair for pair in pairs if frozenset((names[pair[0]], names[pair[1]])) not in known
    )
    return kept, embedded.cosines(kept)


def like(
    wanted: np.ndarray, given: np.ndarray, count: int, random: np.random.Generator
) -> np.ndarray:
    """Places in `given`, drawn so that their histogram is that of `wanted`."""
    edges = np.linspace(-1, 1, 2 * NUM_BINS + 1)[1:-1]
    shares = np.bincount(np.digitize(wanted, edges), minlength=2 * NUM_BINS) / len(wanted)
    bins = np.digitize(given, edges)
    chosen: list[int] = []
    for place, share in enumerate(shares):
        there = np.flatnonzero(bins == place)
        take = min(len(there), round(count * share))
        chosen += random.choice(there, take, replace=False).tolist()
    return random.permutation(chosen)


def mine_inferences(options: argparse.Namespace) -> list[Pair]:
    """Premises with hypotheses of near premises, and hypotheses of one premise with each other."""
    random = np.random.default_rng(1)
    rows = read(options.gold)
    hypotheses: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        hypotheses[row["sentence1"]].append(row["sentence2"])
    known = {(row["sentence1"], row["sentence2"]) for row in rows}
    embedded = Embedded(hypotheses, options.encoder)
    near, _ = embedded.nearest(6)
    pairs: list[Pair] = []
    for place, premise in enumerate(embedded.sentences):
        own = hypotheses[premise]
        for other in near[place].tolist():
            there = hypotheses[embedded.sentences[other]]
            pairs += [(premise, there[pick]) for pick in random.permutation(len(there))[:1]]
        pairs += [(one, other) for one in own for other in own if one != other][:6]
        pairs += [(own[int(random.integers(len(own)))], premise)]
    fresh = [pair for pair in dict.fromkeys(pairs) if pair not in known]
    return [fresh[place] for place in random.permutation(len(fresh))[: options.count]]


@dataclass(frozen=True, slots=True)
class Mix:
    """How many pairs of each text, and from which ranks of its neighbours."""

    near: int = 1
    middle: int = 1
    far: int = 1
    near_ranks: tuple[int, int] = (0, 3)
    middle_ranks: tuple[int, int] = (3, 30)
    """From the first of them up to the last, which is not among them."""

    def pairs(self, vectors: torch.Tensor, random: np.random.Generator) -> list[tuple[int, int]]:
        """Places of two texts each, every pair once and in either order."""
        count = len(vectors)
        if count < 2:
            return []
        ranked, _ = nearest(vectors, self.middle_ranks[1])
        columns = []
        for number, (start, end) in ((self.near, self.near_ranks),
                                     (self.middle, self.middle_ranks)):  # fmt: skip
            band = ranked[:, start:end]
            if band.shape[1]:
                keys = random.random(band.shape).argsort(axis=1)[:, :number]
                columns.append(np.take_along_axis(band, keys, axis=1))
        columns.append(random.integers(0, count, (count, self.far)))
        chosen = np.concatenate(columns, axis=1)
        ones = np.repeat(np.arange(count), chosen.shape[1])
        both = np.stack([ones, chosen.ravel()], axis=1)
        both = both[both[:, 0] != both[:, 1]]  # the nearest may be an equal vector's own place
        both = np.unique(np.sort(both, axis=1), axis=0)
        turned = random.random(len(both)) < 0.5
        both[turned] = both[turned, ::-1]
        return [(int(one), int(other)) for one, other in random.permutation(both)]


class TextGuard:
    """Lets each text through once, and none that something is measured with.

    Args:
        held_out: Files of texts or pairs that are measured with.
    """

    def __init__(self, held_out: Sequence[Path] = ()) -> None:
        self.probed = ProbeGuard().sentences
        self.measured = {bare_key(text) for path in held_out for text in self._texts(path)}
        self.known: set[int] = set()
        self.num_dropped = 0

    def _texts(self, path: Path) -> Iterator[str]:
        if ".txt" in path.suffixes:
            yield from read_texts([path])
            return
        for row in read_rows(path, columns=(), keep_others=True):
            yield from row.values.values()

    def passed(self, texts: Iterable[str]) -> Iterator[str]:
        """Those that may be paired, tidied."""
        for given in texts:
            text = tidy(given)
            if not text:
                continue
            if bare_key(text) in self.measured or normal(text) in self.probed:
                self.num_dropped += 1
                continue
            key = hash(same_key(text))
            if key not in self.known:
                self.known.add(key)
                yield text


def mine_pairs(
    texts: Iterable[str],
    encode: Callable[[list[str]], np.ndarray],
    mix: Mix,
    *,
    chunk: int,
    seed: int = 1,
) -> Iterator[Pair]:
    """Pairs of texts, a chunk at a time: only its texts and vectors are in memory.

    Args:
        texts: Each once.
        encode: Gives vectors of length one.
        mix: Which neighbours are taken.
        chunk: Texts among which neighbours are looked for.
        seed: Decides which of the neighbours.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    stream, random = iter(texts), np.random.default_rng(seed)
    while some := list(islice(stream, chunk)):
        vectors = torch.from_numpy(np.ascontiguousarray(encode(some), dtype=np.float32))
        for one, other in mix.pairs(vectors.to(device), random):
            yield some[one], some[other]


def mine_texts(options: argparse.Namespace) -> Iterator[Pair]:
    """Near, middle and far pairs of any texts, at most `--count` of them."""
    guard, model = TextGuard(options.held_out), load(options.encoder)
    texts = guard.passed(read_texts(options.texts))
    mix = Mix(near=options.near, middle=options.middle, far=options.far)
    mined = mine_pairs(texts, model.encode, mix, chunk=options.chunk, seed=options.seed)
    yield from islice(mined, options.count)
    print(f"{len(guard.known):,} texts, {guard.num_dropped:,} held out", flush=True)


KINDS: dict[str, Callable[[argparse.Namespace], Iterable[Pair]]] = {
    "questions": mine_questions,
    "inferences": mine_inferences,
    "texts": mine_texts,
}


def main() -> None:
    """Parse, mine and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=list(KINDS))
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--gold", type=Path, help="for questions and inferences")
    parser.add_argument("--texts", type=Path, action="append", help="for texts; repeatable")
    parser.add_argument("--held-out", type=Path, action="append", default=[])
    parser.add_argument("--near", type=int, default=1, help="pairs per text of ranks 1 to 3")
    parser.add_argument("--middle", type=int, default=1, help="pairs per text of ranks 4 to 30")
    parser.add_argument("--far", type=int, default=1, help="pairs per text at random")
    parser.add_argument("--chunk", type=int, default=50_000, help="texts that are compared")
    parser.add_argument("--seed", type=int, default=1, help="for texts")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--count", type=int, default=300_000, help="the most pairs")
    options = parser.parse_args()
    wanted = "texts" if options.kind == "texts" else "gold"
    if not getattr(options, wanted):
        parser.error(f"{options.kind} needs --{wanted}")
    num_mined = 0
    with options.output.open("w", encoding="utf-8") as file:
        for one, other in KINDS[options.kind](options):
            row = {"sentence1": one, "sentence2": other, "source": f"mined {options.kind}"}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            num_mined += 1
    print(f"{options.output}: {num_mined:,} pairs", flush=True)


if __name__ == "__main__":
    main()
