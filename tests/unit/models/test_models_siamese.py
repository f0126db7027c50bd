"""What the Siamese matcher promises beyond the contract: its vectors, its heads, its errors."""

import pytest
import torch
from torch.nn import functional as F

from softquery.data import Sentences
from softquery.models import Siamese, SiameseConfig
from softquery.models.siamese import CosineHead, FeatureHead

SIZES = {"vocab_size": 12, "embedding_size": 6, "hidden_size": 5}


def tokens(*sentences):
    return Sentences.pack(sentences).pad(torch.arange(len(sentences)), 4)


@pytest.mark.parametrize("pooling", ["mean", "max", "attentive"])
def test_a_sentence_is_one_vector(pooling):
    torch.manual_seed(1)
    model = Siamese(SiameseConfig(**SIZES, pooling=pooling)).eval()
    vectors = model.encode(tokens([2, 3], [3, 2], [2, 3], []))
    assert vectors.shape == (4, 10)
    torch.testing.assert_close(vectors[0], vectors[2])
    assert not torch.allclose(vectors[0], vectors[1])  # order matters
    assert not vectors[3].any()


def test_both_sides_share_one_encoder():
    torch.manual_seed(2)
    model = Siamese(SiameseConfig(**SIZES, head="cosine", output_size=1)).eval()
    first, second = model.encode(tokens([2, 3, 4])), model.encode(tokens([5, 6]))
    forth, back = model.compare(first, second).logits, model.compare(second, first).logits
    torch.testing.assert_close(forth, back)  # a cosine knows no order


def test_the_cosine_of_a_sentence_with_itself_is_the_largest_logit():
    torch.manual_seed(3)
    model = Siamese(SiameseConfig(**SIZES, head="cosine", output_size=1)).eval()
    vectors = model.encode(tokens([2, 3, 4], [5, 6], [7]))
    same = model.compare(vectors, vectors).logits
    torch.testing.assert_close(same, torch.full((3, 1), 2.5))
    assert (model.compare(vectors, vectors.roll(1, 0)).logits < same).all()


def test_two_classes_are_one_logit_against_zero():
    torch.manual_seed(4)
    first, second = torch.randn(2, 3, 8)
    one, two = CosineHead(1)(first, second), CosineHead(2)(first, second)
    assert torch.equal(two[:, 1:], one)
    assert not two[:, 0].any()
    torch.testing.assert_close(one[:, 0], 5 * F.cosine_similarity(first, second) - 2.5)


def test_the_feature_head_reads_four_views():
    torch.manual_seed(5)
    head, (u, v) = FeatureHead(3, 4, 2, dropout=0.0), torch.randn(2, 1, 3)
    hidden, last = head.layers[1], head.layers[4]
    views = torch.cat([u, v, (u - v).abs(), u * v], dim=1)
    wanted = torch.tanh(views @ hidden.weight.T + hidden.bias) @ last.weight.T + last.bias
    torch.testing.assert_close(head(u, v), wanted)


def test_empty_sentences_give_finite_gradients_through_the_cosine():
    torch.manual_seed(6)
    model = Siamese(SiameseConfig(**SIZES, head="cosine", pooling="mean", output_size=2))
    vectors, others = model.encode(tokens([], [2], [])), model.encode(tokens([3], [], []))
    model.compare(vectors, others).logits.square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() < 1e3, name


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"head": "cosine", "output_size": 3}, "cannot tell 3 classes apart; use head='features'"),
        ({"output_size": 0}, "output_size must be positive, got 0"),
        ({"hidden_size": -1}, "hidden_size must be positive, got -1"),
        ({"embedding_size": 0}, "embedding_size must be positive, got 0"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
    ],
)
def test_settings_that_cannot_be_are_quoted(settings, message):
    with pytest.raises(ValueError, match=message):
        SiameseConfig(**settings)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("pooling", "sum", "pooling must be mean, max or attentive, got 'sum'"),
        ("head", "dot", "head must be cosine or features, got 'dot'"),
    ],
)
def test_words_that_are_no_choice_are_quoted(name, value, message):
    config = SiameseConfig()
    # Past the checker of signatures, which only tests have and which would complain first.
    object.__setattr__(config, name, value)
    with pytest.raises(ValueError, match=message):
        config.__post_init__()
