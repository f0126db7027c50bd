"""Pairs worth an opinion, by nearness of vectors, without a step of Python per text.

N texts. Pairs are places [M, 2] of texts, on the CPU, each once and in either order.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

BLOCK = 2048


def nearest(vectors: Tensor, count: int) -> Tensor:
    """For each text the places of the nearest others [N, count]."""
    found = []
    for start in range(0, len(vectors), BLOCK):
        part = vectors[start : start + BLOCK]
        scores = part @ vectors.T
        own = torch.arange(start, start + len(part), device=vectors.device)
        scores[torch.arange(len(part), device=vectors.device), own] = -2
        found.append(scores.topk(min(count, len(vectors) - 1), dim=1).indices)
    return torch.cat(found)


def drawn(ranked: Tensor, start: int, end: int, number: int) -> Tensor:
    """Pairs [M, 2] of every text and some of its neighbours between two ranks."""
    band = ranked[:, start:end]
    keys = torch.rand(band.shape, device=band.device).argsort(dim=1)[:, :number]
    return paired(band.gather(1, keys))


def paired(others: Tensor) -> Tensor:
    """Every row's number with each of its others [N, K]."""
    own = torch.arange(len(others), device=others.device)[:, None].expand_as(others)
    return torch.stack([own.reshape(-1), others.reshape(-1)], dim=1)


def at_random(texts: int, count: int, device: torch.device) -> Tensor:
    """Pairs of any two texts."""
    return torch.randint(texts, (count, 2), device=device)


def distinct(pairs: Sequence[Tensor], texts: int, *, ordered: bool) -> Tensor:
    """Every pair once, of two texts, in random order.

    Args:
        pairs: Places of texts.
        texts: How many there are.
        ordered: Whether a pair the other way round is another one; if not, each is turned or not
            by chance.
    """
    both = torch.cat(list(pairs))
    both = both[both[:, 0] != both[:, 1]]
    if not ordered:
        both = both.sort(dim=1).values
    keys = torch.unique(both[:, 0] * texts + both[:, 1])
    both = torch.stack([keys // texts, keys % texts], dim=1)
    both = both[torch.randperm(len(both), device=both.device)]
    if not ordered:
        turned = torch.rand(len(both), device=both.device) < 0.5
        both[turned] = both[turned].flip(1)
    return both.cpu()


def mine_same(vectors: Tensor, far: float = 0.4) -> Tensor:
    """Pairs to be told apart or not: of each text a near one, one in the middle, at times any."""
    ranked = nearest(vectors, 50)
    count = len(vectors)
    some = at_random(count, int(far * count), vectors.device)
    return distinct([drawn(ranked, 0, 5, 1), drawn(ranked, 5, 50, 1), some], count, ordered=False)


def mine_inferences(vectors: Tensor, premises: Tensor, hypotheses: Tensor) -> Tensor:
    """Recombined premises and hypotheses of known pairs [M], whose own pairs are left out.

    Premises with hypotheses of near premises, hypotheses of one premise with each other,
    hypotheses with their premise, and any texts with near ones.
    """
    device, count = vectors.device, len(vectors)
    premises, hypotheses = premises.to(device), hypotheses.to(device)
    every, which = premises.unique(return_inverse=True)
    order = which.argsort(stable=True)
    sizes = torch.bincount(which)
    starts = sizes.cumsum(0) - sizes

    def hypothesis_of(places: Tensor) -> Tensor:
        """One of the hypotheses of each of these premises, by chance."""
        pick = (torch.rand(places.shape, device=device) * sizes[places]).long()
        return hypotheses[order[starts[places] + pick]]

    near = nearest(vectors[every], 6)
    found = []
    for _ in range(2):
        pairs = paired(hypothesis_of(near))
        found.append(torch.stack([every[pairs[:, 0]], pairs[:, 1]], dim=1))
    for _ in range(3):
        found.append(torch.stack([hypotheses, hypothesis_of(which)], dim=1))
    found.append(torch.stack([hypotheses, premises], dim=1))
    ranked = nearest(vectors, 12)
    found.append(drawn(ranked, 0, 4, 1))
    found.append(drawn(ranked, 0, 12, 2))
    found.append(at_random(count, count // 4, device))
    pairs = distinct(found, count, ordered=True)
    known = premises * count + hypotheses
    return pairs[~torch.isin(pairs[:, 0] * count + pairs[:, 1], known.cpu())]
