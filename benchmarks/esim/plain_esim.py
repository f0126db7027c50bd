"""ESIM as one writes it in an afternoon: the yardstick for training speed.

Bidirectional `nn.LSTM` over padded batches, both sentences one after the other, attention by hand,
eager launches. Nothing here is used by the package.
"""

import torch
from torch import Tensor, nn


class PlainEsim(nn.Module):
    """Chen et al. (2017), without any of the package's parts."""

    def __init__(
        self, vocab_size: int, embedding_size: int, hidden_size: int, classes: int
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embedding_size, padding_idx=0)
        self.encode = nn.LSTM(embedding_size, hidden_size, batch_first=True, bidirectional=True)
        self.project = nn.Linear(8 * hidden_size, hidden_size)
        self.compose = nn.LSTM(hidden_size, hidden_size, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.5)
        self.classify = nn.Sequential(
            nn.Dropout(0.5), nn.Linear(8 * hidden_size, hidden_size), nn.Tanh(),
            nn.Dropout(0.5), nn.Linear(hidden_size, classes),
        )  # fmt: skip

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Logits from two batches of padded ids."""
        mask_a, mask_b = first != 0, second != 0
        a = self.encode(self.dropout(self.embed(first)))[0]
        b = self.encode(self.dropout(self.embed(second)))[0]
        scores = a @ b.transpose(1, 2)
        to_b = scores.masked_fill(~mask_b[:, None, :], -1e4).softmax(dim=-1) @ b
        to_a = scores.transpose(1, 2).masked_fill(~mask_a[:, None, :], -1e4).softmax(dim=-1) @ a
        return self.classify(
            torch.cat([self.pooled(a, to_b, mask_a), self.pooled(b, to_a, mask_b)], dim=-1)
        )

    def pooled(self, own: Tensor, other: Tensor, mask: Tensor) -> Tensor:
        """Compose one side and pool it."""
        local = torch.cat([own, other, own - other, own * other], dim=-1)
        states = self.compose(self.dropout(torch.relu(self.project(local))))[0]
        real = mask.unsqueeze(-1)
        mean = (states * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)
        return torch.cat([mean, states.masked_fill(~real, -1e4).amax(dim=1)], dim=-1)
