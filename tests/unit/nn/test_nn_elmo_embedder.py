"""A biLM as a brick: mixed layers beside word vectors, frozen or tuned, at the input and output."""

import pytest
import torch

from elmo_cases import ENTRIES, ElmoCase
from softquery.data import PairBatch, Tokens
from softquery.models import Esim, EsimConfig
from softquery.nn import ElmoEmbedder, Embedded, LayerMix, WordEmbedding
from softquery.text import spell_vocabulary

CLOSE = {"rtol": 1e-5, "atol": 1e-6}
IDS = torch.tensor([[5, 9, 4, 0], [7, 0, 0, 0], [0, 0, 0, 0], [13, 12, 11, 10]])
CHARACTERS = torch.from_numpy(spell_vocabulary(ENTRIES, 9))


def make(*places, words=None, characters=CHARACTERS, dropout=0.0, **settings):
    torch.manual_seed(1)
    bilm = ElmoCase(softmax={"kind": "none"}).build(dropout=dropout)
    mixes = {place: LayerMix(3, penalty=0.5) for place in places}
    return ElmoEmbedder(bilm, characters, mixes, words=words, **settings)


def by_hand(embedder, sentence):
    """The mean of all layers at the words of one sentence."""
    wrapped = torch.tensor([[2, *sentence, 3]])
    bilm = embedder.bilm.eval()
    layers = bilm.encode(CHARACTERS[wrapped], torch.ones_like(wrapped, dtype=torch.bool)).layers
    return layers.mean(dim=0)[0, 1:-1]


@pytest.mark.parametrize("tuning", ["frozen", "tuned"])
def test_vectors_are_the_mixed_layers_of_the_bilm(tuning):
    embedder = make("input", tuning=tuning).eval()
    found = embedder(IDS)
    assert found.shape == (4, 4, embedder.output_size) == (4, 4, 8)
    for row, sentence in enumerate([[5, 9, 4], [7], [], [13, 12, 11, 10]]):
        torch.testing.assert_close(
            found[row, : len(sentence)], by_hand(embedder, sentence), **CLOSE
        )
        assert not found[row, len(sentence) :].any()


def test_ends_that_are_there_are_not_added():
    embedder = make("input", ends="there").eval()
    found = embedder(torch.tensor([[2, 5, 9, 3, 0]]))
    torch.testing.assert_close(found[0, 1:3], by_hand(embedder, [5, 9]), **CLOSE)
    assert found[0, 3].any()
    assert not found[0, 4].any()


def test_padding_and_company_change_nothing():
    embedder = make("input").eval()
    wanted = embedder(IDS)
    torch.testing.assert_close(
        embedder(torch.nn.functional.pad(IDS, (0, 3)))[:, :4], wanted, **CLOSE
    )
    torch.testing.assert_close(embedder(IDS[3:]), wanted[3:], **CLOSE)


def test_a_table_of_words_is_laid_beside():
    words = WordEmbedding(len(ENTRIES), 5)
    embedder = make("input", words=words).eval()
    found = embedder(IDS)
    assert embedder.output_size == 13
    torch.testing.assert_close(found[..., :5], words(IDS))
    torch.testing.assert_close(found[..., 5:], make("input").eval()(IDS), **CLOSE)


def test_places_have_weights_of_their_own():
    embedder = make("input", "output").eval()
    embedder.mixes["output"].weights.data = torch.tensor([9.0, -9.0, -9.0])
    found = embedder(IDS)
    assert isinstance(found, Embedded)
    assert (embedder.output_size, embedder.added_size) == (8, 8)
    assert not torch.allclose(found.at_input, found.at_output)
    alone = embedder.bilm.read_tokens(CHARACTERS[5:6])
    torch.testing.assert_close(found.at_output[0, 0, :4], alone[0], rtol=0, atol=1e-4)


def test_mixed_vectors_are_projected_at_each_place():
    whole = make("input", "output").eval()
    embedder = make("input", "output", size=3).eval()
    assert (embedder.output_size, embedder.added_size) == (3, 3)
    found, wide = embedder(IDS), whole(IDS)
    for place, ours, theirs in zip(("input", "output"), found, wide, strict=True):
        matrix = embedder.projections[place].weight
        torch.testing.assert_close(ours, theirs @ matrix.t(), **CLOSE)
    assert not torch.allclose(found.at_input, found.at_output)
    assert not found.at_input[IDS == 0].any()
    found.at_input.sum().backward()
    assert embedder.projections["input"].weight.grad.any()
    assert not whole.projections


def test_the_output_alone_needs_a_table_of_words():
    found = make("output", words=WordEmbedding(len(ENTRIES), 5)).eval()(IDS)
    assert (found.at_input.shape[-1], found.at_output.shape[-1]) == (5, 8)
    with pytest.raises(ValueError, match="without a table of words there must be a mix at the inp"):
        make("output")


def test_a_frozen_bilm_learns_nothing_and_never_drops():
    embedder = make("input", dropout=0.5).train()
    assert not embedder.bilm.training
    torch.testing.assert_close(embedder(IDS), embedder(IDS))
    embedder(IDS).sum().backward()
    assert [name for name, p in embedder.named_parameters() if p.grad is not None] == [
        "mixes.input.weights",
        "mixes.input.scale",
    ]


def test_a_tuned_bilm_learns_and_drops():
    embedder = make("input", tuning="tuned", dropout=0.5).train()
    assert embedder.bilm.training
    assert not torch.allclose(embedder(IDS), embedder(IDS))
    embedder(IDS).square().sum().backward()
    assert all(parameter.grad is not None for parameter in embedder.parameters())


def test_words_beyond_the_table_are_read_all_the_same():
    last = len(ENTRIES) - 1
    embedder = make("input", words=WordEmbedding(last, 5)).eval()
    found = embedder(torch.tensor([[last], [1], [last - 1]]))
    torch.testing.assert_close(found[0, 0, :5], embedder.words.table.weight[1])
    torch.testing.assert_close(found[2, 0, :5], embedder.words.table.weight[last - 1])
    assert not torch.allclose(found[0, :, 5:], found[1, :, 5:])  # its characters are read


def test_the_penalty_is_that_of_all_mixes():
    embedder = make("input", "output")
    embedder.mixes["input"].weights.data += 1
    assert embedder.regulariser().item() == pytest.approx(0.5 * 3)


def test_weights_come_back():
    embedder, other = make("input"), make("input")
    other.eval()(IDS)  # what was read beforehand must not stay
    for parameter in embedder.parameters():
        parameter.data.normal_()
    other.load_state_dict(embedder.state_dict())
    torch.testing.assert_close(embedder.eval()(IDS), other.eval()(IDS))


def test_esim_takes_it_at_its_input():
    embedder = make("input", words=WordEmbedding(len(ENTRIES), 5))
    model = Esim(EsimConfig(hidden_size=6, output_size=2), embedder)
    sides = [Tokens(IDS, IDS != 0), Tokens(IDS.flip(0), IDS.flip(0) != 0)]
    model(PairBatch(*sides, None)).logits.sum().backward()
    assert embedder.mixes["input"].weights.grad is not None
    assert embedder.words.table.weight.grad is not None
