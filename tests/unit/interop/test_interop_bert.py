"""A Hugging Face BERT's folder: what is read of it, and what is refused in one line."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

pytest.importorskip("torch", reason="the small BERT is made with torch")

from bert_cases import PIECES, BertCase, write_bert
from softquery.bundle import read_bundle
from softquery.errors import BundleError, InputError
from softquery.interop import import_bert, publish_bert
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.text import TextConfig

TEXTS = ["The cat sat.", "abx [MASK] cab", "Ünknown 漢字", ""]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return read_bundle(write_bert(tmp_path_factory.mktemp("small") / "model"))


@pytest.fixture(scope="module")
def published(bundle, tmp_path_factory):
    return publish_bert(bundle, tmp_path_factory.mktemp("published") / "folder")


@pytest.fixture
def folder(published, tmp_path):
    shutil.copytree(published, tmp_path / "folder")
    return tmp_path / "folder"


def change(path, **values):
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, **values}))


def refused(folder, kind=InputError):
    with pytest.raises(kind) as caught:
        import_bert(folder, folder.parent / "model")
    assert "\n" not in str(caught.value)
    assert not (folder.parent / "model").exists()
    return str(caught.value).replace(f"{folder}", "F")


def test_a_bundle_goes_out_and_comes_back(bundle, published, tmp_path):
    back = read_bundle(import_bert(published, tmp_path / "back"))
    assert back.config.model == json.loads(json.dumps(bundle.config.model))
    assert back.config.text == bundle.config.text
    wanted, found = bundle.read_weights(), back.read_weights()
    assert wanted.keys() == found.keys()
    assert all(np.array_equal(wanted[name], found[name]) for name in wanted)
    assert fitting_pipeline(back).encode(TEXTS) == fitting_pipeline(bundle).encode(TEXTS)
    assert "Imported" in back.card
    assert sorted(path.name for path in published.iterdir()) == [
        "config.json", "model.safetensors", "special_tokens_map.json", "tokenizer.json",
        "tokenizer_config.json", "vocab.txt",
    ]  # fmt: skip


@pytest.mark.parametrize(("lowercase", "strips"), [(True, None), (False, None), (True, False)])
def test_vocab_txt_is_as_good_as_tokenizer_json(folder, bundle, lowercase, strips):
    (folder / "tokenizer.json").unlink()
    change(folder / "tokenizer_config.json", do_lower_case=lowercase, strip_accents=strips)
    pipeline = fitting_pipeline(read_bundle(import_bert(folder, folder.parent / "model")))
    assert pipeline.vocabulary() == PIECES
    assert pipeline.config == TextConfig(
        unit="bert", lowercase=lowercase, strip_accents=lowercase if strips is None else strips,
        boundaries=True, max_tokens=16,
    )  # fmt: skip
    if lowercase and strips is None:
        assert pipeline.encode(TEXTS) == fitting_pipeline(bundle).encode(TEXTS)
        (folder / "tokenizer_config.json").unlink()
        again = fitting_pipeline(read_bundle(import_bert(folder, folder.parent / "again")))
        assert again.encode(TEXTS) == pipeline.encode(TEXTS)


def test_chinese_characters_stay_together_where_the_folder_says_so(folder):
    (folder / "tokenizer.json").unlink()
    change(folder / "tokenizer_config.json", tokenize_chinese_chars=False)
    pipeline = fitting_pipeline(read_bundle(import_bert(folder, folder.parent / "model")))
    assert pipeline.encode(["漢字"])[0].tokens == ["[CLS]", "[UNK]", "[SEP]"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "roberta"}, "expected a model_type of 'bert', found 'roberta'"),
        ({"model_type": None}, "expected a model_type of 'bert', found None"),
        ({"hidden_act": "swish"}, "hidden_act must be one of gelu, gelu_python, gelu_new, "
                                  "gelu_pytorch_tanh, relu, got 'swish'"),
        ({"hidden_act": ["gelu"]}, "hidden_act must be one of .*, got \\['gelu'\\]"),
        ({"position_embedding_type": "relative_key"},
         "position_embedding_type must be 'absolute', got 'relative_key'"),
        ({"add_cross_attention": True}, "add_cross_attention is on"),
        ({"hidden_size": "8"}, "hidden_size must be a positive whole number, got '8'"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be a positive whole number, got 0"),
        ({"num_attention_heads": 3}, r"hidden_size \(8\) must be divisible by "
                                     r"num_attention_heads \(3\)"),
        ({"hidden_dropout_prob": 1.5}, r"hidden_dropout_prob must be in \[0, 1\), got 1.5"),
        ({"layer_norm_eps": "small"}, "layer_norm_eps must be a number, got 'small'"),
    ],
)  # fmt: skip
def test_configs_that_do_not_fit(folder, changes, said):
    change(folder / "config.json", **changes)
    with pytest.raises(InputError, match=said) as caught:
        import_bert(folder, folder.parent / "model")
    assert str(caught.value).startswith(f"{folder / 'config.json'}: ")
    assert "\n" not in str(caught.value)


def rewrite(folder, change_arrays):
    arrays = load_file(folder / "model.safetensors")
    change_arrays(arrays)
    save_file(arrays, folder / "model.safetensors", metadata={"format": "pt"})


def test_tensors_that_do_not_fit(folder):
    path = "bert.encoder.layer.1.intermediate.dense.weight"
    rewrite(folder, lambda arrays: arrays.update({path: np.zeros((3, 8), np.float32)}))
    assert refused(folder) == (
        "F/model.safetensors: the tensor encoder.layer.1.intermediate.dense.weight has the shape "
        "(3, 8), but by config.json it should be (12, 8)"
    )
    rewrite(folder, lambda arrays: arrays.pop(path))
    assert refused(folder) == (
        "F/model.safetensors: the tensor encoder.layer.1.intermediate.dense.weight is missing"
    )
    rewrite(folder, lambda arrays: arrays.update({path: np.full((12, 8), np.nan, np.float32)}))
    assert "holds values that are not finite numbers" in refused(folder)
    rewrite(folder, lambda arrays: arrays.update({path: np.zeros((12, 8), np.int32)}))
    assert "holds values that are not finite numbers" in refused(folder)


def test_an_untied_head_is_refused(folder):
    words = np.ones((len(PIECES), 8), np.float32)
    rewrite(folder, lambda arrays: arrays.update({"cls.predictions.decoder.weight": words}))
    assert refused(folder) == (
        "F/model.safetensors: the tensor cls.predictions.decoder.weight is not tied to the input "
        "word embeddings"
    )


def test_a_table_may_have_more_rows_than_the_vocabulary(folder):
    def widen(arrays):
        for name in ("bert.embeddings.word_embeddings.weight", "cls.predictions.bias"):
            rest = np.zeros((3, *arrays[name].shape[1:]), np.float32)
            arrays[name] = np.concatenate([arrays[name], rest])

    rewrite(folder, widen)
    change(folder / "config.json", vocab_size=len(PIECES) + 3)
    found = read_bundle(import_bert(folder, folder.parent / "model"))
    assert fitting_pipeline(found).vocab_size == len(PIECES)
    change(folder / "config.json", vocab_size=len(PIECES) - 1)
    rewrite(folder, lambda arrays: arrays.update({
        name: arrays[name][: len(PIECES) - 1]
        for name in ("bert.embeddings.word_embeddings.weight", "cls.predictions.bias")
    }))  # fmt: skip
    with pytest.raises(InputError, match="the vocabulary has 21 entries, but config.json says 20"):
        import_bert(folder, folder.parent / "other")


def test_files_that_are_missing_or_damaged(folder):
    (folder / "tokenizer.json").write_text("{")
    assert refused(folder).startswith("F/tokenizer.json: damaged or not a tokenizer (")
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\nthe\n")
    assert refused(folder) == "F/vocab.txt: the vocabulary lacks [CLS], [SEP], [MASK]"
    (folder / "vocab.txt").unlink()
    assert refused(folder) == "F: holds neither tokenizer.json nor vocab.txt"
    (folder / "model.safetensors").write_bytes(b"junk")
    assert refused(folder, BundleError).startswith("F/model.safetensors: damaged or not")
    (folder / "model.safetensors").unlink()
    assert refused(folder) == "F/model.safetensors: no such file"
    (folder / "pytorch_model.bin").write_bytes(b"")
    assert "weights in pickle form can run code and are never loaded" in refused(folder)
    (folder / "config.json").write_text("[]")
    assert refused(folder) == "F/config.json: expected a JSON object, found list"
    (folder / "config.json").write_text('{"a": ')
    assert refused(folder).startswith("F/config.json, row 1: broken JSON: ")
    (folder / "config.json").unlink()
    assert refused(folder) == "F/config.json: no such file"
    shutil.rmtree(folder)
    assert refused(folder) == "F: no such folder"


def test_another_tokenizer_is_refused(folder):
    data = json.loads((folder / "tokenizer.json").read_text())
    data["model"] = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
    (folder / "tokenizer.json").write_text(json.dumps(data))
    assert refused(folder) == "F/tokenizer.json: expected a BERT's WordPiece, found WordLevel"


def test_what_cannot_be_published_is_told(bundle, tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(InputError, match="already exists"):
        publish_bert(bundle, tmp_path / "taken")
    lying = read_bundle(write_bert(tmp_path / "lying", BertCase().build(), num_layers=3))
    with pytest.raises(BundleError, match="blocks.2.attention.query_projection.weight is missing"):
        publish_bert(lying, tmp_path / "out")
    lying = read_bundle(write_bert(tmp_path / "wide", BertCase().build(), inner_size=9))
    with pytest.raises(BundleError, match="does not fit config.json"):
        publish_bert(lying, tmp_path / "out")
    from small_elmo import write_elmo

    with pytest.raises(BundleError, match="expected a bert, found 'elmo'"):
        publish_bert(read_bundle(write_elmo(tmp_path / "elmo")), tmp_path / "out")
    assert not (tmp_path / "out").exists()
