"""What pretraining is worth: one encoder on three tasks, pretrained and from random weights.

    python benchmarks bert tasks train --bert bert-mini-en --minilm MINILM_BUNDLE \
        --sst2 DIR --snli DIR --conll DIR --jobs 4
    python benchmarks bert tasks transformers --folder MINILM_FOLDER --snli DIR
    python benchmarks bert tasks report

`train` runs every variant with every seed, a few side by side, and adds a row to
`tasks.jsonl` as each finishes; runs that stand there already are not run again.
`transformers` fine-tunes the same weights on the same rows by the same recipe with that library, so
that both can be compared in one run. `report` prints the tables. SST-2 is read as
`classify.py prepare` writes it.
"""

import argparse
import fnmatch
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.shared.side_by_side import (
    Planned,
    add_row,
    add_training_options,
    logged,
    read_rows,
    steered,
    train_as_asked,
)

HERE = Path(__file__).parent
RESULTS = HERE / "tasks.jsonl"
TASKS = {"sst2": "bert-classify", "snli": "bert-match", "conll": "bert-tag"}
TITLES = {"sst2": "SST-2, accuracy", "snli": "SNLI, accuracy", "conll": "CoNLL-2003, F1"}
PRETRAINED = (
    "optim.lr=2e-4",
    "training.max_epochs=8",
    "training.patience=8",
    "training.precision=bf16-mixed",
)
"""Small encoders like more and larger steps than the paper's."""
RANDOM = (
    "bert.weights=random",
    "optim.lr=3e-4",
    "training.max_epochs=15",
    "training.patience=5",
    "training.precision=bf16-mixed",
)
"""Without pretraining, more and larger steps are needed; both are given."""
SAME = ("optim.lr=5e-5", "training.max_epochs=3", "data.batch_size=32", "text.max_tokens=64")
"""The recipe by which both libraries fine-tune MiniLM, in float32."""
WANTED_GAIN, WANTED_NEAR = 6.0, 0.3


def runs(options: argparse.Namespace) -> Iterator[Planned]:
    """Every variant with every seed; the long ones first."""
    for seed in range(1, options.seeds + 1):
        for task, recipe in TASKS.items():
            data = getattr(options, task)
            if data is None:
                continue
            common = {"recipe": recipe, "data": data, "seed": seed}
            base = f"bert.bundle={options.bert}"
            yield Planned(name=f"random-{task}", settings=(base, *RANDOM), **common)
            yield Planned(name=f"pretrained-{task}", settings=(base, *PRETRAINED), **common)
            if options.minilm is not None:
                base = f"bert.bundle={options.minilm}"
                same = SAME if task == "snli" else SAME[:-1]
                yield Planned(name=f"minilm-{task}", settings=(base, *same), **common)


def train(options: argparse.Namespace) -> None:
    """Fine-tune what is not there yet."""
    chosen = [
        run for run in runs(options)
        if any(fnmatch.fnmatch(run.name, pattern) for pattern in options.only)
    ]  # fmt: skip
    train_as_asked(
        options, chosen, show=steered, beside=lambda run, bundle: {"curve": curve(bundle)}
    )


def curve(bundle: Path) -> list[float]:
    """What the run was steered by, after each epoch."""
    metric = next(iter(json.loads((bundle / "metrics.json").read_text())["tune"]))
    return logged(bundle, f"tune_{metric}")


def through_transformers(options: argparse.Namespace) -> None:
    """The recipe `SAME` with the other library: its model, its tokenizer, a plain loop."""
    done = {(row["name"], row["seed"]) for row in read_rows(options.results)}
    for seed in range(1, options.seeds + 1):
        if ("transformers-snli", seed) not in done:
            add_row(options.results, fine_tuned(options, seed))


