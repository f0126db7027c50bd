"""Vectors by gensim from the text and with the settings of a bundle of ours, for `worth_using`.

    pip install gensim
    python benchmarks word2vec gensim_vectors --like BUNDLE --data FOLDER --output gensim.bin

FOLDER is the text that BUNDLE was trained on. Words, counts, width, window, negatives, thinning,
rates and epochs are the bundle's; gensim gets the words as we cut them. One worker reads a
`corpus_file`, of gensim's two ways the faster one; several (`--workers`) get sentences, the other
way, because the rate of a `corpus_file` falls as asked with one worker alone. Beside the vectors
stands a JSON with seconds and settings. `--work` keeps the numbered text.
"""

import argparse
import json
import logging
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.word2vec.word2vec import tokens_of

from softquery.files import (
    VectorTable,
    find_shards,
    open_corpus_file,
    write_corpus_file,
    write_json,
    write_vectors,
)
from softquery.text import TextConfig


def train_like(
    run: dict[str, Any], text: Path, seed: int, workers: int
) -> tuple[VectorTable, float]:
    """What gensim learns from a file of words, and in how many seconds."""
    from gensim.models import Word2Vec
    from gensim.models.word2vec import LineSentence

    source = {"corpus_file": str(text)} if workers == 1 else {"corpus_iterable": LineSentence(text)}
    model, training = run["model"], run["training"]
    gensim = Word2Vec(
        vector_size=model["embedding_size"],
        sg=int(model["architecture"] == "skipgram"),
        window=training["window"],
        negative=training["num_negatives"],
        ns_exponent=training["noise_power"],
        sample=training["subsample"],
        alpha=training["lr"],
        min_alpha=training["final_lr"],
        min_count=1,
        workers=workers,
        seed=seed,
    )
    gensim.build_vocab(**source)
    start = time.perf_counter()
    gensim.train(
        **source,
        total_words=gensim.corpus_total_words,
        total_examples=gensim.corpus_count,
        epochs=training["epochs"],
        report_delay=30.0,
    )
    seconds = time.perf_counter() - start
    return VectorTable(gensim.wv.index_to_key, gensim.wv.vectors), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--like", type=Path, required=True, help="a bundle of word vectors")
    parser.add_argument("--data", type=Path, required=True, help="the text it was trained on")
    parser.add_argument("--output", type=Path, required=True, help="in word2vec's binary form")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="threads that learn")
    parser.add_argument("--work", type=Path, help="keep the numbered text here")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    run = json.loads((options.like / "training" / "run.json").read_text(encoding="utf-8"))
    if run["vocabulary"]["phrase_passes"] or run["vocabulary"]["size"]:
        parser.error("--like: phrases, or a vocabulary cut by size, are not made here")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.work or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        corpus = open_corpus_file(folder) or write_corpus_file(
            find_shards(options.data),
            TextConfig(**{**run["text"], "markers": tuple(run["text"]["markers"])}),
            folder,
            min_count=run["vocabulary"]["min_count"],
            say=print,
        )
        vectors, seconds = train_like(run, tokens_of(corpus), options.seed, options.workers)
    write_vectors(options.output, vectors, form="word2vec-binary")
    facts = {
        "seconds": round(seconds, 1),
        "words_per_second": round(corpus.num_tokens * run["training"]["epochs"] / seconds),
        "words": len(vectors.words),
        "seed": options.seed,
        "workers": options.workers,
        "load": os.getloadavg()[2],
        "settings": {"model": run["model"], "training": run["training"]},
    }
    write_json(options.output.with_suffix(".json"), facts)
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
