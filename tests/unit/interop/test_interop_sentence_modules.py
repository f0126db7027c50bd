"""What a folder of sentence-transformers says about itself, in old and in new words."""

import json
import shutil

import numpy as np
import pytest

pytest.importorskip("transformers", reason="folders are made by it")

from safetensors.numpy import load_file, save_file

import softquery as sq
from sentence_folders import (
    LIMIT,
    TEXTS,
    TYPE,
    write_cross_encoder,
    write_json,
    write_sentence_folder,
    write_static,
)
from softquery.bundle import read_bundle
from softquery.errors import InputError
from softquery.interop import import_sentence_transformers
from softquery.interop.sentence_modules import read_sentence_modules

TANH = "torch.nn.modules.activation.Tanh"


def pooling(folder, **content):
    write_json(folder / "1_Pooling" / "config.json", content)


def modules(folder, *names):
    entries = [{"type": name if "." in name else TYPE + name, "path": f"{place}_{name}"}
               for place, name in enumerate(names)]  # fmt: skip
    entries[0]["path"] = ""
    write_json(folder / "modules.json", entries)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return write_sentence_folder(tmp_path_factory.mktemp("made") / "theirs", dense=TANH)


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "theirs")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("mean", ("mean",)),
        ("cls", ("cls",)),
        (["mean", "cls"], ("mean", "cls")),
        (["mean_sqrt_len_tokens"], ("mean_sqrt_len",)),
    ],
)
def test_newer_folders_name_their_pools_in_order(folder, given, found):
    shutil.rmtree(folder / "2_Dense")
    modules(folder, "Transformer", "Pooling")
    pooling(folder, embedding_dimension=12, pooling_mode=given, include_prompt=True)
    assert read_sentence_modules(folder).pools == found


def test_older_folders_switch_them_on_and_mean_is_what_none_means(folder):
    shutil.rmtree(folder / "2_Dense")
    modules(folder, "Transformer", "Pooling")
    pooling(folder, word_embedding_dimension=12, pooling_mode_mean_tokens=True,
            pooling_mode_cls_token=True)  # fmt: skip
    assert read_sentence_modules(folder).pools == ("cls", "mean")
    pooling(folder, word_embedding_dimension=12, pooling_mode_cls_token=False)
    assert read_sentence_modules(folder).pools == ("mean",)


def test_modules_of_newer_versions_stand_elsewhere_in_the_package(folder):
    modules(
        folder,
        "sentence_transformers.base.modules.transformer.Transformer",
        "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
    )
    data = json.loads((folder / "modules.json").read_text())
    data[1]["path"] = "1_Pooling"
    write_json(folder / "modules.json", data)
    found = read_sentence_modules(folder)
    assert (found.dense, found.normalised, found.encoder) == (None, False, folder)


def test_an_encoder_may_lie_in_a_folder_of_its_own(tmp_path):
    folder = write_sentence_folder(tmp_path / "theirs")
    wanted = sq.load(import_sentence_transformers(folder, tmp_path / "ours")).encode(TEXTS)
    inside = folder / "0_Transformer"
    inside.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "sentence_bert_config.json"):
        (folder / name).rename(inside / name)
    data = json.loads((folder / "modules.json").read_text())
    data[0]["path"] = "0_Transformer"
    write_json(folder / "modules.json", data)
    found = sq.load(import_sentence_transformers(folder, tmp_path / "others")).encode(TEXTS)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(
    ("said", "tokenizer", "found"),
    [(LIMIT, 30, LIMIT), (None, 16, 16), (None, None, 32), (None, 10**30, 32), (999, 16, 32)],
)
def test_where_texts_are_cut(folder, tmp_path, said, tokenizer, found):
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": said})
    if tokenizer is not None:
        write_json(folder / "tokenizer_config.json", {"model_max_length": tokenizer})
    bundle = read_bundle(import_sentence_transformers(folder, tmp_path / "ours"))
    assert bundle.config.text["max_tokens"] == found
    assert sq.load(bundle).num_cut(["a " * 40, "a"]) == 1


def test_an_mpnet_has_two_positions_that_no_text_uses(tmp_path):
    folder = write_sentence_folder(tmp_path / "theirs", "mpnet", max_seq_length=None)
    encoder = sq.load(import_sentence_transformers(folder, tmp_path / "ours"))
    assert encoder.max_tokens == 32
    assert encoder.encode(["a " * 99]).shape == (1, 12)


def test_a_folder_may_lower_what_its_tokenizer_would_not(tmp_path):
    folder = write_sentence_folder(tmp_path / "theirs", lowercase=False, do_lower_case=True)
    encoder = sq.load(import_sentence_transformers(folder, tmp_path / "ours"))
    assert np.array_equal(*encoder.encode(["THE CAT"]), *encoder.encode(["the cat"]))
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": LIMIT})
    encoder = sq.load(import_sentence_transformers(folder, tmp_path / "cased"))
    assert not np.array_equal(*encoder.encode(["THE CAT"]), *encoder.encode(["the cat"]))


@pytest.mark.parametrize("is_new", [False, True])
def test_a_cross_encoder_is_known_by_its_head_and_by_having_no_pools(is_new, tmp_path):
    folder = write_cross_encoder(tmp_path / "theirs")
    if is_new:
        modules(folder, "sentence_transformers.base.modules.transformer.Transformer")
    bundle = read_bundle(import_sentence_transformers(folder, tmp_path / "ours"))
    assert bundle.config.kind == "matcher"
    pooling(folder, word_embedding_dimension=12)
    entries = [("Transformer", ""), ("Pooling", "1_Pooling")]
    named = [{"type": TYPE + name, "path": path} for name, path in entries]
    write_json(folder / "modules.json", named)
    bundle = read_bundle(import_sentence_transformers(folder, tmp_path / "pooled"))
    assert bundle.config.kind == "sentence-encoder"


