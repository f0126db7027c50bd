r"""What a shipped encoder gains from texts of one's own: `softquery distill --init`, no labels.

    softquery import sentence-transformers all-MiniLM-L6-v2 --output minilm
    python benchmarks embed adapt --data DATA --teacher all-MiniLM-L6-v2 --teacher-bundle minilm \
        --output adapt.json

For each set of intents, `embed-en` goes on under the teacher's vectors of the set's `train` texts,
whose labels are not read; then train is stored, `test` is asked, and the nearest stored row
answers. How often its label is the right one is measured before and after, and for the teacher.
At most 3,000 rows are asked. Runs that are in the output are not repeated.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.embed.sentence_scores import nearest
from benchmarks.embed.sentence_sets import Intents, read_intents

import softquery as sq
from softquery.files import write_json

SETS = ("vira", "dstc11_insurance", "redwood_new")
"""Sets whose sources are in none of the texts that `embed-en` was taught by."""
ASKED = 3_000


def first_answers(model: Any, intents: Intents) -> float:
    """How often the nearest stored row has the right label."""
    asked = intents.asked[:ASKED]
    places, _ = nearest(model.encode(intents.stored), model.encode(asked))
    found = [intents.stored_labels[place] for place in places]
    return float(np.mean([a == b for a, b in zip(found, intents.asked_labels, strict=False)]))


def adapted(texts: list[str], options: argparse.Namespace, seed: int) -> tuple[Any, float]:
    """The encoder after it has read the texts, and the seconds of its training."""
    with tempfile.TemporaryDirectory() as folder:
        path, output = Path(folder, "texts.txt"), Path(folder, "adapted")
        path.write_text("".join(" ".join(text.split()) + "\n" for text in texts), "utf-8")
        command = [sys.executable, "-m", "softquery", "distill", options.teacher]
        command += ["--texts", str(path), "--init", options.model, "--output", str(output)]
        command += ["--seed", str(seed), "--json", *options.settings]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return sq.load(output), json.loads(done.stdout)["training"]["seconds"]


def main() -> None:
    """Measure every set, and write after each run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--teacher", required=True, help="a folder of sentence-transformers")
    parser.add_argument("--teacher-bundle", required=True, help="the same, imported")
    parser.add_argument("--model", default="embed-en")
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--settings", nargs="*", default=[], help="such as --set=optim.lr=1e-3")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    if options.output.exists():
        rows = json.loads(options.output.read_text("utf-8"))
    done = {(row["set"], row["system"], row.get("seed")) for row in rows}

    def note(name: str, system: str, **facts: Any) -> None:
        rows.append({"set": name, "system": system, **facts})
        print(json.dumps(rows[-1]), flush=True)
        write_json(options.output, rows)

    for name in options.sets:
        intents = read_intents(options.data, name)
        for system, bundle in (("before", options.model), ("teacher", options.teacher_bundle)):
            if (name, system, None) not in done:
                note(name, system, first=first_answers(sq.load(bundle), intents))
        for seed in options.seeds:
            if (name, "adapted", seed) not in done:
                model, seconds = adapted(intents.stored, options, seed)
                first = first_answers(model, intents)
                note(
                    name,
                    "adapted",
                    seed=seed,
                    first=first,
                    texts=len(intents.stored),
                    seconds=seconds,
                )


if __name__ == "__main__":
    main()
