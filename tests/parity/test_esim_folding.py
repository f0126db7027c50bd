"""The algebra that lets a stored side carry its share of the comparison, exact in float64.

With W = [W1 W2 W3 W4], W [a; ã; a − ã; a ⊙ ã] = (W1 + W3) a + (W2 − W3) ã + W4 (a ⊙ ã), and since
ã = Σ α b, (W2 − W3) ã = Σ α (W2 − W3) b: both linear parts need one sentence alone.
"""

import pytest
import torch

from softquery.data import PairBatch, Sentences
from softquery.models import Esim, EsimConfig
from softquery.models.esim import align, contrast
from softquery.nn import max_pool, mean_pool

EXACT = {"rtol": 0, "atol": 1e-8}
FIRST = [[2, 3, 4, 5, 6], [7], [8, 9], [3, 3, 3], []]
SECOND = [[4, 5], [2, 9, 8, 7, 6, 5], [3], [3, 3, 3], [5, 6]]


APART = {"projection_size": 10, "composer_size": 14}
"""Of the encoder's 24."""
SETTINGS = [
    {"cell": "lstm"},
    {"cell": "gru"},
    *({"composer": name, **APART} for name in ("lstm", "gru", "feedforward", "convolution")),
]


@pytest.fixture(params=SETTINGS, ids=lambda given: "-".join(map(str, given.values())))
def model(request):
    torch.manual_seed(11)
    config = EsimConfig(vocab_size=10, embedding_size=20, hidden_size=24, **request.param)
    made = Esim(config).double().eval()
    for name, parameter in made.named_parameters():
        if "bias" in name:
            torch.nn.init.normal_(parameter)
    return made


def tokens(sentences):
    length = max(map(len, sentences))
    return Sentences.pack(sentences).pad(torch.arange(len(sentences)), length)


def folded_weights(model):
    """The three matrices that are left of the four: for a, for what is stored of b, for a ⊙ ã."""
    first, second, third, fourth = model.project[0].weight.chunk(4, dim=1)
    return first + third, second - third, fourth


def test_four_blocks_fold_into_three(model):
    own, aligned = torch.randn(2, 3, 6, 48, dtype=torch.float64)
    for_own, for_aligned, for_product = folded_weights(model)
    plain = model.project[0](contrast(own, aligned))
    folded = own @ for_own.T + aligned @ for_aligned.T + (own * aligned) @ for_product.T
    torch.testing.assert_close(folded + model.project[0].bias, plain, **EXACT)


def test_the_aligned_part_can_be_projected_before_it_is_mixed(model):
    first, second = model.encode(tokens(FIRST)), model.encode(tokens(SECOND))
    _, for_aligned, _ = folded_weights(model)
    attended = align(first, second)
    stored = second.states @ for_aligned.T  # belongs to the second sentence alone
    torch.testing.assert_close(attended.weights @ stored, attended.mixed @ for_aligned.T, **EXACT)


@torch.inference_mode()
def test_the_folded_model_gives_the_same_logits(model):
    first, second = model.encode(tokens(FIRST)), model.encode(tokens(SECOND))
    for_own, for_aligned, for_product = folded_weights(model)
    pooled = []
    for own, other in ((first, second), (second, first)):
        attended = align(own, other)
        alone = own.states @ for_own.T + model.project[0].bias
        stored = other.states @ for_aligned.T
        paid = (own.states * attended.mixed) @ for_product.T
        local = torch.relu(alone + attended.weights @ stored + paid)
        composed = model.composer(local, own.mask)
        pooled += [mean_pool(composed, own.mask), max_pool(composed, own.mask)]
    plain = model(PairBatch(tokens(FIRST), tokens(SECOND), None)).logits
    torch.testing.assert_close(model.classifier(torch.cat(pooled, dim=-1)), plain, **EXACT)
