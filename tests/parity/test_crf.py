"""The chain of tags against trying all sequences, forward and backward."""

from itertools import product

import pytest
import torch

from softquery.decoding import viterbi
from softquery.nn import Crf, Transitions, log_likelihood, log_partition, path_score

CLOSE = {"rtol": 1e-6, "atol": 1e-8}
LENGTHS = [4, 1, 0, 3, 5]


def case(seed, num_labels=3):
    generator = torch.Generator().manual_seed(seed)
    shape = (len(LENGTHS), max(LENGTHS), num_labels)
    logits = torch.randn(shape, generator=generator, dtype=torch.float64)
    labels = torch.randint(num_labels, shape[:2], generator=generator)
    mask = torch.arange(shape[1]) < torch.tensor(LENGTHS).unsqueeze(1)
    sizes = ((num_labels, num_labels), (num_labels,), (num_labels,))
    parts = [torch.randn(size, generator=generator, dtype=torch.float64) for size in sizes]
    return logits, labels, mask, Transitions(*parts)


def slow_score(path, logits, chain):
    total = chain.start[path[0]] + chain.end[path[-1]]
    total = total + sum(logits[place, label] for place, label in enumerate(path))
    steps = zip(path, path[1:], strict=False)
    return total + sum(chain.between[one, other] for one, other in steps)


def all_scores(logits, chain):
    paths = product(range(logits.shape[1]), repeat=len(logits))
    return torch.stack([slow_score(path, logits, chain) for path in paths])


@pytest.mark.parametrize("seed", range(3))
def test_the_partition_is_the_sum_over_all_sequences(seed):
    logits, _, mask, chain = case(seed)
    found = log_partition(logits, mask, chain)
    for row, length in enumerate(LENGTHS):
        wanted = all_scores(logits[row, :length], chain).logsumexp(0) if length else torch.zeros(())
        torch.testing.assert_close(found[row], wanted.double(), **CLOSE)


@pytest.mark.parametrize("seed", range(3))
def test_a_path_scores_the_sum_of_its_steps(seed):
    logits, labels, mask, chain = case(seed)
    found = path_score(logits, labels, mask, chain)
    for row, length in enumerate(LENGTHS):
        path = labels[row, :length].tolist()
        wanted = slow_score(path, logits[row], chain) if length else torch.zeros(()).double()
        torch.testing.assert_close(found[row], wanted, **CLOSE)


def test_gradients_are_those_of_trying_all():
    logits, labels, mask, chain = case(7)
    slow = [part.clone().requires_grad_() for part in (logits, *chain)]
    total = torch.zeros(()).double()
    for row, length in enumerate(LENGTHS):
        if length:
            own = slow[0][row, :length]
            path = labels[row, :length].tolist()
            total = total + slow_score(path, own, Transitions(*slow[1:]))
            total = total - all_scores(own, Transitions(*slow[1:])).logsumexp(0)
    total.backward()
    fast = [part.clone().requires_grad_() for part in (logits, *chain)]
    likely = path_score(fast[0], labels, mask, Transitions(*fast[1:]))
    (likely - log_partition(fast[0], mask, Transitions(*fast[1:]))).sum().backward()
    for one, other in zip(slow, fast, strict=True):
        torch.testing.assert_close(one.grad, other.grad, **CLOSE)


def test_probabilities_of_all_sequences_add_up_to_one():
    logits, _, _, chain = case(2)
    paths = torch.tensor(list(product(range(3), repeat=4)))
    many = logits[:1, :4].expand(len(paths), -1, -1)
    mask = torch.ones(len(paths), 4, dtype=torch.bool)
    chances = log_likelihood(many, paths, mask, Transitions(*(part.float() for part in chain)))
    torch.testing.assert_close(chances.exp().sum(), torch.tensor(1.0), rtol=1e-5, atol=1e-5)


def test_padding_changes_nothing():
    logits, labels, mask, chain = case(3)
    pad = torch.nn.functional.pad
    longer = pad(logits, (0, 0, 0, 4), value=7.0), pad(labels, (0, 4), value=2), pad(mask, (0, 4))
    floats = Transitions(*(part.float() for part in chain))
    torch.testing.assert_close(
        log_likelihood(*longer, floats), log_likelihood(logits, labels, mask, floats)
    )


def test_the_best_sequence_is_the_likeliest_one():
    logits, _, mask, chain = case(5)
    arrays = [part.numpy() for part in chain]
    for row, length in enumerate(LENGTHS):
        if length:
            (path,) = viterbi([logits[row, :length].numpy()], *arrays)
            assert path.score == pytest.approx(all_scores(logits[row, :length], chain).max().item())


def test_every_parameter_learns():
    torch.manual_seed(1)
    crf = Crf(3)
    logits, labels, mask, _ = case(1)
    (-log_likelihood(logits.float(), labels, mask, crf()).mean()).backward()
    assert all(parameter.grad.any() for parameter in crf.parameters())
