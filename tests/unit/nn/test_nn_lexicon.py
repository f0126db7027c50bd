"""What a frozen biLM found in sentences is kept, and found again whatever the padding."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_cases import ENTRIES, ElmoCase
from softquery.data import Pairs, Questions, Sentences, Texts
from softquery.nn import ElmoEmbedder, KnownContexts, LayerMix, Lexicon, sentence_keys
from softquery.running import prefetch
from softquery.running.inner_embedder import known_by
from softquery.text import spell_vocabulary

CHARACTERS = torch.from_numpy(spell_vocabulary(ENTRIES, 9))
LEXICON = Lexicon(CHARACTERS, torch.arange(len(ENTRIES)))
SENTENCES = [[5, 9, 4], [7], [], [13, 12, 11, 10], [7], [4, 5, 9], [9, 5, 4]]
"""One twice, and the same words in another order."""
sentences = st.lists(st.lists(st.integers(1, 99), max_size=6), min_size=1, max_size=20)


class Holder(torch.nn.Module):
    """A model as far as it matters here."""

    def __init__(self, tuning):
        super().__init__()
        torch.manual_seed(1)
        bilm = ElmoCase(softmax={"kind": "none"}).build()
        self.embedder = ElmoEmbedder(bilm, CHARACTERS, {"input": LayerMix(3)}, tuning=tuning)


def padded(rows, length=6):
    return Sentences.pack(rows).pad(torch.arange(len(rows)), length).ids


@given(sentences, st.integers(0, 5))
@settings(deadline=None, max_examples=60)
def test_sentences_share_a_key_just_where_they_are_the_same(rows, more):
    keys = sentence_keys(padded(rows, 6)).tolist()
    assert sentence_keys(padded(rows, 6 + more)).tolist() == keys
    assert len(set(keys)) == len({tuple(row) for row in rows})


def test_what_was_written_is_found_in_any_order_and_padding():
    rows = [[4, 5], [6], [7, 8, 9]]
    keys, order = sentence_keys(padded(rows)).sort()
    known = KnownContexts.room_for(keys, torch.tensor([2, 1, 3])[order], num_layers=2, size=3)
    tokens = Sentences.pack(rows).pad(torch.arange(3), 3)
    layers = torch.randn(2, 3, 3, 3)
    known.write(tokens.ids, tokens.mask, layers)
    found = known.look_up(padded([rows[2], rows[0]], 5))
    torch.testing.assert_close(found[:, 0, :3], layers[:, 2])
    torch.testing.assert_close(found[:, 1, :2], layers[:, 0, :2])
    strange = known.look_up(padded([[9, 8, 7], [], rows[1]], 4))
    assert strange[:, 0].isnan().all()
    assert not strange[:, 1:].isnan().any()


def make_data(kind):
    given = Sentences.pack(SENTENCES)
    if kind == "texts":
        return Texts(given, LEXICON)
    if kind == "pairs":
        return Pairs(given, Sentences.pack(SENTENCES[::-1]), torch.zeros(7), 0, LEXICON)
    return Questions(Sentences.pack(SENTENCES[::-1]), given, LEXICON)


@pytest.mark.parametrize("kind", ["texts", "pairs", "questions"])
def test_vectors_are_those_that_are_read_each_time(kind, monkeypatch):
    monkeypatch.setattr(prefetch, "NUM_TOKENS", 16)
    model, said = Holder("frozen"), []
    data = prefetch.read_contexts(make_data(kind), model, said.append)
    assert said == ["the biLM reads 6 sentences, once: 0.0 GiB of states"]
    assert model.training
    ids = padded(SENTENCES)
    wanted = model.embedder(ids, LEXICON)
    torch.testing.assert_close(model.embedder(ids, data.lexicon), wanted, rtol=1e-5, atol=1e-6)
    moved = data.to("cpu").lexicon
    assert moved.contexts is not None
    monkeypatch.setattr(model.embedder, "bilm", None)  # nothing is left to do for it
    torch.testing.assert_close(model.embedder(ids, moved), wanted, rtol=1e-5, atol=1e-6)


def test_sentences_that_do_not_fit_are_read_each_time(monkeypatch):
    monkeypatch.setattr(prefetch, "_room", lambda device: 100)
    said = []
    data = prefetch.read_contexts(make_data("texts"), Holder("frozen"), said.append)
    assert data.lexicon.contexts is None
    assert data.lexicon.vectors is not None
    assert said == ["the biLM reads 6 sentences anew each epoch: 0.0 GiB"]


def test_room_is_a_part_of_the_free_memory_where_the_system_tells(monkeypatch):
    cpu = torch.device("cpu")
    assert prefetch._room(cpu) > 0
    monkeypatch.delattr("os.sysconf_names")
    assert prefetch._room(cpu) == 0


def test_a_bilm_that_learns_along_is_asked_each_time():
    data = prefetch.read_contexts(make_data("texts"), Holder("tuned"), pytest.fail)
    assert data.lexicon == LEXICON


def test_data_without_a_bilm_stay_as_they_are():
    data = make_data("texts")
    assert prefetch.read_contexts(data, torch.nn.Linear(1, 1), pytest.fail) is data


def test_a_run_knows_its_frozen_bilm_by_its_weights():
    model, same, other = Holder("frozen"), Holder("frozen"), Holder("frozen")
    next(other.embedder.bilm.parameters()).data += 1
    assert known_by(model) == known_by(same) != known_by(other)
    assert known_by(Holder("tuned")) == {} == known_by(torch.nn.Linear(1, 1))
