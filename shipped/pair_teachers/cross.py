"""Sentence vectors of a packed teacher, and a cross-encoder on top of it: fitted, then asked."""

import time
from collections.abc import Iterator
from pathlib import Path

import torch
from students.teach import open_packed
from torch import Tensor, nn
from torch.nn import functional as F

from pair_teachers.tokens import TokenTable

TOKENS = 65_536
"""Of a batch that is only read, padding included; twice as many take 36 GB."""
POOL = 50
"""Batches among which pairs of like length are put together."""


def by_length(lengths: Tensor, most_tokens: int) -> Iterator[Tensor]:
    """Rows in batches of like length, the longest first."""
    order = lengths.argsort(descending=True, stable=True)
    start = 0
    while start < len(order):
        size = max(1, most_tokens // (int(lengths[order[start]]) + 4))
        yield order[start : start + size]
        start += size


@torch.inference_mode()
def vectors(folders: list[Path], table: TokenTable, device: str) -> Tensor:
    """Means over the tokens of every text, of length one, in half precision."""
    model, marks = open_packed(folders, device)
    parts, rows = [], []
    for chosen in by_length(table.counts, TOKENS):
        places = chosen.to(device)
        ids, mask = table.texts(places, int(table.counts[chosen].max()), marks)
        states = model(input_ids=ids, attention_mask=mask.long()).last_hidden_state.float()
        mean = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        parts.append(F.normalize(mean, dim=-1).half())
        rows.append(places)
    found = torch.cat(parts)
    return found[torch.cat(rows).argsort()]


class CrossEncoder(nn.Module):
    """A packed MPNet that reads both texts of a pair together.

    Args:
        folders: The parts of the packed encoder.
        outputs: Numbers that it gives of each pair.
        device: Where it computes, in bfloat16 on a GPU.
    """

    def __init__(self, folders: list[Path], outputs: int, device: str) -> None:
        super().__init__()
        encoder, self.marks = open_packed(folders, device)
        self.encoder, self.device = encoder.float(), device
        size = int(encoder.config.hidden_size)
        self.dense, self.out = nn.Linear(size, size), nn.Linear(size, outputs)
        self.dropout = nn.Dropout(0.1)
        self.to(device)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Logits [B, C]."""
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.device == "cuda"):
            states = self.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
            inner = torch.tanh(self.dense(self.dropout(states[:, 0])))
            logits: Tensor = self.out(self.dropout(inner)).float()
        return logits

    def of(self, table: TokenTable, pairs: Tensor, rows: Tensor) -> Tensor:
        """Logits of some rows of pairs [N, 2], which lie on the CPU."""
        chosen = pairs[rows]
        longest = int(table.counts[chosen].sum(1).max())
        first, second = chosen.to(self.device, non_blocking=True).unbind(1)
        return self(*table.pairs(first, second, longest, self.marks))

    @torch.inference_mode()
    def logits(self, table: TokenTable, pairs: Tensor) -> Tensor:
        """Logits [N, C] of all pairs, on the CPU."""
        self.eval()
        order = list(by_length(table.counts[pairs].sum(1), TOKENS))
        parts = [self.of(table, pairs, rows) for rows in order]
        return torch.cat(parts).cpu()[torch.cat(order).argsort()]

    def fit(
        self,
        table: TokenTable,
        pairs: Tensor,
        targets: Tensor,
        *,
        epochs: int,
        batch: int = 256,
        lr: float = 5e-5,
    ) -> None:
        """Learn distributions [N, C] by cross-entropy, or scores [N, 1] by squared error."""
        targets = targets.to(self.device)
        lengths = table.counts[pairs].sum(1)
        optimizer = torch.optim.AdamW(self.parameters(), lr=lr, weight_decay=0.01,
                                      fused=self.device == "cuda")  # fmt: skip
        done, started = 0, time.monotonic()
        for epoch in range(epochs):
            self.train()
            total = torch.zeros((), device=self.device)
            plan = shuffled(lengths, batch)
            steps = done + (epochs - epoch) * len(plan)
            for rows in plan:
                share = min(1.0, (done + 1) / (0.06 * steps)) * (1 - done / steps)
                for group in optimizer.param_groups:
                    group["lr"] = lr * share
                loss = loss_of(self.of(table, pairs, rows), targets[rows.to(self.device)])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
                optimizer.step()
                total += loss.detach()
                done += 1
            seconds = time.monotonic() - started
            print(f"epoch {epoch + 1}: loss {float(total) / len(plan):.4f}, {seconds:.0f} s",
                  flush=True)  # fmt: skip


def loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of distributions, or the squared error of scores, in units of 2 squared."""
    if targets.shape[1] == 1:
        return F.mse_loss(logits, targets) / 4
    return F.cross_entropy(logits, targets)


def shuffled(lengths: Tensor, size: int) -> list[Tensor]:
    """Rows in batches of like length, in random order."""
    cut: list[Tensor] = []
    for pool in torch.randperm(len(lengths)).split(POOL * size):
        cut += pool[lengths[pool].argsort()].split(size)
    return [cut[place] for place in torch.randperm(len(cut)).tolist()]
