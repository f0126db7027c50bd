"""Tables of words and how they are tied; maxout; own words."""

import inspect

import pytest
import torch

from softquery.nn import Maxout, ScheduledSampling, WordTables


def tables(tie, *, output_size=4, source=7, target=7):
    torch.manual_seed(1)
    return WordTables(source, target, 4, output_size=output_size, tie=tie)


@pytest.mark.parametrize(
    ("tie", "names"),
    [
        ("none", {"target.weight", "source.weight", "output", "bias"}),
        ("output", {"target.weight", "source.weight", "bias"}),
        ("all", {"target.weight", "bias"}),
    ],
)
def test_a_shared_table_exists_once(tie, names):
    assert set(tables(tie).state_dict()) == names


@pytest.mark.parametrize("tie", ["none", "output", "all"])
def test_words_are_read_and_predicted_by_their_tables(tie):
    words, ids = tables(tie), torch.tensor([[1, 5]])
    source = words.target if tie == "all" else words.source
    assert torch.equal(words.read_source(ids), source.weight[ids])
    assert torch.equal(words.read_target(ids), words.target.weight[ids])
    state = torch.randn(1, 4)
    table = words.output if tie == "none" else words.target.weight
    torch.testing.assert_close(words.logits(state), state @ table.T + words.bias)


def test_a_tied_table_of_another_width_gets_a_layer_before_it():
    wide = tables("output", output_size=6)
    assert wide.logits(torch.randn(2, 3, 6)).shape == (2, 3, 7)
    assert wide.narrow.weight.shape == (4, 6)
    assert tables("none", output_size=6).narrow is None


def test_vocabularies_may_differ_unless_all_is_one():
    words = tables("output", source=9)
    assert words.read_source(torch.tensor([8])).shape == (1, 4)
    assert words.logits(torch.randn(1, 4)).shape == (1, 7)
    with pytest.raises(ValueError, match="one vocabulary, got source_vocab_size=9 and target_.*=7"):
        tables("all", source=9)


def test_padding_is_read_as_zeros():
    words = tables("none")
    assert not words.read_source(torch.tensor([0])).any()
    assert not words.read_target(torch.tensor([0])).any()


def test_words_must_be_known_by_now():
    with pytest.raises(ValueError, match="must be positive, got 0 and 7"):
        tables("none", source=0)


def test_an_unknown_tie_is_named():
    start = inspect.unwrap(WordTables.__init__)
    with pytest.raises(ValueError, match="tie must be one of .*, got 'some'"):
        start(WordTables.__new__(WordTables), 7, 7, 4, output_size=4, tie="some")


def test_maxout_takes_the_larger_of_each_pair():
    layer = Maxout(3, 2)
    layer.pairs.weight.data = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1]])
    layer.pairs.bias.data = torch.tensor([0.0, 0.5, 0.0, 0.0])
    assert layer(torch.tensor([[1.0, 2.0, -3.0]])).tolist() == [[2.5, 3.0]]
    assert layer(torch.randn(2, 5, 3)).shape == (2, 5, 2)


def test_sampled_words_come_as_often_as_set():
    torch.manual_seed(1)
    coins, like = ScheduledSampling(0.3), torch.zeros(100, 100, dtype=torch.int64)
    assert coins.toss(like).float().mean().item() == pytest.approx(0.3, abs=0.02)
    assert not ScheduledSampling(0.0).toss(like).any()
    assert ScheduledSampling(1.0).toss(like).all()


def test_their_share_rises_with_training_and_the_count_is_saved():
    torch.manual_seed(1)
    coins, like = ScheduledSampling(0.8, rise=4), torch.zeros(100, 100, dtype=torch.int64)
    shares = [coins.toss(like).float().mean().item() for _ in range(6)]
    assert shares == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 0.8], abs=0.02)
    again = ScheduledSampling(0.8, rise=4)
    again.load_state_dict(coins.state_dict())
    assert again.steps.item() == 6


def test_sampled_words_follow_the_models_distribution():
    torch.manual_seed(1)
    logits = torch.tensor([0.5, 0.3, 0.2]).log().expand(20_000, 3)
    shares = ScheduledSampling(0.5).draw(logits).bincount(minlength=3) / 20_000
    torch.testing.assert_close(shares, torch.tensor([0.5, 0.3, 0.2]), rtol=0, atol=0.02)


@pytest.mark.parametrize(("share", "rise"), [(-0.1, 0), (1.1, 0), (0.5, -1)])
def test_shares_that_cannot_be_are_refused(share, rise):
    with pytest.raises(ValueError, match=rf"share must be in \[0, 1\].*got {share} and {rise}"):
        ScheduledSampling(share, rise)
