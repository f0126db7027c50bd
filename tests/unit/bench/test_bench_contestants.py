"""Each contestant answers, ours in a process of its own as it is timed."""

import json
import math
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest

from softquery.bench import contestants
from softquery.bench.contestants import (
    Ours,
    QuantisedCrossEncoder,
    TorchCrossEncoder,
    random_cross_encoder,
    write_graph,
)
from softquery.bench.match import SCENES, _measured, _tasks, run_match_bench
from softquery.bench.measure_one import timed
from softquery.bench.sample_sentences import sentences
from softquery.errors import BundleError, ConfigError
from softquery.runtime import load
from warm import launch

TEXTS = sentences(12)
PAIRS = list(zip(TEXTS[:5], TEXTS[5:10], strict=True))
TINY = {"tiny": {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}}


@pytest.fixture(scope="module")
def tiny_rival(tmp_path_factory):
    """A rival of the least size, and its int8 graph."""
    pytest.importorskip("transformers", reason="the rivals need the extra [bench]")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contestants, "SHAPES", TINY)
        graph = tmp_path_factory.mktemp("rival") / "tiny.onnx"
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            write_graph("tiny", graph)
        yield graph, heard


def test_ours_answers_and_ranks(tiny_bundle):
    ours = Ours(str(tiny_bundle), 1, TEXTS)
    assert [answer.label in ("0", "1") for answer in ours.match(PAIRS)] == [True] * 5
    hits = ours.rank(TEXTS[0])
    assert sorted(hit["corpus_id"] for hit in hits) == list(range(len(TEXTS)))
    stored = ours.stored
    ours.rank(TEXTS[1])
    assert ours.stored is stored  # encoded once
    ours.take(TEXTS[:3])
    assert len(ours.rank(TEXTS[1])) == 3


def test_ours_is_measured_in_a_process_of_its_own(tiny_bundle):
    task = {
        "kind": "ours", "model": str(tiny_bundle), "threads": 1, "seconds": 0.05, "words": [50]
    }  # fmt: skip
    found = _measured(task, 1)
    assert found.keys() == {*SCENES, "rank100_50_s", "startup_s", "peak_mb"}
    assert len(found["rank100_50_s"]) >= 2
    for scene in SCENES:
        assert len(found[scene]) >= 5
        assert all(0 < each < 60 for each in found[scene])
    assert 0 < found["startup_s"] < 60
    assert found["peak_mb"] > 10
    code = "import sys, softquery.bench.measure_one; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n"  # its memory and start are not those of the rivals


def test_a_failing_contestant_is_reported_in_one_line(tmp_path):
    task = {
        "kind": "ours", "model": str(tmp_path / "none"), "threads": 1, "seconds": 0.0, "words": []
    }  # fmt: skip
    with pytest.raises(ConfigError, match=r"^a contestant failed: [^\n]*no such model folder$"):
        _measured(task, 1)


def test_a_bundle_without_graphs_is_refused_before_anything_is_exported(tmp_path):
    from small_bundles import make_bundle

    heard = []
    plain = make_bundle(tmp_path / "plain", size=8, outputs=2)
    with pytest.raises(BundleError, match="not exported yet; run `softquery export` on it$"):
        run_match_bench([str(plain)], say=heard.append)
    assert heard == []


def test_times_are_those_of_calls_after_two_unmeasured():
    turns = []
    times = timed(turns.append, 0.0)
    assert len(times) == 5
    assert turns == [0, 1, 0, 1, 2, 3, 4]
    turns.clear()
    assert len(timed(turns.append, 0.0, least=2)) == 2
    assert turns == [0, 0, 1]
    assert all(math.isfinite(each) and each >= 0 for each in times)


def test_models_of_one_name_are_told_apart(tmp_path, tiny_bundle, monkeypatch):
    monkeypatch.setattr("softquery.bench.match.SHAPES", {})
    places = [tmp_path / each for each in ("a/model", "b/model", "c/wide")]
    for place in places:
        shutil.copytree(tiny_bundle, place)
    one, other, third = map(str, places)
    tasks = _tasks([one, other, third], 2, 0.1, tmp_path, lambda line: None)
    names = [one, other, "wide"]
    assert list(tasks) == [f"softquery {name} float32" for name in names]
    assert [task["model"] for task in tasks.values()] == [one, other, third]


def test_an_int8_model_competes_in_float32_as_well(tmp_path, tiny_bundle, monkeypatch):
    from small_bundles import exported, labelled, make_bundle, random_pairs

    monkeypatch.setattr("softquery.bench.match.SHAPES", {})
    plain = make_bundle(tmp_path / "plain", size=8, outputs=2)
    rows = labelled(random_pairs(40), ["0", "1"] * 20)
    small = exported(plain, tmp_path / "small", int8=True, limit=100, rows=rows)
    tasks = _tasks([str(small.bundle)], 2, 0.1, tmp_path, lambda line: None)
    assert list(tasks) == ["softquery small int8", "softquery small float32"]
    kinds = [load(task["model"]).bundle.metrics["export"]["precision"] for task in tasks.values()]
    assert kinds == ["int8", "float32"]


