"""The Transformer against torch's own and against a Marian of random weights."""

import pytest
import torch
from torch import nn

from softquery.data import Sentences, TranslationBatch
from softquery.models import Transformer, TransformerConfig

ROWS = [
    ([2, 5, 6, 7, 8, 3], [2, 9, 10, 3]),
    ([2, 4, 3], [2, 4, 5, 6, 7, 8, 3]),
    ([2, 3], [2, 3]),
    ([2, 11, 10, 9, 8, 7, 6, 3], [2, 11, 4, 3]),
]
SIZES = {
    "source_vocab_size": 12, "target_vocab_size": 12, "hidden_size": 8, "num_heads": 2,
    "inner_size": 14, "num_encoder_layers": 2, "num_decoder_layers": 3, "dropout": 0.0,
    "max_length": 20,
}  # fmt: skip


def batch():
    sides = [
        Sentences.pack([row[side] for row in ROWS]).pad(torch.arange(len(ROWS)), 8 + side)
        for side in (0, 1)
    ]
    return TranslationBatch(*sides)


def build(**settings):
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(**SIZES, **settings)).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model


def copy_heads(theirs, ours):
    """torch.nn.MultiheadAttention keeps the three projections in one."""
    theirs.in_proj_weight.data = torch.cat(
        [ours.query_projection.weight, ours.key_projection.weight, ours.value_projection.weight]
    )
    theirs.in_proj_bias.data = torch.cat(
        [ours.query_projection.bias, ours.key_projection.bias, ours.value_projection.bias]
    )
    theirs.out_proj.load_state_dict(ours.output_projection.state_dict())


def copy_rest(theirs, ours, arounds):
    theirs.linear1.load_state_dict(ours.feed_forward.widen.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.narrow.state_dict())
    for number, around in enumerate(arounds, 1):
        getattr(theirs, f"norm{number}").load_state_dict(around.norm.state_dict())


def torch_twin(model):
    config = model.config
    is_pre = config.norm == "pre"
    shape = {
        "d_model": config.hidden_size, "nhead": config.num_heads, "dropout": 0.0,
        "dim_feedforward": config.inner_size, "activation": config.activation,
        "batch_first": True, "norm_first": is_pre,
    }  # fmt: skip
    twin = nn.Transformer(
        **shape,
        custom_encoder=nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**shape),
            config.num_encoder_layers,
            norm=model.encoder_norm if is_pre else None,
            enable_nested_tensor=False,
        ),
        custom_decoder=nn.TransformerDecoder(
            nn.TransformerDecoderLayer(**shape),
            config.num_decoder_layers,
            norm=model.decoder_norm if is_pre else None,
        ),
    ).eval()
    for theirs, ours in zip(twin.encoder.layers, model.encoder, strict=True):
        copy_heads(theirs.self_attn, ours.attention)
        copy_rest(theirs, ours, [ours.around_attention, ours.around_feed_forward])
    for theirs, ours in zip(twin.decoder.layers, model.decoder, strict=True):
        copy_heads(theirs.self_attn, ours.own_attention)
        copy_heads(theirs.multihead_attn, ours.source_attention)
        copy_rest(theirs, ours, [ours.around_own, ours.around_source, ours.around_feed_forward])
    return twin


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_torch_transformer(norm, activation, mode):
    """Forward and gradient, training and evaluation; neither has dropout here."""
    model, rows = build(norm=norm, activation=activation), batch()
    twin = torch_twin(model)
    getattr(model, mode)()
    getattr(twin, mode)()
    source = model.words.read_source(rows.source.ids) * 8**0.5 + model.source_positions(8)
    target = model.words.read_target(rows.inputs) * 8**0.5 + model.target_positions(8)
    states = twin(
        source,
        target,
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(8),
        src_key_padding_mask=~rows.source.mask,
        memory_key_padding_mask=~rows.source.mask,
        tgt_is_causal=True,
    )
    wanted, found = model.words.logits(states), model(rows).logits
    is_real = rows.labels != 0
    torch.testing.assert_close(found[is_real], wanted[is_real], rtol=1e-4, atol=1e-5)
    table = model.words.target.weight
    gradients = [
        torch.autograd.grad(logits[is_real].square().sum(), table)[0] for logits in (found, wanted)
    ]
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-3)


def copy_marian_heads(theirs, ours):
    for name, other in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "out")):
        layer = getattr(ours, f"{name}_projection")
        layer.load_state_dict(getattr(theirs, f"{other}_proj").state_dict())


def copy_marian_rest(theirs, ours):
    ours.feed_forward.widen.load_state_dict(theirs.fc1.state_dict())
    ours.feed_forward.narrow.load_state_dict(theirs.fc2.state_dict())
    ours.around_feed_forward.norm.load_state_dict(theirs.final_layer_norm.state_dict())


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_marian(activation):
    """Marian's sinusoids stand in another order, so that its table is taken over as learned."""
    transformers = pytest.importorskip("transformers", reason="Marian is a model of transformers")
    torch.manual_seed(7)
    marian = transformers.MarianMTModel(transformers.MarianConfig(
        vocab_size=12, d_model=8, encoder_layers=2, decoder_layers=3, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=14, decoder_ffn_dim=14, dropout=0.0,
        activation_function=activation, scale_embedding=True, max_position_embeddings=20,
        pad_token_id=0, eos_token_id=3, decoder_start_token_id=2, forced_eos_token_id=None,
        init_std=0.4,
    )).eval()  # fmt: skip
    marian.final_logits_bias.normal_()
    model = build(positions="learned", activation=activation)
    with torch.no_grad():
        model.words.target.weight.copy_(marian.model.shared.weight)
        model.words.bias.copy_(marian.final_logits_bias[0])
        for positions, side in (
            (model.source_positions, marian.model.encoder),
            (model.target_positions, marian.model.decoder),
        ):
            positions.table.copy_(side.embed_positions.weight)
    for theirs, ours in zip(marian.model.encoder.layers, model.encoder, strict=True):
        copy_marian_heads(theirs.self_attn, ours.attention)
        ours.around_attention.norm.load_state_dict(theirs.self_attn_layer_norm.state_dict())
        copy_marian_rest(theirs, ours)
    for theirs, ours in zip(marian.model.decoder.layers, model.decoder, strict=True):
        copy_marian_heads(theirs.self_attn, ours.own_attention)
        copy_marian_heads(theirs.encoder_attn, ours.source_attention)
        ours.around_own.norm.load_state_dict(theirs.self_attn_layer_norm.state_dict())
        ours.around_source.norm.load_state_dict(theirs.encoder_attn_layer_norm.state_dict())
        copy_marian_rest(theirs, ours)
    rows = batch()
    with torch.inference_mode():
        wanted = marian(
            input_ids=rows.source.ids,
            attention_mask=rows.source.mask.long(),
            decoder_input_ids=rows.inputs,
        ).logits
        found = model(rows).logits
    is_real = rows.labels != 0
    torch.testing.assert_close(found[is_real], wanted[is_real], rtol=1e-4, atol=1e-4)


def test_sinusoids_are_the_papers():
    """PE(pos, 2i) = sin(pos / 10000^(2i / D)), PE(pos, 2i + 1) = cos of the same."""
    table = build().source_positions(20)
    for position in (0, 1, 7, 19):
        for i in range(4):
            angle = torch.tensor(position / 10000 ** (2 * i / 8), dtype=torch.float64)
            assert table[position, 2 * i].item() == pytest.approx(angle.sin().item(), abs=1e-6)
            assert table[position, 2 * i + 1].item() == pytest.approx(angle.cos().item(), abs=1e-6)
