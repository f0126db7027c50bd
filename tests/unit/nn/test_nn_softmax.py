"""Log-probabilities of words: exact ones, estimates that aim at them, clusters, spelt vectors."""

import math

import pytest
import torch

from softquery.nn import (
    AdaptiveSoftmax,
    CharacterCnn,
    SpeltVectors,
    StoredVectors,
    WordSoftmax,
    log_uniform,
)
from softquery.nn.sampled_softmax import log_share
from softquery.nn.softmax import default_cutoffs
from softquery.text import spell_vocabulary

SIZE, WORDS = 4, 30
NEVER = (0, 2)


def states(count=12, *, seed=3):
    return torch.randn(count, SIZE, generator=torch.Generator().manual_seed(seed))


def targets(count=12):
    return 3 + torch.arange(count) % (WORDS - 3)


def make(num_samples=0, *, words=None, seed=1):
    torch.manual_seed(seed)
    softmax = WordSoftmax(
        words or StoredVectors(WORDS, SIZE), WORDS, never=NEVER, num_samples=num_samples
    )
    softmax.bias.data.normal_()
    return softmax


def all_log_probabilities(softmax, asked):
    logits = asked @ softmax.words.table().T + softmax.bias
    logits[:, list(NEVER)] = -math.inf
    return logits.log_softmax(dim=-1)


def test_the_full_softmax_is_one():
    softmax = make()
    wanted = all_log_probabilities(softmax, states()).gather(1, targets()[:, None])[:, 0]
    torch.testing.assert_close(softmax(states(), targets()), wanted)
    torch.testing.assert_close(softmax.eval()(states(), targets()), wanted)


def test_probabilities_add_up_to_one_over_what_may_come():
    softmax, one = make(), states(1)
    possible = [word for word in range(WORDS) if word not in NEVER]
    found = softmax(one.expand(len(possible), -1), torch.tensor(possible))
    assert found.exp().sum().item() == pytest.approx(1, abs=1e-5)


def test_long_inputs_are_cut_and_joined(monkeypatch):
    wanted = make()(states(), targets())
    monkeypatch.setattr("softquery.nn.softmax.ROWS", 5)
    torch.testing.assert_close(make()(states(), targets()), wanted)


def test_a_sampled_softmax_is_exact_in_evaluation():
    sampled, full = make(8), make()
    torch.testing.assert_close(
        sampled.eval()(states(), targets()), full.eval()(states(), targets())
    )


def test_as_many_samples_as_words_are_all_words():
    assert make(28).num_samples == 0
    assert make(27).num_samples == 27


@pytest.mark.parametrize("sampler", ["log_uniform", "unigram"])
def test_nearly_all_words_come_near_the_full_softmax(sampler):
    sampled, full = make(27), make()
    if sampler == "unigram":
        sampled.set_noise(torch.arange(WORDS, 0, -1).float())
    torch.manual_seed(1)
    found = torch.stack([sampled(states(), targets()) for _ in range(50)]).mean(dim=0)
    torch.testing.assert_close(found, full(states(), targets()), rtol=0, atol=0.1)


def test_the_estimated_sum_over_words_is_unbiased():
    """exp(logit) / chance, summed over the words drawn, has the true sum as its mean."""
    softmax, one = make(10), states(1)
    table, sums = softmax.words.table(), []
    torch.manual_seed(2)
    for _ in range(4000):
        drawn, horizon = softmax.draw()
        logits = one @ table[drawn].T + softmax.bias[drawn]
        sums.append((logits - softmax.log_chance(drawn, horizon)).exp().sum().item())
    allowed = [word for word in range(WORDS) if word not in NEVER]
    wanted = (one @ table[allowed].T + softmax.bias[allowed]).exp().sum().item()
    assert sum(sums) / len(sums) == pytest.approx(wanted, rel=0.02)


def test_what_is_learnt_from_samples_is_the_distribution():
    """The truth is no fixed share of the noise, and one word comes most of the time."""
    truth = torch.zeros(WORDS)
    truth[3:] = torch.linspace(0.2, 1.0, WORDS - 3).pow(2)
    truth[7] = 12.0
    truth /= truth.sum()
    softmax, one = make(12), torch.zeros(400, SIZE)
    optimizer = torch.optim.Adam([softmax.bias], lr=0.05)
    torch.manual_seed(4)
    for step in range(1500):
        for group in optimizer.param_groups:
            group["lr"] = 0.05 * (1 - step / 1500)
        optimizer.zero_grad()
        came = torch.multinomial(truth, 400, replacement=True)
        (-softmax(one, came).mean()).backward()
        optimizer.step()
    learnt = softmax.eval()(torch.zeros(27, SIZE), torch.arange(3, WORDS)).exp()
    torch.testing.assert_close(learnt, truth[3:], rtol=0.2, atol=0.01)


def test_the_estimate_follows_its_formula():
    """The word that came against the draws, without those that hit it."""
    softmax, asked, came = make(6), states(3), torch.tensor([3, 5, 3])
    torch.manual_seed(7)
    drawn, horizon = softmax.draw()
    torch.manual_seed(7)
    found = softmax(asked, came)
    for row in range(3):
        word = came[row]
        others = torch.cat([word[None], drawn[drawn != word]])
        logits = softmax.words(others) @ asked[row] + softmax.bias[others]
        corrected = logits - softmax.log_chance(others, horizon)
        torch.testing.assert_close(found[row], corrected.log_softmax(dim=0)[0])