def fine_tuned(options: argparse.Namespace, seed: int) -> dict[str, Any]:
    """One run, measured on dev after its last epoch."""
    import torch
    import transformers

    from softquery.recipes import override, recipe
    from softquery.running.adapter import read_splits
    from softquery.running.match import MatchAdapter

    run = override(recipe("bert-match"), [*SAME, *options.set, f"training.seed={seed}"])
    splits, _, _ = read_splits(run, MatchAdapter(), options.snli, None, lambda line: None)
    labels = sorted({row.values["label"] for row in splits["train"]})
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(seed)
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.folder)
    model = transformers.BertForSequenceClassification.from_pretrained(
        options.folder, num_labels=len(labels)
    ).to(device)
    optimizer = torch.optim.AdamW(decayed(model, run.optim.weight_decay), lr=run.optim.lr)
    steps = run.training.max_epochs * -(-len(splits["train"]) // run.data.batch_size)
    if run.training.max_steps is not None:
        steps = min(steps, run.training.max_steps)
    schedule = transformers.get_linear_schedule_with_warmup(
        optimizer, round(run.schedule.warmup_share * steps), steps
    )

    def encoded(rows: list[Any]) -> dict[str, Any]:
        sides = [[row.values[name] for row in rows] for name in ("sentence1", "sentence2")]
        made = tokenizer(*sides, padding=True, truncation=True, max_length=127, return_tensors="pt")
        return {name: value.to(device) for name, value in made.items()}

    began, step, draw = time.monotonic(), 0, random.Random(seed)
    model.train()
    while step < steps:
        for rows in shuffled(splits["train"], run.data.batch_size, draw):
            gold = torch.tensor([labels.index(row.values["label"]) for row in rows], device=device)
            loss = model(**encoded(rows), labels=gold).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), run.optim.clip_norm)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            step += 1
            if step == steps:
                break
    seconds = time.monotonic() - began
    model.eval()
    right = 0
    with torch.inference_mode():
        for start in range(0, len(splits["dev"]), 256):
            rows = splits["dev"][start : start + 256]
            found = model(**encoded(rows)).logits.argmax(dim=1).tolist()
            right += sum(labels[each] == row.values["label"]
                         for each, row in zip(found, rows, strict=True))  # fmt: skip
    accuracy = right / len(splits["dev"])
    print(f"transformers-snli seed {seed}: dev {accuracy:.4f} {seconds:.0f} s", flush=True)
    return {
        "name": "transformers-snli",
        "seed": seed,
        "dev": {"accuracy": accuracy, "n": len(splits["dev"])},
        "tune": {"accuracy": None},
        "training": {"seconds": round(seconds, 1), "steps": steps},
    }


def decayed(model: Any, weight_decay: float) -> list[dict[str, Any]]:
    """Matrices decay, biases and normalisations do not, as in our recipe."""
    matrices = [each for each in model.parameters() if each.ndim > 1]
    others = [each for each in model.parameters() if each.ndim <= 1]
    return [{"params": matrices, "weight_decay": weight_decay},
            {"params": others, "weight_decay": 0.0}]  # fmt: skip


def shuffled(rows: list[Any], batch_size: int, draw: random.Random) -> Iterator[list[Any]]:
    """Batches of rows of like length, in random order."""
    order = list(range(len(rows)))
    draw.shuffle(order)
    chunk = 50 * batch_size
    batches = []
    for start in range(0, len(order), chunk):
        some = sorted(order[start : start + chunk], key=lambda row: length(rows[row]))
        batches += [some[place : place + batch_size] for place in range(0, len(some), batch_size)]
    draw.shuffle(batches)
    return ([rows[row] for row in batch] for batch in batches)


def length(row: Any) -> int:
    """About how long a pair is."""
    return len(row.values["sentence1"]) + len(row.values["sentence2"])


