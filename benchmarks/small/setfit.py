"""SetFit's recipe, to be compared with: a sentence encoder by contrast, then logistic regression.

Tunstall et al., "Efficient Few-Shot Learning Without Prompts", 2022, Section 3 and Appendix A.1:
for each text R = 20 pairs with a text of its label, whose cosine is to be 1, and as many with one
of another label, whose cosine is to be 0; one epoch in batches of 16 pairs, AdamW with a rate of
2e-5; on the vectors scikit-learn's logistic regression by its defaults.
"""

import time
from collections.abc import Iterator

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from softquery.bundle import read_bundle
from softquery.data import Tokens
from softquery.runtime.batches import padded_ids
from softquery.runtime.encode.torch import TorchEncodeBackend
from softquery.runtime.fit_checks import fitting_pipeline

ROUNDS = 20
BATCH = 16
RATE = 2e-5
Split = tuple[list[str], list[str]]


def drawn_pairs(labels: list[str], rounds: int, seed: int) -> list[tuple[int, int, float]]:
    """Places of two texts, and 1 where they have one label, in a random order.

    >>> len(drawn_pairs(["a", "a", "b"], 2, 1))
    12
    """
    gold, generator = np.array(labels), np.random.default_rng(seed)
    found = []
    for _ in range(rounds):
        for place, label in enumerate(labels):
            same = np.flatnonzero(gold == label)
            others = np.flatnonzero(gold != label)
            found.append((place, int(generator.choice(same)), 1.0))
            found.append((place, int(generator.choice(others)), 0.0))
    return [found[each] for each in generator.permutation(len(found))]


def setfit(
    name: str, folder: str, train: Split, dev: Split, seed: int
) -> Iterator[tuple[str, float, float]]:
    """Accuracy of the recipe on a bundle's encoder.

    Args:
        name: Of the contestant.
        folder: The bundle.
        train: Texts and labels.
        dev: Those to measure on.
        seed: Of what is drawn.
    """
    began = time.monotonic()
    bundle = read_bundle(folder)
    pipeline, backend = fitting_pipeline(bundle), TorchEncodeBackend(bundle, "cpu")
    ids = pipeline.encode_ids(train[0])
    pairs = drawn_pairs(train[1], ROUNDS, seed)
    torch.manual_seed(seed)
    model = backend.model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    num_steps = -(-len(pairs) // BATCH)
    for step in range(num_steps):
        some = pairs[step * BATCH : (step + 1) * BATCH]
        rows = [ids[first] for first, _, _ in some] + [ids[second] for _, second, _ in some]
        table, lengths = padded_ids(rows)
        mask = torch.arange(table.shape[1]) < torch.from_numpy(lengths)[:, None]
        vectors = model.encode(Tokens(torch.from_numpy(table), mask)).vectors
        first, second = vectors[: len(some)], vectors[len(some) :]
        wanted = torch.tensor([same for _, _, same in some])
        loss = ((first * second).sum(dim=-1) - wanted).square().mean()
        for group in optimizer.param_groups:  # up in a tenth of the steps, and down to zero
            group["lr"] = RATE * min((step + 1) / max(1, num_steps // 10), 1 - step / num_steps)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    rows, others = (backend.vectors(pipeline.encode_ids(texts)) for texts in (train[0], dev[0]))
    head = LogisticRegression(max_iter=1000).fit(rows, train[1])
    yield name, float(head.score(others, dev[1])), time.monotonic() - began
