"""Perplexity of a Kneser-Ney n-gram model on the text and vocabulary of ELMo's pretraining.

    python benchmarks elmo kneser_ney --data enwiki --vocabulary 200000 --output kneser_ney.json
    python benchmarks elmo kneser_ney --corpus my-elmo.partial/corpus --vocabulary 100000

`--data` is the folder that `softquery train elmo` reads, `--corpus` one with the text numbered
already; with both, it is numbered there first. Tokens, vocabulary, `<unk>` and what counts
are as in the perplexity that training reports: ends of lines count, their beginnings do not.
Contexts end at the beginning of a line. A second time with every line read from its end.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.data import Corpus, read_corpus, write_corpus
from softquery.files import find_texts, read_texts
from softquery.measure.kneser_ney import fit_kneser_ney
from softquery.recipes.elmo import elmo
from softquery.text import BOS_ID, EOS_ID, UNK_ID

WAYS = {"forwards": BOS_ID, "backwards": EOS_ID}
"""What each direction begins a line with."""


def main() -> None:
    options = parsed()
    with tempfile.TemporaryDirectory() as folder:
        place = options.corpus or Path(folder) / "corpus"
        if not place.exists():
            number(options.data, place)
        report = measured(read_corpus(place), options)
    print(json.dumps(report, indent=2))
    if options.output is not None:
        options.output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--vocabulary", type=int, default=200_000)
    parser.add_argument("--min-count", type=int, default=2)
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.data is None and (options.corpus is None or not options.corpus.exists()):
        parser.error("--data, or --corpus with a folder that exists, is needed")
    return options


def number(data: Path, place: Path) -> None:
    """Write the text as numbers, as pretraining does."""
    run = elmo()
    train = [path for split in run.data.train for path in find_texts(data, split)]
    valid = find_texts(data, run.data.valid)
    write_corpus(
        place,
        train=lambda: read_texts(train),
        valid=lambda: read_texts(valid),
        config=run.text,
        max_characters=run.model.characters.max_characters,
        source=data,
    )


def measured(corpus: Corpus, options: argparse.Namespace) -> dict[str, object]:
    size = corpus.known(size=options.vocabulary, min_count=options.min_count)
    began = time.perf_counter()
    found = {way: direction(corpus, way, size, options.order) for way in WAYS}
    mean = float(np.mean([each["log_likelihood"] for each in found.values()]))
    return {
        "order": options.order,
        "vocabulary": size,
        "min_count": options.min_count,
        "train_tokens": len(text(corpus, "train", "forwards")),
        "perplexity": float(np.exp(-mean)),
        **{f"perplexity_{way}": each["perplexity"] for way, each in found.items()},
        **{name: found["forwards"][name] for name in ("unknown_share", "n", "grams")},
        "seconds": round(time.perf_counter() - began, 1),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def direction(corpus: Corpus, way: str, size: int, order: int) -> dict[str, Any]:
    train, valid = (predicted(text(corpus, split, way), size) for split in ("train", "valid"))
    model = fit_kneser_ney(train, vocab_size=size, begin=WAYS[way], order=order)
    found = model.log_probabilities(valid)
    return {
        "perplexity": float(np.exp(-found.mean())),
        "log_likelihood": float(found.mean()),
        "unknown_share": float((valid == UNK_ID).sum() / len(found)),
        "n": len(found),
        "grams": model.num_grams,
    }


def text(corpus: Corpus, split: str, way: str) -> NDArray[np.int32]:
    streams = corpus.streams(split, vocab_size=len(corpus.types), num_streams=1)
    words: NDArray[np.int32] = getattr(streams, way).numpy()
    return words


def predicted(words: NDArray[np.int32], size: int) -> NDArray[np.int32]:
    """With `<unk>` for all that is beyond the vocabulary."""
    return np.where(words < size, words, np.int32(UNK_ID))


if __name__ == "__main__":
    main()
