"""`softquery explain` and `match --explain`: why two sentences match, in every form."""

import json

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from exported_model import exported_model
from running import softquery

from softquery.explain import from_json
from softquery.runtime import load

PAIR = ("A man eats in the park.", "Some Zebra eats 在公园里!")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return exported_model(tmp_path_factory.getbasetemp()) / "float32"


@pytest.mark.parametrize("verb", ["explain", "match"])
@pytest.mark.parametrize("form", ["html", "svg", "json", "png"])
def test_every_form_is_written(verb, form, model, tmp_path):
    if form == "png":
        pytest.importorskip("matplotlib")
    path = tmp_path / f"why.{form}"
    option = "--output" if verb == "explain" else "--explain"
    answer = softquery(verb, *PAIR, "--model", model, option, path)
    assert answer.code == 0, answer.err
    assert str(path) in answer.err
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    content = path.read_bytes()
    if form == "png":
        assert content.startswith(b"\x89PNG")
    else:
        assert "Zebra" in content.decode()
        assert "公" in content.decode()


def test_data_in_a_file_and_on_the_screen_are_the_same(model, tmp_path):
    path = tmp_path / "why.json"
    answer = softquery("explain", *PAIR, "--model", model, "--output", path, "--json")
    found = from_json(path.read_text(encoding="utf-8"))
    assert json.loads(answer.out) == found.to_dict()
    assert found == load(model).explain(*PAIR)
    assert found.first_tokens == ("a", "man", "eats", "in", "the", "park", ".")
    assert found.second_tokens == ("some", "Zebra", "eats", *"在公园里", "!")


def test_an_encoder_shows_its_layers_and_heads(tmp_path):
    from bert_cases import BertCase, write_bert

    folder = write_bert(tmp_path / "bert", BertCase().build(std=1.0))
    picture = tmp_path / "why.svg"
    given = ("explain", "the cat sat", "--model", folder)
    found = json.loads(softquery(*given, "--output", picture, "--json").out)
    assert found["tokens"] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    assert "layer 2, head 2" in picture.read_text("utf-8")
    shown = softquery(*given, "--layer", 2, "--head", 1).out
    assert shown.startswith("head 1 of layer 2, 2 heads each")
    row = found["weights"][1][0][2]
    best = found["tokens"][max(range(5), key=row.__getitem__)]
    assert f"│ cat   │ {best} {max(row):.2f}" in shown
    refused = softquery(*given[:2], "a dog", *given[2:])
    assert (refused.code, refused.err) == (
        2, "softquery: an encoder reads one text; give only one, in quotes\n"
    )  # fmt: skip
    absent = softquery(*given, "--layer", 3)
    assert (absent.code, absent.err) == (2, "softquery: layer must be from 1 to 2, got 3\n")


def test_backends_agree(model):
    here, there = (
        json.loads(softquery("explain", *PAIR, "--model", model, "--backend", name, "--json").out)
        for name in ("torch", "onnx")
    )
    assert here["first_tokens"] == there["first_tokens"]
    for row, other in zip(here["first_to_second"], there["first_to_second"], strict=True):
        assert row == pytest.approx(other, abs=1e-5)


def test_a_table_for_people(model):
    answer = softquery("explain", *PAIR, "--model", model)
    assert (answer.code, answer.err) == (0, "")
    for word in ("first asks", "second asks", "answered by", "Zebra", "park"):
        assert word in answer.out


def test_nothing_is_printed_beside_a_file(model, tmp_path):
    answer = softquery("explain", *PAIR, "--model", model, "--output", tmp_path / "why.svg")
    assert (answer.code, answer.out) == (0, "")


def test_a_cut_is_told(model):
    limit = load(model).pipeline.config.max_tokens
    answer = softquery("explain", "man " * (limit + 1), "a man", "--model", model, "--json")
    assert answer.code == 0
    assert answer.err == f"1 sentence cut to the model's {limit} tokens\n"
    assert len(json.loads(answer.out)["first_tokens"]) == limit


@pytest.mark.parametrize("words", [("explain", "--output"), ("match", "--explain")])
def test_a_bad_ending_is_told_before_the_model_is_opened(words, tmp_path):
    verb, option = words
    answer = softquery(verb, *PAIR, "--model", tmp_path / "none", option, "why.bmp")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "softquery: why.bmp: expected a name that ends in .html, .svg, .png or .json\n"
    )


def test_siamese_models_refuse(inference_run):
    answer = softquery("explain", *PAIR, "--model", inference_run[0])
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.endswith(": this model aligns no words, so it shows none\n")
    assert len(answer.err.splitlines()) == 1


def test_a_grade_stands_above_the_table(graded_run):
    answer = softquery("explain", *PAIR, "--model", graded_run[0])
    assert answer.code == 0
    assert answer.out.startswith("grade ")
    assert "None" not in answer.out
