r"""How fast sentence encoders are, in one run: one short text, and many at once.

    python benchmarks embed encode_speed --data DATA --text enwiki-2015/valid.txt.xz \
        --model embed-en --model table=forms/table-int8 --torch all-MiniLM-L6-v2/ \
        --rival pypi-int8=pypi/model.onnx --rival import-int8=forms/minilm-int8 \
        --rival optimised-int8=forms/optimised-int8/model.onnx --bm25 --output speed.json

From strings to vectors, tokenisation included. Every form runs in a process of its own and waits
while others are asked; rounds go A, B, C, A, B, C. In a round, each is asked

- `--calls` short texts of six to ten words one by one, others in each round;
- 2,000 questions at once (both of `intents/vira`, test);
- 500 sentences of running text at once.

A `--rival` is a form of MiniLM in int8, a bundle or an `.onnx` beside its `tokenizer.json`. Ratios
are against the rival that is fastest at the thing that is asked: the median over the rounds of its
time by the model's own. `--bm25` looks each text up among the 7,294 rows of vira's train, which
finds answers and not vectors: for the others, comparing vectors is not in the time.
"""

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.compare.compare_page import machine
from benchmarks.embed.speed_turns import Contestant, Scenes, Turn, in_turns
from benchmarks.shared.side_by_side import named

from softquery.files import write_json

SCENES = ("one", "questions", "sentences")


def main() -> None:
    options = parsed()
    scenes = Scenes.read(
        options.data, options.text, num_questions=options.questions, num_sentences=options.sentences
    )
    told, turns = in_turns(
        contestants(options),
        scenes,
        threads=options.threads,
        rounds=options.rounds,
        calls=options.calls,
    )
    rivals = [each.name for each in contestants(options) if each.kind == "rival"]
    report = {
        "machine": machine(),
        "threads": options.threads,
        "rounds": options.rounds,
        "calls": options.calls,
        "questions": len(scenes.questions),
        "sentences": len(scenes.sentences),
        "mean_words": scenes.mean_words(),
        "rows": rows_of(told, turns, len(scenes.questions), len(scenes.sentences)),
        "rivals": rivals,
        "times_the_fastest_rival": ratios(turns, rivals),
    }
    write_json(options.output, report)
    for name, found in report["rows"].items():
        print(name, {key: round(found[key], 3) for key in ("one_ms", "questions_per_s")},
              report["times_the_fastest_rival"].get(name))  # fmt: skip


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="with intents/vira")
    parser.add_argument("--text", type=Path, required=True, help="running text")
    parser.add_argument("--model", action="append", default=[], help="[NAME=]BUNDLE or .onnx")
    parser.add_argument("--rival", action="append", default=[], help="MiniLM in int8, likewise")
    parser.add_argument("--torch", help="[NAME=]FOLDER of sentence-transformers")
    parser.add_argument("--bm25", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=150)
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--output", type=Path, required=True)
    return parser.parse_args()


def contestants(options: argparse.Namespace) -> list[Contestant]:
    """Whoever is asked, in this order."""
    torch = [options.torch] if options.torch else []
    kinds = {"model": options.model, "rival": options.rival, "torch": torch}
    found = [
        Contestant(named(text, Path(text).name)[0], kind, named(text)[1])
        for kind, given in kinds.items()
        for text in given
    ]
    return [*found, *([Contestant("bm25", "bm25", "")] if options.bm25 else [])]


def rows_of(
    told: dict[str, dict[str, Any]],
    turns: dict[str, list[Turn]],
    num_questions: int,
    num_sentences: int,
) -> dict[str, dict[str, Any]]:
    """Medians of the rounds, and what each round measured."""
    rows = {}
    for name, each in turns.items():
        middle = {scene: middle_of(each, scene) for scene in SCENES}
        rows[name] = {
            **told[name],
            "one_ms": 1000 * middle["one"],
            "questions_per_s": num_questions / middle["questions"],
            "sentences_per_s": num_sentences / middle["sentences"],
            "rounds_s": {scene: [getattr(turn, scene) for turn in each] for scene in SCENES},
        }
    return rows


def middle_of(turns: Sequence[Turn], scene: str) -> float:
    return statistics.median(getattr(turn, scene) for turn in turns)


def ratios(turns: dict[str, list[Turn]], rivals: Sequence[str]) -> dict[str, dict[str, Any]]:
    """How many times as fast as the fastest rival each one is, round by round."""
    if not rivals:
        return {}
    found: dict[str, dict[str, Any]] = {name: {} for name in turns}
    for scene in SCENES:
        best = min(rivals, key=lambda name: middle_of(turns[name], scene))
        for name, own in turns.items():
            parts = zip(turns[best], own, strict=True)
            found[name][scene] = statistics.median(
                getattr(theirs, scene) / getattr(ours, scene) for theirs, ours in parts
            )
            found[name][f"{scene}_against"] = best
    return found


if __name__ == "__main__":
    main()
