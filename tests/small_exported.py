"""A small exported bundle of every kind, for what opens them."""

import shutil
from pathlib import Path

import numpy as np

from bert_cases import write_bert
from small_bundles import exported, labelled, make_bundle, random_pairs
from small_classifiers import make_classifier
from small_elmo import exported_elmo
from small_generators import make_generator
from small_readers import exported_reader, make_reader
from small_taggers import make_tagger
from softquery.bundle import read_bundle
from softquery.bundle.vectors import write_vector_bundle
from softquery.export import export_classifier, export_generator, export_tagger
from softquery.export.bert import export_encoder
from softquery.text import TextConfig


def every_kind(folder: Path) -> dict[str, Path]:
    """Write the bundles below a folder, by their kinds."""
    plain = folder / "plain"
    rows = labelled(random_pairs(30), ["entailment", "neutral", "contradiction"] * 10)
    matcher = make_bundle(plain / "matcher", size=8)
    exported(matcher, folder / "matcher", int8=True, limit=100, rows=rows)
    tagger = make_tagger(plain / "tagger", elmo={"places": ("input",)})
    export_tagger(read_bundle(tagger), folder / "tagger")
    generator = make_generator(plain / "generator", "transformer")
    export_generator(read_bundle(generator), folder / "generator")
    exported_reader(make_reader(plain / "reader"), folder / "reader")
    classifier = make_classifier(plain / "classifier", size=8)
    export_classifier(read_bundle(classifier), folder / "classifier")
    shutil.copytree(exported_elmo(plain / "elmo").bundle, folder / "embedder")
    export_encoder(read_bundle(write_bert(plain / "encoder")), folder / "encoder")
    write_vector_bundle(
        folder / "vectors",
        words=["w1", "w2", "w3"],
        matrix=np.eye(3, dtype=np.float32),
        text=TextConfig(),
        model={"name": "word2vec"},
        library_version="0.1.0",
        metrics={},
        card="# small\n",
    )
    shutil.rmtree(plain)
    return {each.name: each for each in sorted(folder.iterdir())}
