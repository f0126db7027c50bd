r"""A student's weights as a bundle, to be exported.

    PYTHONPATH=shipped python -m students.as_bundle student --output embed-en-float

`student` stands for `student.safetensors` and `student.json`, as `learn.py` writes them.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from softquery import __version__
from softquery.bundle import BundleConfig, write_bundle
from softquery.text import TextConfig, TextPipeline, pipeline_from_pieces

MAX_TOKENS = 64


def main() -> None:
    """Write the bundle."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("student")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    known = json.loads(Path(f"{options.student}.json").read_text(encoding="utf-8"))
    if "tokenizer" in known:
        text = TextConfig(unit="bpe", strip_accents=True, simplify=True, max_tokens=MAX_TOKENS)
        pipeline = TextPipeline(Tokenizer.from_str(known["tokenizer"]), text)
    else:
        text = TextConfig(unit="bert", strip_accents=True, max_tokens=MAX_TOKENS)
        pipeline = pipeline_from_pieces(known["pieces"], text)
    if pipeline.vocabulary() != known["pieces"]:
        raise SystemExit("the pieces are not in the order of the table")
    width, told = known["config"]["output_size"], known["told"]
    prefixes = [each for each in told.get("prefixes", (64, 128, 256)) if each < width]
    weights = load_file(f"{options.student}.safetensors")
    training = {
        "seed": told["seed"],
        "epochs": round(told["steps_done"] * told["batch"] / told["texts"], 1),
        "seconds": told["seconds_taken"],
    }
    records = Path(tempfile.mkdtemp())
    (records / "run.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    write_bundle(
        options.output,
        config=BundleConfig(
            kind="sentence-encoder",
            model={"name": "pooled-encoder", "config": known["config"]},
            task={"name": "encode", "prefixes": prefixes},
            text=pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={name: array.astype(np.float32) for name, array in weights.items()},
        metrics={"training": training},
        records=records,
        card=f"# {options.output.name}\n",
    )
    print(f"{options.output}: {pipeline.vocab_size:,} pieces")


if __name__ == "__main__":
    main()
