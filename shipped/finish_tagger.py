r"""From trained seeds to the shipped `tagger-en`: the best by tune, as int8, with its card.

softquery train tagger-en --data ud_english_ewt --output seed-1 --set training.seed=1   # and 2, 3
python shipped/finish_tagger.py --seeds seed-1 seed-2 seed-3 --data ud_english_ewt \
        --output src/softquery/zoo/models/tagger-en

The seed that tagged the held-back share of train best is exported with int8 behind the gate. The
card has the figures of dev: of the shipped model, and the mean and spread over all seeds.
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from records import drop_leftovers, int8_line
from seeds import without_paths

from softquery.bundle import RECORDS, Bundle, Card, CardData, CardNumber, make_card, read_bundle
from softquery.bundle.update import with_section
from softquery.errors import BundleError, InputError
from softquery.export import ExportReport, export_tagger
from softquery.files import (
    TAGGED_FORMS,
    TaggedSentence,
    find_split,
    read_tagged,
    write_json,
    write_text,
)
from softquery.runtime import load_tagger
from softquery.runtime.tag_evaluation import evaluate_tags

NAME = "tagger-en"
LICENCE = "cc-by-sa-4.0"
DATA = "UD English EWT 2.15"


def main() -> None:
    """Read the command line and act."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=Path, nargs="+", required=True, help="trained bundles")
    parser.add_argument("--data", type=Path, required=True, help="folder of train and dev")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--gate", type=float, default=0.2, help="points that int8 may cost")
    options = parser.parse_args()
    if options.output.exists():
        raise InputError("exists already; name another --output", source=options.output)
    seeds = [read_bundle(path) for path in options.seeds]
    finish(seeds, options.data, options.output, options.gate)


def finish(seeds: list[Bundle], data: Path, output: Path, gate: float) -> None:
    """Choose, export, measure, and write the card."""
    num_train = sum(1 for _ in read_tagged(find_split(data, "train", forms=TAGGED_FORMS)))
    rows = list(read_tagged(find_split(data, "dev", forms=TAGGED_FORMS)))
    best = max(seeds, key=lambda bundle: tuned(bundle))
    report = export_tagger(best, output, int8=True, limit=gate, rows=rows)
    figures = [accuracy(bundle, rows) for bundle in seeds]
    shipped = evaluate_tags(load_tagger(output, backend="onnx"), rows).report()
    records = output / RECORDS
    drop_leftovers(records)
    settings = records / "run.json"
    write_json(settings, without_paths(json.loads(settings.read_text("utf-8"))))
    card = make_card(told(best, shipped, figures, (num_train, len(rows))), kind="tagger")
    write_text(output / "README.md", with_section(card, "Export", exported(report)))


def tuned(bundle: Bundle) -> float:
    """How well the held-back share of train was tagged."""
    found = bundle.metrics.get("tune", {}).get("accuracy")
    if not isinstance(found, float):
        raise BundleError(f"{bundle.path}: metrics.json has no accuracy on tune")
    return found


def accuracy(bundle: Bundle, rows: list[TaggedSentence]) -> float:
    """Share of words that a trained bundle tags as dev has them."""
    tagger = load_tagger(bundle.path, backend="torch")
    return float(evaluate_tags(tagger, rows).report()["accuracy"])


def exported(report: ExportReport) -> list[str]:
    """What the card says of int8."""
    return [
        int8_line(report, "sentences of dev"),
        "- The biLM is `elmo-en`, which comes with the package and is named by its fingerprint.",
    ]


def told(best: Bundle, shipped: dict[str, Any], seeds: list[float], sizes: tuple[int, int]) -> Card:
    """What there is to say."""
    training, (num_train, num_dev) = best.metrics["training"], sizes
    spread = f"{min(seeds):.4f} to {max(seeds):.4f}"
    return Card(
        name=NAME,
        purpose="Says what part of speech every word of an English text is: the 17 universal "
        "ones (UPOS).",
        languages=["en"],
        licence=LICENCE,
        data=[
            CardData(
                name=DATA,
                rows=num_train,
                licence="CC BY-SA 4.0",
                note="sentences of blogs, mails, reviews, answers and newsgroups",
            ),
        ],  # fmt: skip
        training={
            "recipe": NAME,
            "base": best.config.base,
            "seed": training["seed"],
            "seeds tried": len(seeds),
            "all settings": "training/run.json",
        },
        numbers=[
            CardNumber(
                metric="accuracy",
                value=shipped["accuracy"],
                n=shipped["n"],
                data=f"{DATA} dev ({num_dev:,} sentences)",
            ),
            CardNumber(
                metric=f"… mean of {len(seeds)} seeds, float32 ({spread})",
                value=statistics.mean(seeds),
                n=shipped["n"],
                data=f"{DATA} dev",
            ),
        ],  # fmt: skip
        limits=[
            "It has learnt from web text of about 2000 to 2015; other kinds of text are harder.",
            "Words are cut as the treebank cuts them where punctuation and contractions stand "
            "(do n't); text in capitals, or without any, is harder.",
            "It tags English alone, and answers for any other language as if it were English.",
        ],
    )


if __name__ == "__main__":
    main()
