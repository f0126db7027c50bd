"""Blocks of a Transformer against torch's layers; positions; weights on request."""

import inspect

import pytest
import torch
from torch import nn

from softquery.attention import MultiHead
from softquery.nn import DecoderBlock, EncoderBlock, FeedForward, Positions, sinusoids
from softquery.nn.transformer import Residual

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
MASK = torch.tensor([[True] * 5, [True, True, False, False, False]])


def encoder_block(norm="post", activation="relu", dropout=0.0):
    torch.manual_seed(1)
    heads = MultiHead(8, 2, dropout=dropout)
    return EncoderBlock(
        heads,
        FeedForward(8, 12, activation=activation, dropout=dropout),
        norm=norm,
        dropout=dropout,
    )


def decoder_block(norm="post", dropout=0.0):
    torch.manual_seed(1)
    return DecoderBlock(
        MultiHead(8, 2), MultiHead(8, 2), FeedForward(8, 12), norm=norm, dropout=dropout
    )


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_an_encoder_block_is_torchs(norm, activation):
    block = encoder_block(norm, activation)
    twin = nn.TransformerEncoderLayer(
        8, 2, 12, dropout=0.0, activation=activation, batch_first=True, norm_first=norm == "pre"
    )
    heads = block.attention
    parts = (heads.query_projection, heads.key_projection, heads.value_projection)
    twin.self_attn.in_proj_weight.data = torch.cat([part.weight for part in parts])
    twin.self_attn.in_proj_bias.data = torch.cat([part.bias for part in parts])
    twin.self_attn.out_proj.load_state_dict(heads.output_projection.state_dict())
    twin.linear1.load_state_dict(block.feed_forward.widen.state_dict())
    twin.linear2.load_state_dict(block.feed_forward.narrow.state_dict())
    states = torch.randn(2, 5, 8)
    found, shown = block(states, MASK)
    wanted = twin(states, src_key_padding_mask=~MASK)
    torch.testing.assert_close(found[MASK], wanted[MASK], **CLOSE)
    assert shown is None


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_shown_weights_change_no_answer(norm):
    block, states = encoder_block(norm), torch.randn(2, 5, 8)
    (hidden, _), (shown, weights) = block(states, MASK), block(states, MASK, weights="shown")
    torch.testing.assert_close(shown, hidden, **CLOSE)
    assert weights.shape == (2, 2, 5, 5)
    assert not weights[1, :, :, 2:].any()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 2, 5))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_decoder_block_goes_on_from_its_past(norm):
    block, states = decoder_block(norm), torch.randn(2, 6, 8)
    source = block.source_attention.remember(torch.randn(2, 5, 8), torch.randn(2, 5, 8))
    whole = block(states, source, MASK, weights="shown")
    first = block(states[:, :2], source, MASK)
    rest = block(states[:, 2:], source, MASK, past=first.past, weights="shown")
    torch.testing.assert_close(torch.cat([first.states, rest.states], dim=1), whole.states, **CLOSE)
    torch.testing.assert_close(rest.past.key, whole.past.key, **CLOSE)
    assert whole.own_weights.shape == (2, 2, 6, 6)
    assert whole.source_weights.shape == (2, 2, 6, 5)
    assert not whole.own_weights.triu(1).any()
    torch.testing.assert_close(rest.own_weights, whole.own_weights[:, :, 2:], **CLOSE)


def test_a_decoder_block_sees_no_future():
    block, states = decoder_block(), torch.randn(2, 6, 8)
    source = block.source_attention.remember(torch.randn(2, 5, 8), torch.randn(2, 5, 8))
    changed = states.clone()
    changed[:, 4:] = 9.0
    before, after = (block(each, source, MASK).states for each in (states, changed))
    torch.testing.assert_close(before[:, :4], after[:, :4], **CLOSE)


@pytest.mark.parametrize("make", [encoder_block, decoder_block])
def test_dropout_acts_in_training_alone(make):
    block, states = make(dropout=0.5), torch.randn(2, 5, 8)

    def run():
        if isinstance(block, EncoderBlock):
            return block(states, MASK)[0]
        return block(states, block.source_attention.remember(states, states), MASK).states

    assert not torch.equal(run(), run())
    block.eval()
    assert torch.equal(run(), run())


def test_the_way_around_a_sublayer():
    torch.manual_seed(1)
    states, answer = torch.randn(3, 8), torch.randn(3, 8)
    post, pre = Residual(8, norm="post"), Residual(8, norm="pre")
    assert torch.equal(post.enter(states), states)
    torch.testing.assert_close(post.leave(states, answer), post.norm(states + answer))
    torch.testing.assert_close(pre.enter(states), pre.norm(states))
    assert torch.equal(pre.leave(states, answer), states + answer)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (Residual, {"size": 8, "norm": "sandwich"}, "norm must be one of .*, got 'sandwich'"),
        (
            FeedForward,
            {"hidden_size": 8, "inner_size": 8, "activation": "swish"},
            "activation must be one of .*, got 'swish'",
        ),
        (
            Positions,
            {"kind": "rotary", "size": 8, "max_length": 3},
            "kind must be one of .*, got 'rotary'",
        ),
    ],
)
def test_unknown_choices_are_named(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        inspect.unwrap(kind.__init__)(kind.__new__(kind), **settings)


def test_sinusoidal_positions_do_not_end():
    positions = Positions("sinusoidal", 6, max_length=4)
    torch.testing.assert_close(positions(9), sinusoids(9, 6))
    torch.testing.assert_close(positions(2, start=7), sinusoids(9, 6)[7:])
    torch.testing.assert_close(positions(2, start=1), sinusoids(9, 6)[1:3])
    assert "table" not in positions.state_dict()


def test_an_odd_width_has_positions_too():
    assert sinusoids(3, 5).shape == (3, 5)


def test_learned_positions_end():
    positions = Positions("learned", 6, max_length=4)
    assert torch.equal(positions(2, start=2), positions.table[2:])
    assert positions.table.requires_grad
    with pytest.raises(ValueError, match="4 positions were learned, but 5 are asked for"):
        positions(3, start=2)


def test_there_must_be_positions():
    with pytest.raises(ValueError, match="max_length must be positive, got 0"):
        Positions("learned", 6, max_length=0)