def test_ours_alone_makes_a_table(tiny_bundle, monkeypatch):
    monkeypatch.setattr("softquery.bench.match.SHAPES", {})
    heard = []
    bench = run_match_bench([str(tiny_bundle)], threads=1, rounds=2, seconds=0.01, say=heard.append)
    assert list(bench.rows) == ["softquery tiny float32"]
    assert heard == [f"round {turn} of 2: softquery tiny float32" for turn in (1, 2)]
    assert bench.ratio("softquery tiny float32", "softquery tiny float32", "rank100_s") == 1
    json.dumps(bench.rows, allow_nan=False)


def test_an_unknown_shape():
    known = "bert-base, minilm-l6, tinybert-l2, modernbert-17m"
    with pytest.raises(ConfigError, match=f"^shape must be one of {known}, got 'huge'"):
        random_cross_encoder("huge")


@pytest.mark.parametrize(("shape", "millions"), [("tinybert-l2", 4.4), ("modernbert-17m", 16.9)])
def test_small_rivals_have_as_many_weights_as_they_are_known_for(shape, millions):
    pytest.importorskip("transformers", reason="the rivals need the extra [bench]")
    model, _ = random_cross_encoder(shape)
    count = sum(each.numel() for each in model.parameters())
    assert round(count / 1e6, 1) == millions


def test_a_modern_rival_answers_in_torch_and_in_int8(tmp_path, monkeypatch):
    pytest.importorskip("transformers", reason="the rivals need the extra [bench]")
    monkeypatch.setattr(contestants, "SHAPES", {"modernbert-tiny": TINY["tiny"]})
    write_graph("modernbert-tiny", tmp_path / "modern.onnx")
    small = QuantisedCrossEncoder("modernbert-tiny", 1, TEXTS, tmp_path / "modern.onnx")
    for rival in (TorchCrossEncoder("modernbert-tiny", 1, TEXTS), small):
        for pairs in (PAIRS[:1], PAIRS, [(" ".join(TEXTS[:4]), TEXTS[1])]):
            assert np.isfinite(np.asarray(rival.match(pairs))).all()


def test_the_rival_in_torch(tiny_rival):
    rival = TorchCrossEncoder("tiny", 1, TEXTS)
    logits = rival.match(PAIRS).numpy()
    assert logits.shape == (5, 3)
    assert np.isfinite(logits).all()
    assert rival.rank(TEXTS[0]).shape == (len(TEXTS), 3)


def test_the_rival_in_int8_takes_other_sizes_than_it_was_exported_with(tiny_rival):
    rival = QuantisedCrossEncoder("tiny", 1, TEXTS, tiny_rival[0])
    for pairs in (PAIRS[:1], PAIRS, [(" ".join(TEXTS[:4]), TEXTS[1])]):
        logits = rival.match(pairs)
        assert logits.shape == (len(pairs), 3)
        assert np.isfinite(logits).all()
    assert rival.rank(TEXTS[0]).shape == (len(TEXTS), 3)
    together, alone = rival.match(PAIRS[:2])[0], rival.match(PAIRS[:1])[0]
    np.testing.assert_allclose(together, alone, rtol=0, atol=0.1)  # int8 looks at its batch


def test_no_word_of_the_benchmark_is_unknown_or_falls_into_pieces(tiny_rival):
    tokenizer = contestants.benchmark_tokenizer()
    for text in TEXTS:
        tokens = tokenizer.tokenize(text)
        assert "[UNK]" not in tokens
        assert not [token for token in tokens if token.startswith("##")]
    both = tokenizer([TEXTS[0]], [TEXTS[1]])
    shown = tokenizer.convert_ids_to_tokens(both["input_ids"][0])
    assert (shown[0], shown[-1], shown.count("[SEP]")) == ("[CLS]", "[SEP]", 2)
    border = shown.index("[SEP]") + 1
    assert both["token_type_ids"][0] == [0] * border + [1] * (len(shown) - border)


def test_exporting_is_silent(tiny_rival, tmp_path):
    graph, heard = tiny_rival
    assert [str(each.message) for each in heard] == []
    assert [path.name for path in graph.parent.iterdir()] == ["tiny.onnx"]  # float32 is gone
    code = (
        "from pathlib import Path\n"
        "from softquery.bench import contestants\n"
        f"contestants.SHAPES = {TINY!r}\n"
        f"def main(): contestants.write_graph('tiny', Path({str(tmp_path / 'tiny.onnx')!r}))"
    )
    process = launch((), code=code)
    assert process.communicate(timeout=240) == ("", "")
    assert process.returncode == 0