def test_several_labels_have_the_names_of_the_folder(tmp_path):
    folder = write_cross_encoder(tmp_path / "theirs", num_labels=3)
    data = json.loads((folder / "config.json").read_text())
    names = {"0": "contradiction", "1": "entailment", "2": "neutral"}
    write_json(folder / "config.json", {**data, "id2label": names})
    matcher = sq.load(import_sentence_transformers(folder, tmp_path / "ours"))
    assert matcher.predict([("a", "the cat")])[0].label in names.values()
    write_json(folder / "config.json", {**data, "id2label": dict.fromkeys("012", "same")})
    with pytest.raises(InputError, match="the labels must be different names"):
        import_sentence_transformers(folder, tmp_path / "others")


def test_a_static_table_is_sent_to_its_own_command(tmp_path):
    folder = write_static(tmp_path / "theirs")
    write_json(folder / "modules.json", [{"type": TYPE + "StaticEmbedding", "path": "."}])
    with pytest.raises(InputError, match="holds a static table; use softquery import static"):
        import_sentence_transformers(folder, tmp_path / "ours")


WRONG = {
    "a pool that is not known": (
        lambda at: pooling(at, word_embedding_dimension=12, pooling_mode_weightedmean_tokens=True),
        "1_Pooling/config.json: the pool 'weightedmean' is not supported",
    ),
    "a newer pool that is not known": (
        lambda at: pooling(at, word_embedding_dimension=12, pooling_mode="lasttoken"),
        "the pool 'lasttoken' is not supported",
    ),
    "a pool that nobody knows": (
        lambda at: pooling(at, word_embedding_dimension=12, pooling_mode_median=True),
        "the pool 'pooling_mode_median' is not supported",
    ),
    "a pool twice": (
        lambda at: pooling(at, word_embedding_dimension=12, pooling_mode=["cls", "cls"]),
        "a pool is named twice: cls, cls",
    ),
    "pools that are a number": (
        lambda at: pooling(at, word_embedding_dimension=12, pooling_mode=3),
        "pooling_mode must be a name or a list of names, got 3",
    ),
    "a pool that is a list": (
        lambda at: pooling(at, word_embedding_dimension=12, pooling_mode=[["cls"]]),
        "pooling_mode must be a name or a list of names",
    ),
    "a path that no disk could hold": (
        lambda at: write_json(at / "modules.json", [{"type": TYPE + "Transformer", "path": "\0"}]),
        "expected a list of modules, each with a path and a type",
    ),
    "no width": (
        lambda at: pooling(at),
        "word_embedding_dimension must be a positive whole number, got None",
    ),
    "another order": (
        lambda at: modules(at, "Transformer", "Normalize", "Pooling"),
        "module 3, Pooling, stands in the wrong place; expected Transformer, Pooling, Dense and",
    ),
    "a module of somebody": (
        lambda at: modules(at, "Transformer", "custom.Pooling"),
        "module 2 is 'custom.Pooling'; expected Transformer",
    ),
    "no pooling": (lambda at: modules(at, "Transformer"), "there is no Pooling; expected"),
    "a way out": (
        lambda at: write_json(
            at / "modules.json",
            [
                {"type": TYPE + "Transformer", "path": ""},
                {"type": TYPE + "Pooling", "path": "../x"},
            ],
        ),
        "module 2 leads out of the folder",
    ),
    "no list": (
        lambda at: write_json(at / "modules.json", {"0": "Transformer"}),
        "expected a list of modules, each with a path and a type",
    ),
    "an activation that is not known": (
        lambda at: write_json(at / "2_Dense" / "config.json", {"activation_function": "os.system"}),
        "2_Dense/config.json: the activation 'os.system' is not supported",
    ),
    "a layer of another width": (
        lambda at: write_json(at / "2_Dense" / "config.json", {"in_features": 7}),
        "in_features is 7, but the pools are 12 wide",
    ),
    "a layer in pickle form": (
        lambda at: (at / "2_Dense/model.safetensors").rename(at / "2_Dense/pytorch_model.bin"),
        "2_Dense/pytorch_model.bin: weights in pickle form can run code",
    ),
    "a layer with a bridge": (
        lambda at: write_json(at / "2_Dense" / "config.json", {"use_residual": True}),
        "use_residual is on, which is not supported",
    ),
    "a prompt": (
        lambda at: write_json(
            at / "config_sentence_transformers.json",
            {"prompts": {"query": "query: "}, "default_prompt_name": "query"},
        ),
        "default_prompt_name 'query' puts 'query: ' before every text",
    ),
    "a length without end": (
        lambda at: (at / "sentence_bert_config.json").write_text('{"max_seq_length": 1e999}'),
        "the length of texts must be a whole number of at least 3, got inf",
    ),
    "a length that is none": (
        lambda at: write_json(at / "sentence_bert_config.json", {"max_seq_length": "long"}),
        "the length of texts must be a whole number of at least 3, got 'long'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name, folder, tmp_path):
    damage, said = WRONG[name]
    damage(folder)
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        import_sentence_transformers(folder, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_a_cross_encoder_needs_positions_for_two_texts(tmp_path):
    folder = write_cross_encoder(tmp_path / "theirs")
    arrays = load_file(folder / "model.safetensors")
    name = "bert.embeddings.position_embeddings.weight"
    save_file({**arrays, name: arrays[name][:4]}, folder / "model.safetensors")
    data = json.loads((folder / "config.json").read_text())
    write_json(folder / "config.json", {**data, "max_position_embeddings": 4})
    with pytest.raises(InputError, match="positions for 2 tokens of a text, expected at least 3"):
        import_sentence_transformers(folder, tmp_path / "ours")
