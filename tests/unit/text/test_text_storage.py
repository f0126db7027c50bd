"""The file: whole, the same after reading, refused with the reason."""

import json

import pytest

from softquery.errors import BundleError, InputError
from softquery.text import TextConfig, TextPipeline, build_pipeline

TEXTS = ["A man isn't eating.", "我爱北京天安门", "low lower lowest"]


@pytest.mark.parametrize("unit", ["words", "characters", "jieba", "bpe", "wordpiece", "bert"])
@pytest.mark.parametrize("boundaries", [False, True])
def test_saved_and_loaded_is_the_same(tmp_path, unit, boundaries):
    if unit == "jieba":
        pytest.importorskip("jieba")
    config = TextConfig(unit=unit, boundaries=boundaries, simplify=True, max_tokens=6)
    pipeline = build_pipeline(TEXTS, config)
    pipeline.save(tmp_path / "new" / "folder")
    loaded = TextPipeline.load(tmp_path / "new" / "folder", config)
    assert loaded.vocabulary() == pipeline.vocabulary()
    assert loaded.encode([*TEXTS, "unseen 漢語", ""]) == pipeline.encode(
        [*TEXTS, "unseen 漢語", ""]
    )
    loaded.save(tmp_path / "again")
    first, second = (tmp_path / name / "tokenizer.json" for name in ("new/folder", "again"))
    assert first.read_bytes() == second.read_bytes()


def test_nothing_else_is_left_in_the_folder(tmp_path):
    build_pipeline(TEXTS, TextConfig()).save(tmp_path)
    build_pipeline(TEXTS[:1], TextConfig()).save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]


def test_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    build_pipeline(TEXTS, TextConfig()).save(tmp_path)
    before = (tmp_path / "tokenizer.json").read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="no space left"):
        build_pipeline(["other"], TextConfig()).save(tmp_path)
    assert (tmp_path / "tokenizer.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]


def refusal(folder, config=None):
    with pytest.raises(BundleError) as caught:
        TextPipeline.load(folder, config or TextConfig())
    assert "\n" not in str(caught.value)
    assert "tokenizer.json" in str(caught.value)
    return str(caught.value)


def test_missing_file(tmp_path):
    assert "the file is missing" in refusal(tmp_path)


def test_folder_in_its_place(tmp_path):
    (tmp_path / "tokenizer.json").mkdir()
    assert "cannot be read" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged or not a tokenizer"),
        (b"{}", "damaged or not a tokenizer"),
        (b"[1, 2", "damaged or not a tokenizer"),
        (b"null", "damaged or not a tokenizer"),
        (b"\xff\xfe\x00", "not UTF-8 text"),
        (b"{" * 5000, "damaged or not a tokenizer"),
    ],
)
def test_damaged_content(tmp_path, content, message):
    (tmp_path / "tokenizer.json").write_bytes(content)
    assert message in refusal(tmp_path)


def test_truncated_anywhere(tmp_path):
    path = tmp_path / "tokenizer.json"
    build_pipeline(["a b"], TextConfig()).save(tmp_path)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 2, 97):
        path.write_bytes(whole[:length])
        assert "damaged" in refusal(tmp_path)


def test_reserved_tokens_must_stand_where_models_expect_them(tmp_path):
    build_pipeline(["a b"], TextConfig()).save(tmp_path)
    path = tmp_path / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["vocab"].update({"<pad>": 4, "a": 0})
    path.write_text(json.dumps(content))
    assert "expected <pad> at id 0, found 4" in refusal(tmp_path)


def test_unit_must_fit(tmp_path):
    build_pipeline(["a b"], TextConfig()).save(tmp_path)
    assert "unit 'bpe' needs BPE, found WordLevel" in refusal(tmp_path, TextConfig(unit="bpe"))


def test_boundaries_must_fit(tmp_path):
    build_pipeline(["a b"], TextConfig()).save(tmp_path)
    message = refusal(tmp_path, TextConfig(boundaries=True))
    assert "made for boundaries=False, but the configuration says True" in message


def test_parts_that_do_not_fit_each_other_are_refused(tmp_path):
    """The library would panic at the first text; its panic is no `Exception`."""
    config = TextConfig(boundaries=True)
    build_pipeline(["a man eats"], config).save(tmp_path)
    path = tmp_path / "tokenizer.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    del data["post_processor"]["special_tokens"]["<eos>"]
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(BundleError, match=r"tokenizer\.json: cannot be used \("):
        TextPipeline.load(tmp_path, config)
