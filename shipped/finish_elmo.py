r"""From an exported biLM to the shipped `elmo-en`: its card, and its folder in the package.

softquery train elmo-en --data enwiki-2015 --output trained
softquery export trained --output exported --int8 --drop-softmax --data enwiki-2015/valid.txt.xz
python shipped/finish_elmo.py exported --yardstick benchmarks/results/kneser_ney.json \
        --output src/softquery/zoo/models/elmo-en
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from records import LEFT_BEHIND, recipe_settings

from softquery.bundle import Card, CardData, CardNumber, make_card
from softquery.bundle.update import with_section
from softquery.files import write_json, write_text
from softquery.recipes import recipe

NAME = "elmo-en"
LICENCE = "cc-by-sa-4.0"


def main() -> None:
    """Read the command line and act."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("exported", type=Path)
    parser.add_argument("--yardstick", type=Path, required=True, help="of kneser_ney.py")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    finish(options.exported, options.yardstick, options.output)


def finish(exported: Path, yardstick: Path, output: Path) -> None:
    """Copy the bundle, less what training left behind, and write its card."""
    run = json.loads((exported / "training" / "run.json").read_text("utf-8"))
    settings = recipe_settings(run, recipe(NAME).to_dict())
    metrics = json.loads((exported / "metrics.json").read_text("utf-8"))
    runs = json.loads(yardstick.read_text("utf-8"))["runs"]
    size = metrics["dev"]["vocabulary"]
    best = next(run for run in runs if run["vocabulary"] == size)
    shutil.copytree(exported, output, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
    write_json(output / "training" / "run.json", settings)
    told = (exported / "README.md").read_text("utf-8")
    body = told.partition("## Export\n")[2].strip().splitlines()
    made = with_section(make_card(card(metrics, best), kind="embedder"), "Export", body)
    write_text(output / "README.md", made)


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
            "all settings": "training/run.json",
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


if __name__ == "__main__":
    main()
