r"""From an exported biLM to the shipped `elmo-en`: its card, and its folder in the package.

softquery train elmo-en --data enwiki-2015 --output trained
softquery export trained --output exported --int8 --drop-softmax --data enwiki-2015/valid.txt.xz
python shipped/finish_elmo.py exported --yardstick benchmarks/elmo/kneser_ney.json \
        --output src/softquery/zoo/models/elmo-en

The run must have the recipe's settings. Exits with 1 where the model is too large or int8 too
costly, and with 2 where the input cannot be used.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from placing import (
    Check,
    gate_check,
    keep_records,
    put_in_place,
    refuse_existing,
    run_script,
    size_check,
)
from seeds import SETTINGS, recipe_settings

from softquery.bundle import (
    RECORDS,
    Bundle,
    Card,
    CardData,
    CardNumber,
    make_card,
    read_bundle,
    with_section,
)
from softquery.errors import BundleError, InputError
from softquery.recipes import recipe
from softquery.zoo.glance import folder_size

NAME = "elmo-en"
LICENCE = "cc-by-sa-4.0"
LARGEST_MB = 8.5


def finish(options: argparse.Namespace) -> tuple[dict[str, Any], list[Check]]:
    """Do all of it; the metrics that were written, and whether they are good enough."""
    refuse_existing(options.output, replace=options.replace)
    exported = read_export(options.exported)
    run: Any = recipe(NAME)
    settings = recipe_settings(exported, run)
    metrics = exported.metrics
    yardstick = read_yardstick(options.yardstick, metrics["dev"]["vocabulary"])
    told = exported.card.partition("## Export\n")[2].strip().splitlines()
    made = make_card(card(metrics, yardstick), kind="embedder")
    with tempfile.TemporaryDirectory() as scratch:
        put_in_place(
            options.output,
            exported,
            metrics=metrics,
            card=with_section(made, "Export", told),
            records=keep_records(exported, Path(scratch) / RECORDS, settings),
            replace=options.replace,
        )
    size, gate = folder_size(options.output), metrics["export"]["gate"]
    return metrics, [size_check(size, LARGEST_MB), gate_check(gate, counted="words")]


def read_export(path: Path) -> Bundle:
    """The biLM, after a check that it is one and that int8 was tried."""
    bundle = read_bundle(path)
    if bundle.config.kind != "embedder":
        raise BundleError(f"{path}: expected an embedder, found kind {bundle.config.kind!r}")
    if not bundle.is_exported or "gate" not in bundle.metrics.get("export", {}):
        raise BundleError(f"{path}: expected what softquery export --int8 wrote")
    return bundle


def read_yardstick(path: Path, vocabulary: int) -> dict[str, Any]:
    """The 5-gram that saw as many words."""
    try:
        runs = json.loads(path.read_text("utf-8"))["runs"]
        found = [run for run in runs if run["vocabulary"] == vocabulary]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"is no result of kneser_ney.py ({error!r})", source=path) from None
    if not found:
        raise InputError(f"has no run with a vocabulary of {vocabulary:,}", source=path)
    return dict(found[0])


def card(metrics: dict[str, Any], yardstick: dict[str, Any]) -> Card:
    """What there is to say."""
    training, dev = metrics["training"], metrics["dev"]
    numbers = [
        CardNumber(metric=f"perplexity_{way}", value=dev[f"perplexity_{way}"], n=dev["n"],
                   data="enwiki-2015 valid")
        for way in ("forwards", "backwards")
    ] + [
        CardNumber(metric=f"… of a Kneser–Ney 5-gram, {way}", value=yardstick[f"perplexity_{way}"],
                   n=yardstick["n"], data="enwiki-2015 valid")
        for way in ("forwards", "backwards")
    ]  # fmt: skip
    return Card(
        name=NAME,
        purpose="Gives every word of an English text a vector that depends on its sentence: "
        "ELMo's biLM, small, to embed with and to build taggers and matchers on.",
        languages=["en"],
        licence=LICENCE,
        data=[
            CardData(
                name="enwiki-2015",
                rows=training["words"],
                licence="CC BY-SA",
                note="words of English Wikipedia, ends of lines included",
            )
        ],  # fmt: skip
        training={
            "recipe": NAME,
            "model": "LSTMs 1,024 wide with projections to 192, two layers each way; 512 filters",
            "seed": training["seed"],
            "passes over the text": training["epochs"] // 2,
            "steps": training["steps"],
            "seconds": f"{training['seconds']} on one H200, beside another run",
            "words that were predicted": dev["vocabulary"],
            "all settings": f"{RECORDS}/{SETTINGS}",
        },
        numbers=numbers,
        limits=[
            f"Perplexities are over {dev['vocabulary']:,} words with all others as one <unk> "
            f"({dev['unknown_share']:.1%} of valid), state carried on from line to line; the "
            "5-gram saw the same words and one line at a time.",
            "It has read an encyclopaedia: chat, captions and tweets are other text. Adapt it "
            "with --init where that matters.",
            "Vectors are made for a sentence at a time, from zero, unless --stateful is asked for.",
            "It knows no language but English; other scripts are read byte by byte and mean "
            "little to it.",
            "What the text of its time says about people and places, it has learnt, biases "
            "included.",
        ],
    )


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("exported", type=Path, help="what softquery export --int8 wrote")
    parser.add_argument("--yardstick", type=Path, required=True, help="of kneser_ney.py")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--replace", action="store_true", help="an older bundle gives way")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main() -> int:
    """Parse, finish and print."""
    return run_script(finish, options_of())


if __name__ == "__main__":
    sys.exit(main())
