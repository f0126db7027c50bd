"""Dropout that holds still in time, and the table of words."""

import pytest
import torch

from softquery.nn import VariationalDropout, WordEmbedding


def test_a_feature_is_dropped_for_a_whole_sentence():
    torch.manual_seed(1)
    dropped = VariationalDropout(0.5)(torch.ones(8, 6, 32))
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert not torch.equal(dropped[0], dropped[1])


@pytest.mark.parametrize("dropout", [0.2, 0.5, 0.8])
def test_the_expected_value_stays(dropout):
    torch.manual_seed(2)
    dropped = VariationalDropout(dropout)(torch.ones(400, 1, 200))
    assert dropped.mean() == pytest.approx(1.0, abs=0.02)
    assert (dropped == 0).float().mean() == pytest.approx(dropout, abs=0.01)


def test_gradients_meet_the_same_mask():
    torch.manual_seed(3)
    inputs = torch.ones(2, 3, 8, requires_grad=True)
    dropped = VariationalDropout(0.5)(inputs)
    dropped.sum().backward()
    assert torch.equal(inputs.grad, dropped.detach())


def test_nothing_happens_in_evaluation_or_at_zero():
    inputs = torch.randn(2, 3, 4)
    assert VariationalDropout(0.5).eval()(inputs) is inputs
    assert VariationalDropout(0.0).train()(inputs) is inputs


def test_zero_dropout_draws_no_random_number():
    before = torch.get_rng_state()
    VariationalDropout(0.0)(torch.ones(2, 3, 4))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("dropout", [-0.1, 1.0, float("nan")])
def test_a_probability_outside_the_range_is_quoted(dropout):
    with pytest.raises(ValueError, match=rf"dropout must be in \[0, 1\), got {dropout}"):
        VariationalDropout(dropout)


def test_a_dropout_shows_itself():
    assert repr(VariationalDropout(0.3)) == "VariationalDropout(dropout=0.3)"


def test_padding_is_zero_and_stays_zero():
    torch.manual_seed(4)
    embedding = WordEmbedding(5, 3)
    optimizer = torch.optim.AdamW(embedding.parameters(), lr=0.1, weight_decay=0.1)
    before = embedding.table.weight.detach().clone()
    embedding(torch.tensor([[0, 1, 2, 0]])).square().sum().backward()
    optimizer.step()
    after = embedding.table.weight.detach()
    assert after[0].tolist() == [0.0, 0.0, 0.0]
    assert not torch.equal(after[1:3], before[1:3])


def test_ids_are_looked_up():
    embedding = WordEmbedding(5, 3)
    vectors = embedding(torch.tensor([[4, 0], [1, 4]]))
    assert embedding.output_size == 3
    assert vectors.shape == (2, 2, 3)
    assert torch.equal(vectors[0, 0], embedding.table.weight[4])
    assert torch.equal(vectors[1, 1], vectors[0, 0])


def test_a_table_without_words_is_refused():
    with pytest.raises(ValueError, match="vocab_size must be positive, got 0"):
        WordEmbedding(0, 3)