def report(options: argparse.Namespace) -> None:
    """Print what was reached, and what it is to be compared with."""
    rows = read_rows(options.results)
    if not rows:
        sys.exit(f"{options.results}: no results yet")
    found: dict[str, list[float]] = {}
    print("| variant | metric | seeds | dev | seconds |\n|---|---|---|---|---|")
    for name in sorted({row["name"] for row in rows}):
        some = [row for row in rows if row["name"] == name]
        metric = next(iter(some[0]["tune"]))
        found[name] = [100 * row["dev"][metric] for row in some]
        seconds = statistics.mean(row["training"]["seconds"] for row in some)
        print(f"| {name} | {metric} | {len(some)} | {spread(found[name])} | {seconds:.0f} |")
    print()
    gains = {
        task: statistics.mean(found[f"pretrained-{task}"])
        - statistics.mean(found[f"random-{task}"])
        for task in TASKS
        if {f"pretrained-{task}", f"random-{task}"} <= set(found)
    }  # fmt: skip
    if gains:
        mean = statistics.mean(gains.values())
        told = ", ".join(f"{task} {gain:+.2f}" for task, gain in gains.items())
        print(f"pretraining: {told}; mean {mean:+.2f} (wanted: {WANTED_GAIN:+.1f})")
    if {"minilm-snli", "transformers-snli"} <= set(found):
        ours, theirs = (
            statistics.mean(found[f"{name}-snli"]) for name in ("minilm", "transformers")
        )
        print(f"MiniLM on SNLI: ours {ours:.2f}, transformers {theirs:.2f}, difference "
              f"{ours - theirs:+.2f} (wanted: within {WANTED_NEAR})")  # fmt: skip
    if options.json is not None:
        options.json.write_text(json.dumps({"dev": found, "gains": gains}, indent=1) + "\n")
    draw(rows, options.picture)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """What is held back by epoch, a panel a task: a line a seed, a colour a start."""
    from matplotlib.figure import Figure

    curves: dict[str, list[list[float]]] = {}
    for row in rows:
        if row.get("curve"):
            curves.setdefault(row["name"], []).append(row["curve"])
    shown = [task for task in TASKS if any(name.endswith(f"-{task}") for name in curves)]
    if not shown:
        return
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    for axes, task in zip(panels, shown, strict=True):
        for place, start in enumerate(("random", "pretrained", "minilm")):
            for number, each in enumerate(curves.get(f"{start}-{task}", [])):
                axes.plot(range(1, len(each) + 1), [100 * value for value in each], marker=".",
                          color=f"C{place}", label=None if number else start)  # fmt: skip
        axes.set(title=TITLES[task], xlabel="epoch", ylabel="held back, %")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    figure.savefig(path, dpi=110)


def spread(values: list[float]) -> str:
    """Mean and standard deviation."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.2f} ± {deviation:.2f}"


def main() -> None:
    """Read the command line and act."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    training = verbs.add_parser("train")
    training.add_argument("--bert", required=True, help="a pretrained BERT: a bundle, or a name")
    training.add_argument("--minilm", help="MiniLM, imported as a bundle")
    for task in TASKS:
        training.add_argument(f"--{task}", type=Path, help="its folder; left out without one")
    training.add_argument("--only", nargs="*", default=["*"], help="variants, such as 'random-*'")
    add_training_options(training, work=Path("runs/bert_tasks"), results=RESULTS)
    training.set_defaults(act=train)
    other = verbs.add_parser("transformers")
    other.add_argument("--folder", type=Path, required=True, help="MiniLM, as it was published")
    other.add_argument("--snli", type=Path, required=True)
    other.add_argument("--seeds", type=int, default=3)
    other.add_argument("--set", action="append", default=[], help="for every run")
    other.set_defaults(act=through_transformers)
    reporting = verbs.add_parser("report")
    reporting.add_argument("--json", type=Path, help="the figures as a file, too")
    reporting.add_argument("--picture", type=Path, default=HERE / "tasks.png")
    reporting.set_defaults(act=report)
    for verb in (other, reporting):
        verb.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
