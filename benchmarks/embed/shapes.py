r"""How fast a pooled encoder is by its shape, beside a bundle: random weights, speed alone.

    python benchmarks embed shapes --data DATA --beside forms/minilm-int8 --output shapes.json
    python benchmarks embed shapes --data DATA --beside forms/minilm-int8 --output shapes.json \
        --shape convolution-3x256 --shape "wide=body=convolution,hidden_size=512"

Each shape is written with random weights, exported to int8 and timed like the encoders of
`encode_speed`: in a process of its own, in turns, from strings to vectors. All of them cut texts by
the tokenizer of the bundle beside them. A `--shape` is the name of one below, or `NAME=` and
settings of a pooled encoder. Exported shapes are kept where `--work` is given, and used again.
"""

import argparse
import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from benchmarks.compare.compare_page import machine
from benchmarks.embed.sentence_sets import read_intents
from benchmarks.embed.speed_turns import SHORT, Contestant, Scenes, Turn, in_turns

import softquery
from softquery.bundle import BundleConfig, read_bundle, write_bundle
from softquery.export import export_sentence_encoder
from softquery.files import Row, write_json
from softquery.models import PooledEncoder, PooledEncoderConfig
from softquery.text import TextPipeline

BESIDE = "beside"
Settings = Mapping[str, Any]


def _convolution(num_layers: int, **more: Any) -> dict[str, Any]:
    settings = {"body": "convolution", "embedding_size": 256, "hidden_size": 256, "num_queries": 8}
    return {**settings, "num_layers": num_layers, **more}


def _recurrent(hidden_size: int) -> dict[str, Any]:
    return {"body": "recurrent", "embedding_size": 256, "hidden_size": hidden_size}


SHAPES: dict[str, Settings] = {
    "static-256": {"body": "static", "embedding_size": 256, "pools": ("query",)},
    **{f"convolution-{n}x256": _convolution(n) for n in (2, 3, 4)},
    **{f"convolution-{n}x256-middle": _convolution(n, middle_size=512) for n in (2, 3, 4)},
    **{f"convolution-{n}x256-window-5": _convolution(n, window=5) for n in (2, 3, 4)},
    **{f"bilstm-{size}": _recurrent(size) for size in (128, 192, 256)},
}


def main() -> None:
    options = parsed()
    shapes = dict(map(shape_of, options.shape)) if options.shape else SHAPES
    asked = read_intents(options.data, "vira").asked
    pipeline = softquery.load(options.beside, threads=1).pipeline
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        paths = {name: exported(shapes[name], pipeline, asked, work / name) for name in shapes}
        told, turns = in_turns(
            [
                *(Contestant(name, "model", str(path)) for name, path in paths.items()),
                Contestant(BESIDE, "model", str(options.beside)),
            ],
            scenes_of(asked, options.questions),
            threads=options.threads,
            rounds=options.rounds,
            calls=options.calls,
        )
    rows = rows_of(turns, len(asked[: options.questions]))
    report = {
        "machine": machine(),
        "threads": options.threads,
        "rounds": options.rounds,
        "calls": options.calls,
        "shapes": shapes,
        "rows": {name: {**told[name], **row} for name, row in rows.items()},
    }
    write_json(options.output, report)
    for name, row in rows.items():
        print(
            f"{name:28} {row['one_ms']:.3f} ms  {row['questions_per_s']:8,.0f}/s  "
            f"x{row['times_one']:.1f}  x{row['times_questions']:.1f}"
        )


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="with intents/vira")
    parser.add_argument("--beside", type=Path, required=True, help="the bundle to be faster than")
    parser.add_argument("--shape", action="append", default=[], help="all by default")
    parser.add_argument("--work", type=Path, help="where exported shapes are kept")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=150)
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--output", type=Path, required=True)
    return parser.parse_args()


def shape_of(text: str) -> tuple[str, Settings]:
    """A shape by its name, or a new one with its settings.

    >>> shape_of("bilstm-128")[1]["hidden_size"]
    128
    >>> shape_of("flat=body=static,pools=query+max,embedding_size=64")
    ('flat', {'body': 'static', 'pools': ('query', 'max'), 'embedding_size': 64})
    """
    name, _, given = text.partition("=")
    if not given:
        if name not in SHAPES:
            raise SystemExit(f"no shape {name!r}; there are {', '.join(SHAPES)}")
        return name, SHAPES[name]
    settings: dict[str, Any] = {}
    for each in given.split(","):
        key, _, value = each.partition("=")
        settings[key] = int(value) if value.isdigit() else value
    if "pools" in settings:
        settings["pools"] = tuple(settings["pools"].split("+"))
    return name, settings


def exported(shape: Settings, pipeline: TextPipeline, asked: list[str], folder: Path) -> Path:
    """A bundle of this shape in int8, whatever its vectors are worth."""
    small = folder / "int8"
    if small.exists():
        return small
    torch.manual_seed(0)
    config = PooledEncoderConfig(vocab_size=pipeline.vocab_size, **shape)
    weights = PooledEncoder(config).state_dict()
    bundle = write_bundle(
        folder / "float32",
        config=BundleConfig(
            kind="sentence-encoder",
            model={"name": "pooled-encoder", "config": asdict(config)},
            task={"name": "encode", "prefixes": []},
            text=pipeline.config.to_dict(),
            library_version=softquery.__version__,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={name: values.numpy() for name, values in weights.items()},
        metrics={},
        card="# Random weights\n",
    )
    pairs = zip(asked[0:80:2], asked[1:80:2], strict=True)
    rows = [
        Row({"sentence1": one, "sentence2": other, "label": str(place % 5)}, place, "vira")
        for place, (one, other) in enumerate(pairs)
    ]
    report = export_sentence_encoder(read_bundle(bundle), small, int8=True, limit=100, rows=rows)
    return report.bundle


def scenes_of(asked: list[str], num_questions: int) -> Scenes:
    """Short texts one by one, and questions at once."""
    questions, others = asked[:num_questions], asked[num_questions:]
    one = [text for text in others if len(text.split()) in SHORT]
    return Scenes(one=one, questions=questions, sentences=[], stored=[])


def rows_of(turns: Mapping[str, list[Turn]], num_questions: int) -> dict[str, dict[str, float]]:
    """Medians of the rounds, and how many times as fast as the bundle beside, round by round."""
    rows = {}
    for name, own in turns.items():
        parts = list(zip(turns[BESIDE], own, strict=True))
        rows[name] = {
            "one_ms": 1000 * statistics.median(turn.one for turn in own),
            "questions_per_s": num_questions / statistics.median(turn.questions for turn in own),
            "times_one": statistics.median(theirs.one / ours.one for theirs, ours in parts),
            "times_questions": statistics.median(
                theirs.questions / ours.questions for theirs, ours in parts
            ),
        }
    return rows


if __name__ == "__main__":
    main()
