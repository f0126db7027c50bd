"""`softquery.train` tells callbacks of the settings that it tries, and shows them if asked."""

import pytest

import softquery as sq
from softquery.errors import ConfigError
from softquery.running.callbacks import Callback

GOOD = ["a warm film", "so funny", "well made", "I liked it", "a great cast", "lovely music"]
BAD = ["a cold film", "so dull", "badly made", "I hated it", "a poor cast", "awful music"]
ROWS = [{"text": t, "label": "good"} for t in GOOD] + [{"text": t, "label": "bad"} for t in BAD]


class Tried(Callback):
    """Counts the settings, and has enough after some of them."""

    def __init__(self, enough):
        self.enough, self.total, self.facts = enough, 0, []

    def on_begin(self, event):
        self.total = event.total_steps

    def on_step(self, event):
        self.facts.append(event.facts)
        return event.step >= self.enough


def test_a_search_that_is_ended_leaves_a_model_and_progress_is_shown(tmp_path, capsys):
    tried = Tried(enough=1)
    model = sq.train(ROWS, output=tmp_path / "model", callbacks=[tried], progress=True)
    assert 0 < len(tried.facts) < tried.total
    assert all(0 <= facts["tune_accuracy"] <= 1 for facts in tried.facts)
    assert model.predict(["a warm film"])[0].label == "good"
    said = capsys.readouterr().err
    assert f"{len(tried.facts)} of {tried.total} steps" in said
    assert "tune accuracy" in said


def test_what_is_no_callback_is_refused_before_any_work(tmp_path):
    with pytest.raises(ConfigError, match="callbacks must be"):
        sq.train(ROWS, output=tmp_path / "model", callbacks=[print])