def test_draws_are_different_words_and_never_what_cannot_come():
    softmax = make(20)
    torch.manual_seed(1)
    for _ in range(50):
        drawn, horizon = softmax.draw()
        assert len(set(drawn.tolist())) == 20
        assert not set(drawn.tolist()) & set(NEVER)
        assert horizon > 0


def test_words_are_drawn_as_often_as_their_chance_says():
    softmax, counts, chances = make(5), torch.zeros(WORDS), torch.zeros(WORDS)
    torch.manual_seed(1)
    for _ in range(4000):
        drawn, horizon = softmax.draw()
        counts[drawn] += 1 / 4000
        chances += softmax.log_chance(torch.arange(WORDS), horizon).exp() / 4000
    # The horizon of a word that was not drawn is a little early, the less the more are drawn.
    torch.testing.assert_close(counts, chances, rtol=0.1, atol=0.04)


def test_noise_by_counts_rules_no_word_out():
    softmax = make(5)
    softmax.set_noise(torch.tensor([9.0, 0, 7, *range(27)]))
    assert softmax.noise[0] == softmax.noise[2] == 0
    assert softmax.noise[1] == softmax.noise[3] > 0
    assert softmax.noise.sum().item() == pytest.approx(1)


def test_log_uniform_is_a_falling_distribution():
    shares = log_uniform(1000)
    assert shares.sum().item() == pytest.approx(1, abs=1e-5)
    assert (shares.diff() < 0).all()


def test_noise_is_no_weight():
    assert set(make(8).state_dict()) == {"bias", "words.weight"} == set(make().state_dict())


def test_the_adaptive_softmax_agrees_with_its_clusters():
    torch.manual_seed(1)
    softmax = AdaptiveSoftmax(SIZE, WORDS, (5, 12))
    wanted = softmax.layer.log_prob(states()).gather(1, targets()[:, None])[:, 0]
    torch.testing.assert_close(softmax(states(), targets()), wanted)
    assert AdaptiveSoftmax(SIZE, WORDS).layer.cutoffs == [3, 12, WORDS]


@pytest.mark.parametrize("vocab_size", [5, 6, 9, 50, 12_345])
def test_chosen_cutoffs_fit_any_vocabulary(vocab_size):
    first, second = default_cutoffs(vocab_size)
    assert 0 < first < second < vocab_size


def spelt(correction_size=2):
    torch.manual_seed(1)
    words = ["<pad>", "<unk>", "<bos>", "<eos>", *(chr(97 + n) * (1 + n % 3) for n in range(26))]
    cnn = CharacterCnn(262, 3, (1, 2), (3, 4), SIZE, num_highways=1)
    vectors = SpeltVectors(cnn, WORDS, 8, correction_size)
    vectors.spell(torch.from_numpy(spell_vocabulary(words, 8)))
    return vectors


@pytest.mark.parametrize("correction_size", [2, 0])
def test_spelt_vectors_are_characters_and_a_correction(correction_size, monkeypatch):
    monkeypatch.setattr("softquery.nn.softmax.CHUNK", 7)
    vectors = spelt(correction_size)
    wanted = vectors.cnn(vectors.spelling.int())
    if correction_size:
        wanted = wanted + vectors.correction @ vectors.expand.weight.T
    torch.testing.assert_close(vectors.table(), wanted)
    ids = torch.tensor([4, 9, 4, 29, 9])
    torch.testing.assert_close(vectors(ids), wanted[ids])


@pytest.mark.parametrize("num_samples", [0, 5])
def test_a_softmax_of_characters_trains_all_it_has(num_samples):
    softmax = make(num_samples, words=spelt())
    softmax(states(), targets()).sum().backward()
    for name, parameter in softmax.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


def test_spelling_travels_with_the_weights():
    other = spelt()
    other.spelling.zero_()
    other.load_state_dict(spelt().state_dict())
    assert torch.equal(other.spelling, spelt().spelling)


def test_a_share_and_its_gradients_are_those_of_a_softmax():
    """Against autograd over the same logits, a hit among the drawn words left out."""
    draw = torch.Generator().manual_seed(5)
    rows, count = 5, 7
    made = [
        torch.randn(*shape, generator=draw, requires_grad=True)
        for shape in ((rows, SIZE), (rows, SIZE), (count, SIZE), (rows,), (count,))
    ]
    states_, came, others, came_offset, others_offset = made
    hits = torch.tensor([7, 2, 7, 0, 6])
    found = log_share(*made, hits)
    own = (states_ * came).sum(dim=-1) + came_offset
    against = states_ @ others.T + others_offset
    against = against.masked_fill(hits.unsqueeze(1) == torch.arange(count), -math.inf)
    wanted = torch.cat([own.unsqueeze(1), against], dim=1).log_softmax(dim=1)[:, 0]
    torch.testing.assert_close(found, wanted)
    weights = torch.randn(rows, generator=draw)
    ours = torch.autograd.grad((found * weights).sum(), made)
    theirs = torch.autograd.grad((wanted * weights).sum(), made)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other)
