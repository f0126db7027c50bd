"""A translator whose source begins as word vectors of a file, for an encoder such as CoVe's."""

import numpy as np
import pytest
from running import softquery
from tiny_generation import THINGS, german, settings, write_folder

from softquery.bundle import read_bundle
from softquery.runtime import load
from softquery.text import TextConfig, TextPipeline

pytest.importorskip("torch", reason="training needs the extra [train]")

EXTRA = ["Möwen", "Regen"]
"""Words that stand in the file alone."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source-vectors")
    write_folder(folder / "data", german(60))
    draw = np.random.default_rng(1)
    lines = [
        " ".join([word, *(f"{value:.3f}" for value in draw.normal(size=7))])
        for word in (*EXTRA, *THINGS)
    ]
    (folder / "vectors.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def train(place, output, recipe, *more):
    small = settings(recipe, training__max_steps=2)
    return softquery("train", recipe, "--data", place / "data", "--output", place / output,
                     "--vectors", place / "vectors.txt", *small, *more)  # fmt: skip


def test_the_source_begins_as_the_vectors_and_an_encoder_keeps_them(place):
    more = ["--set", "vocabulary.frozen=true", "--set", "vocabulary.from_vectors=6"]
    made = train(place, "translator", "translate-cove", *more)
    assert made.code == 0, made.err
    bundle = read_bundle(place / "translator")
    assert bundle.config.model["config"]["embedding_size"] == 7
    source = TextPipeline.load(
        bundle.path, TextConfig.from_dict(bundle.config.text), name="source_tokenizer.json"
    )
    table = bundle.read_weights()["words.source.weight"]
    given = {
        line.split()[0]: np.array(line.split()[1:], np.float32)
        for line in (place / "vectors.txt").read_text("utf-8").splitlines()
    }
    for word, vector in given.items():
        np.testing.assert_allclose(table[source.token_id(word)], vector, rtol=0, atol=1e-6)
    assert softquery("import", "cove", place / "translator", "--output", place / "cove").code == 0
    (layers,) = load(place / "cove").embed(["Regen Nebel"])
    np.testing.assert_allclose(layers[0, 0, :7], given["Regen"], rtol=0, atol=1e-6)
    assert not np.allclose(layers[0, 1, :7], layers[0, 0, :7])


@pytest.mark.parametrize(
    ("recipe", "more", "message"),
    [
        (
            "translate-luong",
            [],
            "--vectors: translate-luong learns the vectors of its pieces by itself",
        ),
        (
            "translate",
            ["--set", "text.unit=words"],
            "--vectors: the words of translate are as wide as its",
        ),
    ],
)
def test_where_vectors_have_no_place_they_are_refused(place, recipe, more, message):
    refused = train(place, "refused", recipe, *more)
    assert refused.code == 2
    assert message in refused.err
    assert not (place / "refused").exists()
