"""Tokens a second of BERT's pretraining: ours and `transformers`' BertForMaskedLM, in one run.

    python benchmarks/bert_speed.py --sizes mini base --output benchmarks/results/bert_speed.json

Both sides have the same sizes, the same dropout, bf16 autocast, fused AdamW and a clipped gradient.
First the loss of both is compared on equal weights and an equal batch. Then each trains for some
steps: ours with everything that a run does, hiding of words included; theirs on batches that lie
ready on the device. With `--text documents`, excerpts have many lengths: ours are packed, theirs
padded, and only real tokens count. On a CPU, `--tiny` shows that it works.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import transformers
from torch import Tensor, nn

from softquery.data import (
    NONE,
    DocumentText,
    MaskedBatch,
    MaskedText,
    Masking,
    Slot,
    bin_rows,
    bin_slots,
)
from softquery.interop.bert_config import names, prefixed, published_config
from softquery.models import Bert, BertConfig
from softquery.models.bert import presets
from softquery.recipes.bert import bert_mini
from softquery.runtime.torch_models import config_of
from softquery.tasks import MaskedLanguageModel
from softquery.training.loop import launch
from softquery.training.optim import build_optimizer
from softquery.training.steps import EagerStep, GraphedStep

CLS, SEP, MASK, PAD = 2, 3, 4, 0
NUM_RESERVED = 5
Batch = dict[str, Tensor]


def main() -> None:
    options = parsed()
    fabric = launch(devices=1, precision=options.precision, seed=1)
    report = {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "precision": options.precision,
        "length": options.length,
        "text": options.text,
        "dropout": options.dropout,
        "rows": [measured(fabric, size, count, options)
                 for size in options.sizes for count in options.batch],
    }  # fmt: skip
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=["mini", "base"], choices=list(presets()))
    parser.add_argument("--batch", type=int, nargs="+", default=[512], help="sequences a batch")
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--text", choices=["full", "documents"], default="full")
    parser.add_argument("--vocabulary", type=int, default=30_522)
    parser.add_argument("--dropout", type=float, default=0.1, help="of states and attention")
    parser.add_argument("--steps", type=int, default=20, help="steps a pass")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--precision", default="bf16-mixed")
    parser.add_argument("--compile", action="store_true", help="theirs through torch.compile, too")
    parser.add_argument("--tiny", action="store_true", help="sizes for a test on a CPU")
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


def measured(fabric, size: str, count: int, options: argparse.Namespace) -> dict:
    """One row: the losses of both, then the speed of each."""
    device = fabric.device
    torch.manual_seed(1)
    ours = Bert(config_for(size, options)).to(device)
    text, slots = made_text(count, options, device)
    batches = [text.batch(slot.rows.to(device), slot.length) for slot in slots]
    theirs = their_model(ours).to(device)
    row = {"size": size, "sequences": count, "steps": len(slots)}
    row["parameters"] = sum(parameter.numel() for parameter in ours.parameters())
    row["loss"] = losses(ours, theirs, batches[0], options.precision)
    real = statistics.mean(int((batch.tokens.ids != PAD).sum()) for batch in batches)
    row["filled"] = real / (len(batches[0].tokens.ids))
    work = {"ours": our_steps(fabric, ours, text, slots)}
    work["theirs"] = their_steps(theirs, [padded(batch, options) for batch in batches], options)
    for name, steps in work.items():
        row[name] = speed(steps, real, len(slots), options.passes)
        print(json.dumps({"size": size, name: rounded(row[name])}), flush=True)
    if options.compile:
        compiled = torch.compile(their_model(ours).to(device))
        steps = their_steps(compiled, [padded(batch, options) for batch in batches], options)
        row["theirs_compiled"] = speed(steps, real, len(slots), options.passes)
    row["times"] = row["ours"]["tokens_per_second"] / row["theirs"]["tokens_per_second"]
    print(json.dumps(rounded(row)), flush=True)
    return row


def config_for(size: str, options: argparse.Namespace) -> BertConfig:
    config = replace(
        presets()[size],
        vocab_size=options.vocabulary,
        heads="words",
        pooler=False,
        dropout=options.dropout,
        attention_dropout=options.dropout,
    )
    if options.tiny:
        config = replace(config, num_layers=2, num_heads=2, hidden_size=32, inner_size=64)
    return config


def made_text(
    count: int, options: argparse.Namespace, device: torch.device
) -> tuple[MaskedText, list[Slot]]:
    """Pieces by Zipf's law, in one document, or in many of different lengths."""
    draw = np.random.default_rng(1)
    total = options.steps * count * (options.length - 2)  # as many full sequences as are read
    ranks = np.arange(1, options.vocabulary - NUM_RESERVED + 1)
    shares = (1 / (ranks + 2.7)).cumsum()
    chosen = np.searchsorted(shares / shares[-1], draw.random(total))
    ids = torch.from_numpy(NUM_RESERVED + chosen.clip(max=len(ranks) - 1)).int()
    starts = np.array([0, total])
    if options.text == "documents":
        sizes = draw.lognormal(4.5, 1.0, total // 20).astype(np.int64) + 2
        starts = np.concatenate([[0], sizes.cumsum()])
        starts = np.concatenate([starts[starts < total], [total]])
    documents = DocumentText(ids, starts, starts[:-1])
    ordinary = torch.arange(NUM_RESERVED, options.vocabulary, device=device)
    continues = torch.zeros(options.vocabulary, dtype=torch.bool, device=device)
    text = MaskedText(ids.to(device), Masking(), ordinary, continues, (CLS, SEP, MASK, PAD))
    rows = bin_rows(documents.excerpts(options.length - 2), options.length, salt=1, draw=draw)
    return text, bin_slots(rows, options.length, count)[: options.steps]


def their_model(ours: Bert) -> nn.Module:
    """BertForMaskedLM with our weights."""
    config = config_of(ours)
    settings = published_config(config, pad_id=PAD)
    theirs = transformers.AutoModelForMaskedLM.from_config(
        transformers.BertConfig(**settings), attn_implementation="sdpa"
    )
    weights = ours.state_dict()
    theirs.load_state_dict(
        {prefixed(name, "words"): weights[mine].clone() for name, mine, _ in names(config)},
        strict=False,
    )
    theirs.tie_weights()
    return theirs


def padded(batch: MaskedBatch, options: argparse.Namespace) -> Batch:
    """The same sequences as `transformers` reads them; without a mask where all are full."""
    ids, packing = batch.tokens.ids, batch.tokens.packing
    labels = torch.full_like(ids, NONE).scatter(0, batch.places, batch.targets)
    if options.text == "full":
        shape = (-1, options.length)
        return {"input_ids": ids.view(shape), "labels": labels.view(shape)}
    real = (ids[batch.firsts] == CLS) & (packing.lengths() > 0)  # the rest is room for more
    starts, lengths = packing.starts[:-1][real].long(), packing.lengths()[real].long()
    place = torch.arange(options.length, device=ids.device)
    mask = place < lengths.unsqueeze(1)
    places = (starts.unsqueeze(1) + place).clamp(max=len(ids) - 1)
    return {
        "input_ids": ids[places].masked_fill(~mask, PAD),
        "attention_mask": mask.long(),
        "labels": labels[places].masked_fill(~mask, NONE),
    }


@torch.no_grad()
def losses(ours: Bert, theirs: nn.Module, batch: MaskedBatch, precision: str) -> dict[str, float]:
    """Of both on the same batch, without dropout, in float32 and as it is trained."""
    found = {}
    options = argparse.Namespace(text="documents", length=batch.tokens.packing.longest)
    for name in dict.fromkeys(("32-true", precision)):
        with autocast(name, batch.places.device):
            mine = MaskedLanguageModel().loss(ours.eval()(batch), batch)
            other = theirs.eval()(**padded(batch, options)).loss
        found[f"ours {name}"], found[f"theirs {name}"] = mine.item(), other.item()
    ours.train()
    theirs.train()
    return found


def our_steps(fabric, model: Bert, text: MaskedText, slots: list[Slot]) -> Callable[[], object]:
    optimizer = build_optimizer(bert_mini().optim, model.parameters(), fabric.device)
    wrapped, optimizer = fabric.setup(model, optimizer)
    kind = GraphedStep if GraphedStep.serves(fabric, 1) else EagerStep
    loss = MaskedLanguageModel().loss
    step = kind(fabric, wrapped, optimizer, make_batch=text.batch, loss=loss, clip_norm=1.0)
    model.train()
    return lambda: [step(slot) for slot in slots]


def their_steps(
    model: nn.Module, batches: list[Batch], options: argparse.Namespace
) -> Callable[[], object]:
    device = next(model.parameters()).device
    fused = device.type == "cuda"
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=fused)

    def step(batch: Batch) -> None:
        with autocast(options.precision, device):
            loss = model(**batch).loss
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return lambda: [step(batch) for batch in batches]


def autocast(precision: str, device: torch.device):
    return torch.autocast(device.type, torch.bfloat16) if "bf16" in precision else nullcontext()


def speed(work: Callable[[], object], num_tokens: float, steps: int, passes: int) -> dict:
    """Real tokens a second: the median of some passes, after two to warm up and to record."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    seconds = []
    for number in range(2 + passes):
        synchronize()
        start = time.perf_counter()
        work()
        synchronize()
        seconds += [time.perf_counter() - start] if number >= 2 else []
    middle = statistics.median(seconds) / steps
    on_gpu = torch.cuda.is_available()
    return {
        "tokens_per_second": num_tokens / middle,
        "milliseconds": 1000 * middle,
        "peak_gigabytes": torch.cuda.max_memory_allocated() / 1e9 if on_gpu else 0.0,
    }


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    return round(value, 6) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
