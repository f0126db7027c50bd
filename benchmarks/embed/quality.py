r"""How good sentence vectors are: pairs that people graded, and questions that find their intent.

    python benchmarks embed quality --data DATA --model minilm=forms/minilm --model embed-en \
        --dimensions 128 --output quality.json
    python benchmarks embed quality --language zh --data DATA --model embed-zh --output zh.json

A model is a bundle's name or folder, or an `.onnx` beside its `tokenizer.json`; `NAME=` before it
says what it is called. Each is measured whole and, for each `--dimensions`, by the first numbers of
its vectors, brought to length one again.

- Pairs (`pairs/SET/dev`): Spearman's correlation of cosines with grades; of two labels AUC, and the
  accuracy on the second half of the rows of the threshold that is best on the first half.
- Intents (`intents/SET`): train is stored, test is asked, and the nearest stored row answers; how
  often its label is the right one. Rows out of scope (`oos`) are neither stored nor asked; where
  test has them, AUROC says how well the best cosine tells them from the others. BM25 does the same
  by words, and a question of which it knows no word has no answer.
- The mean: STS-B, Quora and the unweighted mean of first answers over the intent sets that count
  (`sentence_sets.py` says which and why), each times 100.

Figures are written after every set. The same command goes on where it was interrupted, and measures
a model anew whose files have changed. `--sets` measures some sets alone.
"""

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from benchmarks.embed.encoder_forms import Encoder, hold_threads, open_form, sizes_of
from benchmarks.embed.sentence_scores import (
    Figures,
    bm25_figures,
    intent_figures,
    mean_figures,
    nearest,
    pair_figures,
)
from benchmarks.embed.sentence_sets import (
    APART,
    COUNTED,
    PAIRS,
    intent_sets,
    read_intents,
    read_pairs,
    read_requests,
    share_in_requests,
)
from benchmarks.shared.side_by_side import named

import softquery
from softquery.files import write_json
from softquery.runtime.encode.backend import prefix_of

BM25 = "bm25"


def main() -> None:
    options = parsed()
    hold_threads(options.threads)
    results = Results(options.output, options)
    results.describe_sets(options.data)
    if not options.without_bm25:
        measure_bm25(results, options)
    for given in options.model:
        name, path = named(given, Path(given).name)
        encoder = open_form(path, options.threads)
        measure(results, name, path, encoder, options)
    results.name_missing()
    for name, model in results.report["models"].items():
        for width, figures in model["widths"].items():
            print(name, width, {k: v and round(v, 2) for k, v in figures["means"].items()})


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="with pairs/ and intents/")
    parser.add_argument("--model", action="append", default=[], help="[NAME=]BUNDLE or .onnx")
    parser.add_argument("--language", choices=["en", "zh"], default="en")
    parser.add_argument("--dimensions", type=int, action="append", default=[])
    parser.add_argument("--sets", nargs="+", help="only these")
    parser.add_argument("--without-bm25", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path, required=True)
    return parser.parse_args()


