"""A run that is complete removes what it made on its way, and nothing else."""

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from index_forging import tree, write_canaries
from softquery.running.run_folder import clear_up


def test_only_what_the_run_made_is_removed(tmp_path):
    outside = write_canaries(tmp_path / "outside")
    target, folder = tmp_path / "model", tmp_path / "model.partial"
    for made in (target, folder, tmp_path / ".model.0123456789abcdef.tmp"):
        made.mkdir()
        (made / "run.json").write_text("{}")
    (folder / "elsewhere").symlink_to(outside)
    for own in (".model.notes.tmp", ".model.0123.tmp", ".model.0123456789abcdeX.tmp"):
        (tmp_path / own).mkdir()
        (tmp_path / own / "letter.txt").write_text("mine")
    (tmp_path / ".model.fedcba9876543210.tmp").symlink_to(outside)
    before = tree(outside)
    clear_up(folder, target)
    assert tree(outside) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".model.0123.tmp",
        ".model.0123456789abcdeX.tmp",
        ".model.fedcba9876543210.tmp",
        ".model.notes.tmp",
        "model",
        "outside",
    ]


def test_a_run_that_is_a_link_stays_where_it_leads(tmp_path):
    outside = write_canaries(tmp_path / "outside")
    (tmp_path / "model.partial").symlink_to(outside)
    before = tree(outside)
    clear_up(tmp_path / "model.partial", tmp_path / "model")
    assert tree(outside) == before
