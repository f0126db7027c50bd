import pytest
import torch

from softquery.attention import KeyValueCache, MultiHead, causal_mask, padding_mask


def heads(**settings: float | int | bool) -> MultiHead:
    torch.manual_seed(0)
    return MultiHead(12, 3, **settings).eval()


def test_head_count_must_divide_width():
    with pytest.raises(
        ValueError, match=r"hidden_size \(10\) must be divisible by num_heads \(3\)"
    ):
        MultiHead(hidden_size=10, num_heads=3)
    with pytest.raises(ValueError, match=r"hidden_size \(10\).*num_heads \(0\)"):
        MultiHead(hidden_size=10, num_heads=0)


@pytest.mark.parametrize("dropout", [-0.1, 1.0])
def test_dropout_must_be_a_probability_below_one(dropout):
    with pytest.raises(ValueError, match=rf"dropout must be in \[0, 1\), got {dropout}"):
        MultiHead(4, 2, dropout=dropout)


@pytest.mark.parametrize("bias", [True, False])
def test_agrees_with_torch(bias):
    layer = heads(key_size=7, value_size=5, bias=bias)
    theirs = torch.nn.MultiheadAttention(12, 3, bias=bias, kdim=7, vdim=5, batch_first=True)
    parts = (layer.query_projection, layer.key_projection, layer.value_projection)
    with torch.no_grad():
        theirs.q_proj_weight.copy_(parts[0].weight)
        theirs.k_proj_weight.copy_(parts[1].weight)
        theirs.v_proj_weight.copy_(parts[2].weight)
        theirs.out_proj.weight.copy_(layer.output_projection.weight)
        if bias:
            theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
            theirs.out_proj.bias.copy_(layer.output_projection.bias)
    query, key, value = torch.randn(2, 4, 12), torch.randn(2, 6, 7), torch.randn(2, 6, 5)
    mask = padding_mask(torch.tensor([6, 3]), 6)
    expected = theirs(query, key, value, key_padding_mask=~mask, average_attn_weights=False)
    mixed, weights = layer(query, key, value, mask=mask[:, None])
    torch.testing.assert_close(mixed, expected[0])
    torch.testing.assert_close(weights, expected[1])


@pytest.mark.parametrize("steps", [[1] * 6, [3, 1, 2], [6], [1, 5]])
def test_decoding_through_the_cache_equals_one_causal_pass(steps):
    layer = heads()
    words = torch.randn(2, 6, 12)
    whole = layer(words, words, words, mask=causal_mask(6, 6))
    past, mixed, attended = None, [], []
    for chunk in words.split(steps, dim=1):
        past = layer.remember(chunk, chunk, past=past)
        mixed.append(layer.mix(chunk, past, causal=True))
        mask = causal_mask(chunk.shape[1], past.num_keys)
        attended.append(layer.attend(chunk, past, mask=mask).mixed)
    assert past.num_keys == 6
    torch.testing.assert_close(torch.cat(mixed, dim=1), whole.mixed)
    torch.testing.assert_close(torch.cat(attended, dim=1), whole.mixed)


def test_gradients_flow_back_through_the_cache():
    layer = heads()
    words = torch.randn(2, 3, 12, requires_grad=True)
    past = layer.remember(words[:, :2], words[:, :2])
    last = words[:, 2:]
    stepped = layer.mix(last, layer.remember(last, last, past=past), causal=True)
    whole = layer.mix(words, layer.remember(words, words), causal=True)[:, 2:]
    found = torch.autograd.grad(stepped.square().sum(), words)
    expected = torch.autograd.grad(whole.square().sum(), words)
    torch.testing.assert_close(found, expected)


def test_the_source_is_projected_once_for_every_step():
    layer = heads(key_size=7)
    source, targets = torch.randn(2, 5, 7), torch.randn(2, 4, 12)
    mask = padding_mask(torch.tensor([5, 2]), 5)[:, None]
    memory = layer.remember(source, source)
    steps = [layer.mix(target, memory, mask=mask) for target in targets.split(1, dim=1)]
    expected = layer(targets, source, source, mask=mask).mixed
    torch.testing.assert_close(torch.cat(steps, dim=1), expected)


def test_a_cache_is_a_value_that_nothing_changes():
    layer = heads()
    words = torch.randn(2, 3, 12)
    past = layer.remember(words, words)
    before = KeyValueCache(past.key.clone(), past.value.clone())
    longer = layer.remember(words, words, past=past)
    layer.mix(words, longer, causal=True)
    assert (past.num_keys, longer.num_keys) == (3, 6)
    assert past.key.equal(before.key)
    assert past.value.equal(before.value)
    with pytest.raises(AttributeError):
        past.key = longer.key


@pytest.mark.parametrize("ask", ["attend", "mix"])
def test_dropout_acts_while_training_and_only_then(ask):
    layer, plain = heads(dropout=0.5), heads()
    words = torch.randn(2, 4, 12)

    def answer(module: MultiHead) -> torch.Tensor:
        found = getattr(module, ask)(words, module.remember(words, words))
        return found if ask == "mix" else found.mixed

    assert answer(layer).equal(answer(plain))
    layer.train()
    assert not answer(layer).equal(answer(layer))
    plain.train()
    assert answer(plain).equal(answer(plain))


def test_training_shows_the_dropped_weights():
    layer = heads(dropout=0.5)
    words = torch.randn(2, 9, 12)
    plain = layer(words, words, words).weights
    dropped = layer.train()(words, words, words).weights
    kept = dropped != 0
    assert 0.35 < kept.float().mean() < 0.65
    torch.testing.assert_close(dropped, plain * kept / 0.5)


def test_a_query_that_sees_nothing_gets_the_output_bias():
    layer = heads()
    words = torch.randn(2, 4, 12)
    mask = padding_mask(torch.tensor([4, 0]), 4)[:, None]
    bias = layer.output_projection.bias.expand(4, 12)
    torch.testing.assert_close(layer(words, words, words, mask=mask).mixed[1], bias)
    mixed = layer.mix(words, layer.remember(words, words), mask=mask)
    torch.testing.assert_close(mixed[1], bias)


def test_an_empty_memory_gives_the_output_bias():
    layer = heads()
    nothing = torch.randn(2, 0, 12)
    memory = layer.remember(nothing, nothing)
    expected = layer.output_projection.bias.expand(2, 3, 12)
    torch.testing.assert_close(layer.mix(torch.randn(2, 3, 12), memory), expected)
    torch.testing.assert_close(layer.attend(torch.randn(2, 3, 12), memory).mixed, expected)


def test_every_parameter_gets_a_gradient():
    layer = heads()
    words = torch.randn(2, 4, 12)
    layer(words, words, words).mixed.square().sum().backward()
    for name, parameter in layer.named_parameters():
        if name == "key_projection.bias":  # moves all of a query's logits alike: softmax forgets it
            torch.testing.assert_close(parameter.grad, torch.zeros(12), atol=1e-6, rtol=0)
        else:
            assert parameter.grad.ne(0).any(), name