class Results:
    """The file of figures, written whenever one is added.

    Args:
        path: A JSON file; what it holds is kept.
        options: The language, and which sets are measured.
    """

    def __init__(self, path: Path, options: argparse.Namespace) -> None:
        self.path = path
        self.language = options.language
        self.only = options.sets
        self.report: dict[str, Any] = {
            "language": self.language, "sets": {}, "apart": APART[self.language], "models": {},
        }  # fmt: skip
        if path.exists():
            self.report = json.loads(path.read_text(encoding="utf-8"))
        if self.report["language"] != self.language:
            raise SystemExit(f"{path}: holds figures of language {self.report['language']!r}")
        self.report["versions"] = {
            "softquery": softquery.__version__, "onnxruntime": onnxruntime.__version__,
        }  # fmt: skip

    def describe_sets(self, data: Path) -> None:
        """How large the intent sets are, and how much of each `requests/` holds."""
        if self.report["sets"]:
            return
        requests = read_requests(data, self.language)
        for name in intent_sets(self.language):
            stored = read_intents(data, name).stored
            self.report["sets"][name] = {
                "stored": len(stored),
                "counts": name in COUNTED[self.language],
                "share_in_requests": share_in_requests(stored, requests),
            }

    def open(self, name: str, **told: Any) -> dict[str, Any]:
        """A model's figures, empty ones where its files are not those that were measured."""
        known = self.report["models"].get(name)
        if known is None or known["fingerprint"] != told["fingerprint"]:
            known = {"widths": {}}
        self.report["models"][name] = {**told, "widths": known["widths"]}
        return self.report["models"][name]["widths"]

    def wants(self, kind: str, name: str, widths: dict[str, Any], wanted: list[str]) -> bool:
        """Whether a set is to be measured, and has not been at every width."""
        if self.only and name not in self.only:
            return False
        return any(name not in widths.get(width, {}).get(kind, {}) for width in wanted)

    def add(self, widths: dict[str, Any], kind: str, name: str, found: dict[str, Figures]) -> None:
        """Note what was found at each width, and the means that follow."""
        for width, figures in found.items():
            known = widths.setdefault(width, {"pairs": {}, "intents": {}})
            known[kind][name] = figures
            known["means"] = mean_figures(self.language, known["pairs"], known["intents"])
        write_json(self.path, self.report)

    def name_missing(self) -> None:
        """Say of each model which sets it was not measured on."""
        names = (*PAIRS[self.language], *intent_sets(self.language))
        for model in self.report["models"].values():
            known = [{**each["pairs"], **each["intents"]} for each in model["widths"].values()]
            model["not_measured"] = [
                name for name in names if not all(name in each for each in known)
            ]
        write_json(self.path, self.report)


def measure_bm25(results: Results, options: argparse.Namespace) -> None:
    """Intent sets by words."""
    import bm25s

    told = {"size_bytes": None, "parameters": None, "precision": None}
    widths = results.open(BM25, **told, fingerprint=f"bm25s {bm25s.__version__}")
    for name in intent_sets(options.language):
        if results.wants("intents", name, widths, ["words"]):
            intents = read_intents(options.data, name)
            results.add(widths, "intents", name, {"words": bm25_figures(intents)})


def measure(
    results: Results, name: str, path: str, encoder: Encoder, options: argparse.Namespace
) -> None:
    """Every set at every width; a set's texts are encoded once."""
    whole = encoder.encode(["one"]).shape[1]
    wanted = [whole, *(size for size in options.dimensions if size < whole)]
    keys = [str(width) for width in wanted]
    widths = results.open(name, **asdict(sizes_of(path, encoder)))
    for each in PAIRS[options.language]:
        if results.wants("pairs", each, widths, keys):
            found = timed(name, each, lambda each=each: pairs_by(encoder, each, wanted, options))
            results.add(widths, "pairs", each, found)
    for each in intent_sets(options.language):
        if results.wants("intents", each, widths, keys):
            found = timed(name, each, lambda each=each: intents_by(encoder, each, wanted, options))
            results.add(widths, "intents", each, found)


def timed(name: str, each: str, act: Any) -> dict[str, Figures]:
    start = time.perf_counter()
    found: dict[str, Figures] = act()
    print(f"{name} on {each}: {time.perf_counter() - start:.0f} s", found, flush=True)
    return found


def pairs_by(
    encoder: Encoder, name: str, widths: list[int], options: argparse.Namespace
) -> dict[str, Figures]:
    """Figures of a set of pairs at each width."""
    pairs = read_pairs(options.data, name)
    first, second = encoder.encode(pairs.first), encoder.encode(pairs.second)
    found = {}
    for width in widths:
        sides = (prefix_of(side, width).astype(np.float64) for side in (first, second))
        cosines = np.einsum("ij,ij->i", *sides)
        metric = PAIRS[options.language][name]
        found[str(width)] = pair_figures(metric, pairs.labels, cosines)
    return found


def intents_by(
    encoder: Encoder, name: str, widths: list[int], options: argparse.Namespace
) -> dict[str, Figures]:
    """Figures of an intent set at each width."""
    intents = read_intents(options.data, name)
    given = (intents.stored, intents.asked, intents.out_of_scope)
    vectors = [encoder.encode(texts) if texts else None for texts in given]
    found = {}
    for width in widths:
        stored, asked, outside = (
            None if each is None else prefix_of(each, width) for each in vectors
        )
        places, best = nearest(stored, asked)
        beyond = [] if outside is None else nearest(stored, outside)[1].tolist()
        found[str(width)] = intent_figures(intents, places.tolist(), best.tolist(), beyond)
    return found


if __name__ == "__main__":
    main()
