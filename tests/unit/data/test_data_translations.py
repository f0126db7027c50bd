"""From rows of a file to batches of sources and targets."""

import pytest
import torch

from softquery.data import Sentences, Translations, encode_translations
from softquery.files import Row
from softquery.text import BOS_ID, EOS_ID, TextConfig, build_pipeline


def row(source, target, number=2):
    return Row({"source": source, "target": target}, number, "pairs.tsv")


def pipeline(texts, **settings):
    return build_pipeline(texts, TextConfig(**{"boundaries": True, **settings}))


SOURCE = pipeline(["ein mann isst"])
TARGET = pipeline(["a man eats bread"])
ROWS = [row("Ein Mann isst", "a man eats"), row("isst", "eats bread"), row("Mann", "")]


def test_both_sides_stand_between_their_ends():
    found = encode_translations(ROWS, SOURCE, TARGET)
    assert len(found) == 3
    batch = found.batch(torch.tensor([1, 0]), 5)
    assert batch.size == 2
    ein, mann, isst = (SOURCE.token_id(word) for word in ("ein", "mann", "isst"))
    assert batch.source.ids.tolist() == [
        [BOS_ID, isst, EOS_ID, 0, 0],
        [BOS_ID, ein, mann, isst, EOS_ID],
    ]
    eats, bread = TARGET.token_id("eats"), TARGET.token_id("bread")
    assert batch.inputs[0].tolist() == [BOS_ID, eats, bread, EOS_ID, 0]
    assert batch.labels[0].tolist() == [eats, bread, EOS_ID, 0, 0]
    assert batch.inputs.shape == batch.labels.shape == (2, 5)
    assert batch.target.mask.sum(dim=1).tolist() == [4, 5]


def test_a_row_needs_room_for_its_source_and_for_its_targets_inputs():
    found = Translations(
        Sentences.pack([[2, 3], [2, 4, 5, 3]]), Sentences.pack([[2, 4, 5, 6, 3], [2, 3]])
    )
    assert found.lengths().tolist() == [4, 4]
    batch = found.batch(torch.arange(2), 4)
    assert batch.source.mask.sum(dim=1).tolist() == [2, 4]
    assert batch.target.mask.sum(dim=1).tolist() == [5, 2]


def test_an_empty_text_has_its_ends():
    batch = encode_translations(ROWS, SOURCE, TARGET).batch(torch.tensor([2]), 5)
    assert batch.labels[0].tolist() == [EOS_ID, 0, 0, 0, 0]


def test_cuts_are_counted_and_keep_the_ends():
    short = pipeline(["a man eats bread"], max_tokens=3)
    found = encode_translations(ROWS, SOURCE, short)
    assert found.num_cut == 2
    assert found.batch(torch.tensor([0]), 5).target.ids[0, 2] == EOS_ID


def test_they_move_to_another_device_whole():
    moved = encode_translations(ROWS, SOURCE, TARGET).to("meta")
    assert moved.source.ids.device.type == moved.target.ids.device.type == "meta"


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_text_without_ends_is_refused(side):
    open_ended = pipeline(["a"], boundaries=False)
    pipelines = {"source": SOURCE, "target": TARGET, side: open_ended}
    with pytest.raises(ValueError, match=f"the {side}'s text needs boundaries=True"):
        encode_translations(ROWS, **pipelines)
