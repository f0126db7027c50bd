r"""Turn trained runs of a recipe into the bundle that is shipped, with its card.

    python shipped/finish.py match-en --runs seed-1 seed-2 seed-3 --data prepared/match-en \
        --output src/softquery/zoo/models/match-en

`facts/NAME.json` says what differs from one model to the next; its kind decides how a model is
made (`MAKERS`). Of several runs, the one is taken that is best on what was held back; it is
exported with int8 behind the gate and measured as it will answer, without torch. Exits with 1 where
the model is too large, int8 too costly or a promise of its kind not kept, and with 2 where the
input cannot be used.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from answerers import make_answerer
from facts import Facts, known_models, read_facts
from generators import make_generator
from matchers import make_matcher, show_matcher
from pretrained import make_embedder, make_encoder
from sentence_encoders import make_sentence_encoder
from shipment import Check, Shipment, put_in_place, size_check

from softquery.cli.terminal.console import print_json, print_table
from softquery.errors import InputError, SoftqueryError
from softquery.runtime.calibrate import Aim
from softquery.zoo.glance import folder_size

MAKERS: dict[str, Callable[[Facts, argparse.Namespace, Path], Shipment]] = {
    "matcher": make_matcher,
    "classifier": make_answerer,
    "reader": make_answerer,
    "tagger": make_answerer,
    "generator": make_generator,
    "encoder": make_encoder,
    "embedder": make_embedder,
    "sentence-encoder": make_sentence_encoder,
}
MEASURED = ("embedder", "sentence-encoder")
"""Kinds whose figures come with the export or from a benchmark."""
SHOWN: dict[str, Callable[[dict[str, Any]], None]] = {"matcher": show_matcher}
"""Tables for people, of the kinds that have one beside the checks."""


def finish(options: argparse.Namespace) -> tuple[dict[str, Any], list[Check]]:
    """Do all of it; the metrics that were written, and whether they are good enough."""
    if options.output.exists() and not options.replace:
        message = "exists already; name another --output or say --replace"
        raise InputError(message, source=options.output)
    facts = read_facts(options.name, options.facts, options.licence)
    if facts.kind not in MAKERS:
        raise InputError(f"{facts.name}: no maker for kind {facts.kind!r}")
    if facts.kind not in MEASURED and options.data is None:
        raise InputError(f"{facts.name} is measured on text: name it with --data")
    options.gate = facts.gate if options.gate is None else options.gate
    with tempfile.TemporaryDirectory() as scratch:
        made = MAKERS[facts.kind](facts, options, Path(scratch))
        put_in_place(options.output, made, replace=options.replace)
    if not options.json and facts.kind in SHOWN:
        SHOWN[facts.kind](made.metrics)
    return made.metrics, [size_check(folder_size(options.output), facts.largest_mb), *made.checks]


def show_checks(found: Sequence[Check]) -> None:
    """A table for people."""
    verdicts = [(each.what, each.found, "pass" if each.passed else "FAIL") for each in found]
    print_table("must hold", ("check", "found", ""), verdicts)


def named(text: str) -> tuple[str, Path]:
    """NAME=FILE of a set of rows."""
    name, _, path = text.partition("=")
    if not path:
        raise argparse.ArgumentTypeError(f"expected NAME=FILE, got {text!r}")
    return name, Path(path)


def parse_aim(text: str) -> Aim:
    """`f1`, or a precision to keep such as 0.95."""
    return "f1" if text == "f1" else float(text)


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=known_models())
    parser.add_argument("--runs", type=Path, nargs="+", required=True,
                        help="trained bundles, or the exported one")  # fmt: skip
    parser.add_argument("--data", type=Path,
                        help="folder of train, dev and tune; of an encoder a text")  # fmt: skip
    parser.add_argument("--also", type=named, action="append", default=[],
                        help="NAME=FILE of another set to be measured on")  # fmt: skip
    parser.add_argument("--figures", type=Path,
                        help="of bert/tasks, elmo/kneser_ney or embed/quality")  # fmt: skip
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--replace", action="store_true", help="an older bundle gives way")
    parser.add_argument("--facts", type=Path, help="by default those of the name")
    parser.add_argument("--licence", help="of the weights; by default what the facts say")
    parser.add_argument("--gate", type=float, help="what int8 may cost; by default as in the facts")
    parser.add_argument("--probes", type=Path, help="of a matcher; by default those of the name")
    parser.add_argument("--aim", type=parse_aim,
                        help="a matcher's threshold: for f1, or for a precision")  # fmt: skip
    parser.add_argument("--threads", type=int)
    parser.add_argument("--device", help="for seeds in float32 by torch, such as cuda")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Finish and print: 0, 1 where something does not hold, 2 where the input cannot be used."""
    options = options_of(arguments)
    try:
        metrics, found = finish(options)
    except SoftqueryError as error:
        print(f"finish: {error}", file=sys.stderr)
        return 2
    if options.json:
        print_json({"metrics": metrics, "checks": [asdict(each) for each in found]})
    else:
        show_checks(found)
    failed = [f"{each.what}: {each.found}" for each in found if not each.passed]
    for line in failed:
        print(f"finish: not good enough, {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
