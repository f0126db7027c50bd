r"""Fine-tune a large cross-encoder on labelled pairs, and let it label pairs for a small model.

    python shipped/teacher.py fit --model MPNET --train train.jsonl --dev dev.jsonl --output TEACHER
    python shipped/teacher.py label --model TEACHER --pairs train.jsonl --pairs mined.jsonl \
        --output taught.jsonl

`fit` learns from `label`, or from `probabilities` where rows have them, and writes the accuracy on
each source of `--dev` to `OUTPUT/dev.json`. `label` adds `probabilities` to each row: what the
teacher thinks, half and half with the row's own label where it has one. Needs `transformers`.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import AutoModelForSequenceClassification, AutoTokenizer

LIMIT = 128
PAIR = ("sentence1", "sentence2")
Rows = list[dict[str, Any]]


def read(paths: list[Path]) -> Rows:
    """The rows of JSONL files."""
    return [json.loads(line) for path in paths for line in path.open(encoding="utf-8")]


class CrossEncoder:
    """A classifier that reads both sentences together."""

    def __init__(self, folder: Path, labels: list[str] | None = None) -> None:
        fresh = {} if labels is None else {"id2label": dict(enumerate(labels))}
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSequenceClassification.from_pretrained(folder, **fresh)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model.to(self.device)
        config = self.model.config.id2label
        self.labels = [config[place] for place in range(len(config))]

    def tokens(self, rows: Rows) -> list[list[int]]:
        """Ids of each pair, both sentences in one sequence."""
        first, second = ([row[name] for row in rows] for name in PAIR)
        return self.tokenizer(first, second, truncation=True, max_length=LIMIT)["input_ids"]

    def padded(self, ids: list[list[int]]) -> dict[str, Tensor]:
        """A batch on the device."""
        batch = self.tokenizer.pad({"input_ids": ids}, padding=True, pad_to_multiple_of=8,
                                   return_tensors="pt")  # fmt: skip
        return {name: value.to(self.device, non_blocking=True) for name, value in batch.items()}

    def logits(self, batch: dict[str, Tensor]) -> Tensor:
        """In bfloat16 on a GPU."""
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.device == "cuda"):
            return self.model(**batch).logits.float()

    def probabilities(self, rows: Rows, size: int = 512) -> np.ndarray:
        """What the teacher thinks of each pair."""
        self.model.eval()
        ids = self.tokens(rows)
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        found = np.zeros((len(rows), len(self.labels)), dtype=np.float32)
        with torch.inference_mode():
            for start in range(0, len(order), size):
                chosen = order[start : start + size]
                batch = self.padded([ids[place] for place in chosen])
                found[chosen] = self.logits(batch).softmax(dim=-1).cpu().numpy()
        return found

    def targets(self, rows: Rows) -> Tensor:
        """A distribution for each row."""
        shares = [row.get("probabilities") or {row["label"]: 1.0} for row in rows]
        return torch.tensor([[share.get(name, 0.0) for name in self.labels] for share in shares])


def batches(ids: list[list[int]], size: int, random: np.random.Generator) -> Iterator[list[int]]:
    """Places in batches of like length, in random order."""
    order = random.permutation(len(ids))
    pools = [order[start : start + 50 * size] for start in range(0, len(order), 50 * size)]
    cut = []
    for pool in pools:
        ranked = sorted(pool.tolist(), key=lambda place: len(ids[place]))
        cut += [ranked[start : start + size] for start in range(0, len(ranked), size)]
    yield from (cut[place] for place in random.permutation(len(cut)))


def fit(options: argparse.Namespace) -> None:
    """Fine-tune, measure on dev, save."""
    torch.manual_seed(options.seed)
    rows = [row for row in read(options.train) if row["source"] not in options.skip]
    labels = sorted({row["label"] for row in rows})
    encoder = CrossEncoder(options.model, labels)
    ids, targets = encoder.tokens(rows), encoder.targets(rows).to(encoder.device)
    steps = options.epochs * -(-len(ids) // options.batch)
    optimizer = torch.optim.AdamW(
        encoder.model.parameters(), lr=options.lr, weight_decay=0.01,
        fused=encoder.device == "cuda",
    )  # fmt: skip
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, options.lr, steps, pct_start=0.06, anneal_strategy="linear"
    )
    random, started = np.random.default_rng(options.seed), time.time()
    for epoch in range(options.epochs):
        encoder.model.train()
        total = torch.zeros((), device=encoder.device)
        for places in batches(ids, options.batch, random):
            loss = F.cross_entropy(
                encoder.logits(encoder.padded([ids[place] for place in places])), targets[places]
            )
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(encoder.model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.detach() * len(places)
        seconds = time.time() - started
        print(f"epoch {epoch + 1}: loss {float(total) / len(ids):.4f}, {seconds:.0f} s", flush=True)
    options.output.mkdir(parents=True, exist_ok=True)
    found = measure(encoder, read([options.dev]))
    print(json.dumps(found), flush=True)
    (options.output / "dev.json").write_text(json.dumps(found, indent=1))
    encoder.model.save_pretrained(options.output)
    encoder.tokenizer.save_pretrained(options.output)


def measure(encoder: CrossEncoder, rows: Rows) -> dict[str, dict[str, float]]:
    """Accuracy on each source."""
    right = encoder.probabilities(rows).argmax(axis=1) == [
        encoder.labels.index(row["label"]) for row in rows
    ]
    sources = np.array([row.get("source", "all") for row in rows])
    return {
        name: {"accuracy": float(right[sources == name].mean()), "n": int((sources == name).sum())}
        for name in dict.fromkeys(sources.tolist())
    }


def label(options: argparse.Namespace) -> None:
    """Add probabilities to rows."""
    encoder, rows = CrossEncoder(options.model), read(options.pairs)
    thought = encoder.probabilities(rows)
    with options.output.open("w", encoding="utf-8") as file:
        for row, share in zip(rows, thought, strict=True):
            if "label" in row:
                share = (
                    options.gold * (np.array(encoder.labels) == row["label"])
                    + (1 - options.gold) * share
                )
            known = {"label": encoder.labels[int(share.argmax())], **row}
            told = dict(zip(encoder.labels, np.round(share.astype(float), 4).tolist(), strict=True))
            file.write(json.dumps({**known, "probabilities": told}, ensure_ascii=False) + "\n")
    print(f"{options.output}: {len(rows):,} rows", flush=True)


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    fitting = verbs.add_parser("fit", help="fine-tune on labelled pairs")
    fitting.add_argument("--model", type=Path, required=True)
    fitting.add_argument("--train", type=Path, action="append", required=True)
    fitting.add_argument("--skip", action="append", default=[], help="a source to leave out")
    fitting.add_argument("--dev", type=Path, required=True)
    fitting.add_argument("--output", type=Path, required=True)
    fitting.add_argument("--epochs", type=int, default=3)
    fitting.add_argument("--batch", type=int, default=128)
    fitting.add_argument("--lr", type=float, default=4e-5)
    fitting.add_argument("--seed", type=int, default=1)
    fitting.set_defaults(verb=fit)
    labelling = verbs.add_parser("label", help="add probabilities to pairs")
    labelling.add_argument("--model", type=Path, required=True)
    labelling.add_argument("--pairs", type=Path, action="append", required=True)
    labelling.add_argument("--output", type=Path, required=True)
    labelling.add_argument("--gold", type=float, default=0.5, help="weight of a row's own label")
    labelling.set_defaults(verb=label)
    options = parser.parse_args()
    options.verb(options)


if __name__ == "__main__":
    main()
