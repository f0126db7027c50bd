r"""Fine-tune a sentence encoder as a classifier of texts, and let it label texts for a small model.

    PYTHONPATH=shipped python shipped/class_teacher.py mpnet-8bit \
        --data prepared/taught-sentiment --output taught/sentiment

The teacher is a folder that `students.teach pack` has written; its parts may lie in several. It
learns the labels of `train.jsonl` in DATA. OUTPUT gets the same rows with `probabilities`, half and
half the teacher's and the row's own label, and those of `texts.jsonl`, which have no label, with
the teacher's alone; beside them `tune.jsonl` and `dev.jsonl` as they are, and `teacher.json` with
the teacher's accuracy on both. Needs `transformers`.
"""

import argparse
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from students.teach import open_packed
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F

Rows = list[dict[str, Any]]
POOL = 50
"""Batches that are drawn at a time, to be sorted by length."""
GOLD = 0.5
"""Weight of a row's own label beside the teacher's opinion."""


def read(path: Path) -> Rows:
    """The rows of a JSONL file; none where there is no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def narrow(device: str) -> bool:
    """Whether a device computes in bfloat16 faster than in float32."""
    return device == "cuda" or torch.cpu._is_avx512_bf16_supported()


class Teacher(nn.Module):
    """A sentence encoder whose mean over tokens is classified.

    Args:
        folders: Where its parts lie.
        labels: What there is to tell apart.
        max_tokens: Beyond which a text is cut.
    """

    def __init__(self, folders: list[Path], labels: list[str], max_tokens: int) -> None:
        super().__init__()
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        encoder, marks = open_packed(folders, self.device)
        self.encoder, self.pad, self.labels = encoder.float(), marks.pad, labels
        size: int = self.encoder.config.hidden_size  # type: ignore[assignment, union-attr]
        self.output = nn.Linear(size, len(labels)).to(self.device)
        found = next(folder for folder in folders if (folder / "tokenizer.json").exists())
        self.tokenizer = Tokenizer.from_file(str(found / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(max_tokens)

    def ids(self, rows: Rows) -> list[list[int]]:
        """Ids of each text, marks included."""
        return [each.ids for each in self.tokenizer.encode_batch([row["text"] for row in rows])]

    def forward(self, ids: list[list[int]]) -> Tensor:
        """Logits of some texts, in bfloat16 where the machine computes in it."""
        longest = -(-max(map(len, ids)) // 8) * 8
        padded = torch.tensor([each + [self.pad] * (longest - len(each)) for each in ids])
        lengths = torch.tensor([len(each) for each in ids])
        mask = torch.arange(longest) < lengths[:, None]
        padded, mask = (part.to(self.device, non_blocking=True) for part in (padded, mask))
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=narrow(self.device)):
            states = self.encoder(input_ids=padded, attention_mask=mask.long()).last_hidden_state
        mean = (states.float() * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        return self.output(F.dropout(mean, 0.1, self.training))

    @torch.inference_mode()
    def probabilities(self, rows: Rows, num_tokens: int = 65_536) -> np.ndarray:
        """What the teacher thinks of each text, [N, C]."""
        self.eval()
        ids = self.ids(rows)
        order = sorted(range(len(ids)), key=lambda place: -len(ids[place]))
        found, start = np.zeros((len(ids), len(self.labels)), np.float32), 0
        while start < len(order):
            some = order[start : start + max(1, num_tokens // len(ids[order[start]]))]
            start += len(some)
            found[some] = self([ids[place] for place in some]).softmax(dim=-1).cpu().numpy()
        return found


def batches(ids: list[list[int]], size: int, random: np.random.Generator) -> Iterator[list[int]]:
    """Places in batches of like length, in random order."""
    order = random.permutation(len(ids)).tolist()
    cut = []
    for start in range(0, len(order), POOL * size):
        pool = sorted(order[start : start + POOL * size], key=lambda place: len(ids[place]))
        cut += [pool[first : first + size] for first in range(0, len(pool), size)]
    yield from (cut[place] for place in random.permutation(len(cut)))


def fit(teacher: Teacher, rows: Rows, options: argparse.Namespace) -> None:
    """Learn the labels of the rows; the rate falls to nothing."""
    ids = teacher.ids(rows)
    gold = torch.tensor([teacher.labels.index(row["label"]) for row in rows], device=teacher.device)
    steps = options.epochs * -(-len(ids) // options.batch)
    optimizer = torch.optim.AdamW(
        [
            {"params": teacher.encoder.parameters(), "lr": options.lr},
            {"params": teacher.output.parameters(), "lr": 10 * options.lr},
        ],
        weight_decay=0.01,
        fused=teacher.device == "cuda",
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (0.1 * steps + 1), 1 - step / (steps + 1))
    )
    random, start = np.random.default_rng(options.seed), time.monotonic()
    teacher.train()
    for epoch in range(options.epochs):
        total = torch.zeros((), device=teacher.device)
        for places in batches(ids, options.batch, random):
            loss = F.cross_entropy(teacher([ids[place] for place in places]), gold[places])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(teacher.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.detach() * len(places)
        seconds = time.monotonic() - start
        print(f"epoch {epoch + 1}: loss {float(total) / len(ids):.4f}, {seconds:.0f} s", flush=True)


def taught(teacher: Teacher, rows: Rows) -> Rows:
    """The rows with the probabilities that a student learns, and a label where they had none."""
    made = []
    for row, share in zip(rows, teacher.probabilities(rows).astype(float), strict=True):
        if "label" in row:
            share = (1 - GOLD) * share
            share[teacher.labels.index(row["label"])] += GOLD
        told = dict(zip(teacher.labels, share.round(4).tolist(), strict=True))
        made.append({"label": teacher.labels[int(share.argmax())], **row, "probabilities": told})
    return made


def main() -> None:
    """Fit, measure and label."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("teacher", type=Path, nargs="+", help="all folders that hold its parts")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-5)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--texts", type=int, help="how many texts are labelled; all by default")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    train = read(options.data / "train.jsonl")
    labels = sorted({row["label"] for row in train})
    teacher = Teacher(options.teacher, labels, options.max_tokens)
    fit(teacher, train, options)
    options.output.mkdir(parents=True, exist_ok=True)
    figures = {}
    for split in ("tune", "dev"):
        rows = read(options.data / f"{split}.jsonl")
        right = [
            labels[place] == row["label"]
            for place, row in zip(teacher.probabilities(rows).argmax(1), rows, strict=True)
        ]
        figures[split] = {"accuracy": float(np.mean(right)), "n": len(rows)}
        shutil.copy(options.data / f"{split}.jsonl", options.output)
    print(json.dumps(figures), flush=True)
    (options.output / "teacher.json").write_text(json.dumps(figures, indent=1) + "\n")
    texts = read(options.data / "texts.jsonl")
    Random(options.seed).shuffle(texts)
    made = taught(teacher, [*train, *texts[: options.texts]])
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in made)
    (options.output / "train.jsonl").write_text("".join(lines), encoding="utf-8")
    print(f"{options.output}: {len(made):,} rows", flush=True)


if __name__ == "__main__":
    main()
