"""A linear-chain conditional random field: labels that are scored with their neighbours.

B sentences, T tokens, L labels.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F


class Transitions(NamedTuple):
    """Scores of a label after another, of the first label, and of the last."""

    between: Float[Tensor, "L L"]
    start: Float[Tensor, " L"]
    end: Float[Tensor, " L"]


class Crf(nn.Module):
    """Learned scores of a chain of labels (Lafferty et al. 2001; Lample et al. 2016, Section 2.2).

    Args:
        num_labels: L.
    """

    def __init__(self, num_labels: int) -> None:
        super().__init__()
        self.between = nn.Parameter(torch.empty(num_labels, num_labels))
        self.start = nn.Parameter(torch.empty(num_labels))
        self.end = nn.Parameter(torch.empty(num_labels))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)

    def forward(self) -> Transitions:
        """The scores of all transitions."""
        return Transitions(self.between, self.start, self.end)


def log_likelihood(
    logits: Float[Tensor, "B T L"],
    labels: Int[Tensor, "B T"],
    mask: Bool[Tensor, "B T"],
    transitions: Transitions,
) -> Float[Tensor, " B"]:
    """Log-probability of each sentence's labels; 0 for a sentence without tokens."""
    logits = logits.float()
    return path_score(logits, labels, mask, transitions) - log_partition(logits, mask, transitions)


def path_score(
    logits: Float[Tensor, "B T L"],
    labels: Int[Tensor, "B T"],
    mask: Bool[Tensor, "B T"],
    transitions: Transitions,
) -> Float[Tensor, " B"]:
    """The score of one sequence of labels (Lample et al. 2016, Section 2.2)."""
    own = logits.gather(2, labels.unsqueeze(-1)).squeeze(-1) * mask
    after = F.embedding(labels[:, :-1], transitions.between)  # [B, T - 1, L]
    steps = after.gather(2, labels[:, 1:].unsqueeze(-1)).squeeze(-1) * mask[:, 1:]
    last = labels.gather(1, (mask.sum(dim=1, keepdim=True) - 1).clamp(min=0)).squeeze(1)
    ends = transitions.start.gather(0, labels[:, 0]) + transitions.end.gather(0, last)
    return own.sum(dim=1) + steps.sum(dim=1) + ends * mask[:, 0]


def log_partition(
    logits: Float[Tensor, "B T L"], mask: Bool[Tensor, "B T"], transitions: Transitions
) -> Float[Tensor, " B"]:
    """The log of the sum over all sequences of labels: one step per token, all sentences at once.

    >>> zero = Transitions(torch.zeros(2, 2), torch.zeros(2), torch.zeros(2))
    >>> log_partition(torch.zeros(1, 3, 2), torch.ones(1, 3).bool(), zero).exp().round().tolist()
    [8.0]
    """
    between = transitions.between.unsqueeze(0)
    total = transitions.start + logits[:, 0]  # [B, L]
    for place in range(1, logits.shape[1]):
        reached = torch.logsumexp(total.unsqueeze(2) + between, dim=1) + logits[:, place]
        total = torch.where(mask[:, place].unsqueeze(1), reached, total)
    return torch.logsumexp(total + transitions.end, dim=1) * mask[:, 0]
