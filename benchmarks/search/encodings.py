"""What a narrow encoding costs: pairs compared from stored encodings of each precision.

    python benchmarks search encodings DATA [--pairs 2000] [--output FILE.json]

DATA holds `qqp_20k` and `lcqmc`, whose dev files are used, and the shop's queries of `examples` are
compared with the rows that answer them and with one that does not. One side of each pair is stored.
Prints accuracy at a log-odds of 0, AUC, how far log-odds move (root mean square), the share of
changed labels, and bytes per token and per word, words being what spaces or characters separate.
"""

import argparse
import csv
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softquery.files import find_split, read_rows
from softquery.measure import auc
from softquery.runtime import Matcher, load_matcher
from softquery.search.storage.encodings import from_int3, from_int8, to_int3, to_int8

Floats = NDArray[np.float32]
SETS = (("match-en", "qqp_20k"), ("match-zh", "lcqmc"))
EXAMPLES = Path(__file__).parents[2] / "examples"
FORMS: dict[str, tuple[Callable[[Floats], Floats], Callable[[int], int]]] = {
    "float32": (lambda rows: rows, lambda width: 4 * width),
    "float16": (lambda rows: rows.astype(np.float16).astype(np.float32), lambda width: 2 * width),
    "int8": (lambda rows: from_int8(*to_int8(rows)), lambda width: width + 16),
    "int3": (
        lambda rows: from_int3(*to_int3(rows), rows.shape[1]),
        lambda width: width // 5 * 2 + 16,
    ),
}
"""What comes back of stored rows, and how many bytes a token takes, scales included."""
Pairs = list[tuple[str, str, int]]


def labelled(folder: Path, name: str, count: int) -> Pairs:
    rows = read_rows(find_split(folder / name, "dev"), columns=("sentence1", "sentence2", "label"))
    every = [(r.values["sentence1"], r.values["sentence2"], int(r.values["label"])) for r in rows]
    return random.Random(1).sample(every, min(count, len(every)))


def shop(language: str) -> Pairs:
    """Queries of the shop with the row that answers them, and with another."""
    with (EXAMPLES / "shop_faq.csv").open(encoding="utf-8", newline="") as file:
        stored = {row["id"]: row[f"question_{language}"] for row in csv.DictReader(file)}
    draw, found = random.Random(1), []
    for row in read_rows(
        EXAMPLES / f"shop_queries_{language}.tsv", columns=("query",), optional=("doc",)
    ):
        if doc := row.values.get("doc", ""):
            found.append((row.values["query"], stored[doc], 1))
            other = draw.choice([key for key in stored if key != doc])
            found.append((row.values["query"], stored[other], 0))
    return found


def measured(matcher: Matcher, pairs: Pairs) -> dict[str, dict[str, float]]:
    first = matcher.encodings([pair[0] for pair in pairs])
    second = matcher.encodings([pair[1] for pair in pairs])
    gold = np.array([pair[2] for pair in pairs])
    ends = np.cumsum([len(each) for each in second])[:-1]
    together = np.concatenate(second)
    num_words = sum(num_words_of(pair[1]) for pair in pairs)
    reference, found = np.empty(0), {}
    for name, (restored, size) in FORMS.items():
        logits = matcher.backend.compare(first, np.split(restored(together), ends))
        odds = logits[:, 1] - logits[:, 0]
        reference = odds if name == "float32" else reference
        bytes_a_token = size(together.shape[1])
        found[name] = {
            "accuracy": round(float(((odds > 0) == gold).mean()), 4),
            "auc": round(float(auc(gold, odds)), 4),
            "log_odds_moved": round(float(np.sqrt(np.mean((odds - reference) ** 2))), 4),
            "labels_changed": round(float(((odds > 0) != (reference > 0)).mean()), 4),
            "bytes_a_token": bytes_a_token,
            "bytes_a_word": round(bytes_a_token * len(together) / num_words, 1),
        }
    return found


def num_words_of(text: str) -> int:
    """Words between spaces, or characters where there are no spaces."""
    return max(1, len(text.split()) if text.isascii() or " " in text else len(text))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    result = {}
    for model, name in SETS:
        matcher = load_matcher(model, threads=1)
        pairs = labelled(options.data, name, options.pairs)
        result[f"{name}, dev"] = {"pairs": len(pairs), **measured(matcher, pairs)}
        language = model.removeprefix("match-")
        pairs = shop(language)
        result[f"shop, {language}"] = {"pairs": len(pairs), **measured(matcher, pairs)}
    text = json.dumps(result, indent=1)
    print(text)
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
