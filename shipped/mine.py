r"""Mine unlabelled pairs that are worth a teacher's opinion, by nearness of sentence vectors.

    python shipped/mine.py questions --encoder MINILM --gold train.jsonl --output mined.jsonl
    python shipped/mine.py inferences --encoder MINILM --gold train.jsonl --output mined.jsonl

`questions` pairs questions that nobody called duplicates, as near to each other as the gold
negatives are. `inferences` pairs premises with hypotheses of near premises, and hypotheses of one
premise with each other. Needs `transformers`.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

Rows = list[dict[str, Any]]
Pair = tuple[str, str]
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
        places, cosines = [], []
        for part in self.vectors.split(4096):
            scores, near = (part @ self.vectors.T).topk(min(count + 1, len(self.sentences)), dim=1)
            places.append(near[:, 1:].cpu().numpy())
            cosines.append(scores[:, 1:].cpu().numpy())
        return np.concatenate(places), np.concatenate(cosines)

    def cosines(self, pairs: list[tuple[int, int]]) -> np.ndarray:
        """Of each pair of places."""
        one, other = torch.tensor(pairs, device=self.device).T
        parts = zip(one.split(100_000), other.split(100_000), strict=True)
        return np.concatenate(
            [(self.vectors[a] * self.vectors[b]).sum(-1).cpu().numpy() for a, b in parts]
        )


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


def main() -> None:
    """Parse, mine and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["questions", "inferences"])
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--gold", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--count", type=int, default=300_000)
    options = parser.parse_args()
    mined = (mine_questions if options.kind == "questions" else mine_inferences)(options)
    with options.output.open("w", encoding="utf-8") as file:
        for one, other in mined:
            row = {"sentence1": one, "sentence2": other, "source": f"mined {options.kind}"}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{options.output}: {len(mined):,} pairs", flush=True)


if __name__ == "__main__":
    main()
