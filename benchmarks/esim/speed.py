"""Training speed of ESIM on one GPU: a plain eager loop, our eager step, our recorded step.

    python benchmarks esim speed --data DATA --output speed.json

All three see the same real, length-bucketed batches of the training file; each step is forward,
backward, clipping and the optimiser's update. Pairs per second are medians over repeated passes, in
one run.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import torch
from benchmarks.esim.plain_esim import PlainEsim

from softquery.data import Slot, bucketed, encode_pairs
from softquery.files import find_split, read_rows
from softquery.models import Esim, EsimConfig
from softquery.tasks import PairClassification
from softquery.text import TextConfig, build_pipeline
from softquery.training.loop import launch
from softquery.training.optim import Optim, build_optimizer
from softquery.training.steps import EagerStep, GraphedStep

LABELS = ("entailment", "neutral", "contradiction")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[32, 256, 512])
    parser.add_argument("--hidden-size", type=int, default=300)
    parser.add_argument("--embedding-size", type=int, default=150)
    parser.add_argument("--steps", type=int, default=150, help="batches a pass")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--precision", default="32-true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    fabric = launch(devices=1, precision=options.precision, seed=1)
    path = find_split(options.data, "train")
    rows = list(read_rows(path, columns=["sentence1", "sentence2", "label"]))
    texts = (row.values[key] for row in rows for key in ("sentence1", "sentence2"))
    pipeline = build_pipeline(texts, TextConfig())
    task = PairClassification(labels=LABELS)
    pairs = encode_pairs(rows, pipeline, parse_label=task.parse_label)
    lengths, resident = pairs.lengths(), pairs.to(fabric.device)
    table = []
    for batch_size in options.batch_sizes:
        slots = bucketed(lengths, batch_size=batch_size, seed=1, epoch=0)
        slots = [slot for slot in slots if len(slot.rows) == batch_size][: options.steps]
        line = {"batch_size": batch_size, "shapes": len({slot.length for slot in slots})}
        for name in ("plain", "eager", "graphed"):
            step = STEPS[name](fabric, resident, pipeline.vocab_size, task, options)
            line[name] = speed(step, slots, options.passes)
        line["graphed / plain"] = line["graphed"] / line["plain"]
        table.append(line)
        print(json.dumps({key: round(value, 2) for key, value in line.items()}), flush=True)
    if options.output:
        device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
        facts = {"device": device, "torch": torch.__version__, "precision": options.precision}
        options.output.write_text(json.dumps({**facts, "rows": table}, indent=1))


def speed(step, slots: list[Slot], passes: int) -> float:
    for _ in range(2):  # warm up: kernels, shapes, graphs
        for slot in slots:
            step(slot)
    rates = []
    for _ in range(passes):
        synchronize()
        start = time.perf_counter()
        for slot in slots:
            step(slot)
        synchronize()
        rates.append(sum(len(slot.rows) for slot in slots) / (time.perf_counter() - start))
    return statistics.median(rates)


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def plain_step(fabric, pairs, vocab_size, task, options):
    model = PlainEsim(vocab_size, options.embedding_size, options.hidden_size, len(LABELS))
    model.to(fabric.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-4)

    def step(slot: Slot) -> None:
        batch = pairs.batch(slot.rows.to(fabric.device), slot.length)
        half = options.precision == "bf16-mixed"
        with torch.autocast(fabric.device.type, torch.bfloat16, enabled=half):
            logits = model(batch.first.ids, batch.second.ids)
            loss = torch.nn.functional.cross_entropy(logits, batch.label)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()

    return step


def our_step(kind):
    def build(fabric, pairs, vocab_size, task, options):
        config = EsimConfig(
            vocab_size=vocab_size,
            embedding_size=options.embedding_size,
            hidden_size=options.hidden_size,
        )
        bare = Esim(config).to(fabric.device)
        optimizer = build_optimizer(Optim(), bare.parameters(), fabric.device)
        model, optimizer = fabric.setup(bare, optimizer)
        return kind(
            fabric, model, optimizer, make_batch=pairs.batch, loss=task.loss, clip_norm=10.0
        )

    return build


STEPS = {"plain": plain_step, "eager": our_step(EagerStep), "graphed": our_step(GraphedStep)}

if __name__ == "__main__":
    main()
