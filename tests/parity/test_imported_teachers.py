"""Published encoders, imported, against sentence-transformers itself: 500 varied texts.

Needs the library and the weights: `SOFTQUERY_MINILM` and `SOFTQUERY_MPNET` name folders of
all-MiniLM-L6-v2 and all-mpnet-base-v2.
"""

import os
import random

import numpy as np
import pytest

import softquery as sq
from softquery.bundle import read_bundle
from softquery.export.encode import export_sentence_encoder
from softquery.interop import import_sentence_transformers

pytestmark = [pytest.mark.slow, pytest.mark.data, pytest.mark.timeout(3600)]

PARTS = [
    "A man is eating", "the quick brown fox", "naïve café-goers", "3,000.50€ for 1/2 kg",
    "我爱北京天安门", "カタカナとひらがな", "ёлка над рекой", "한국어 단어",
    "hwo do i rset my pasword", "WHERE IS MY ORDER", "http://a.b/c?d=e&f#g", "[MASK] and [SEP]",
    "👍🏽 👩\u200d👩\u200d👧", "İstanbul'da", "<s> <mask> </s> <pad>", "[UNK] <unk>",
    "\x00\x01\x07", "\uff26\uff35 wide", "unbelievable!!!", "don't; won't: can't", "x" * 120,
    "\u200b\ufeff", "e\u0301te\u0301", "עברית العربية", "#hash_tag @you", "\t\n",
    "\u00a0nbsp\u3000wide", "ﬁne ligature",
]  # fmt: skip
NUM_TEXTS = 500


def varied_texts() -> list[str]:
    """From nothing at all to far beyond the models' limits."""
    draw = random.Random(1)
    lengths = (253, 254, 255, 382, 383, 384)
    made = ["", " ", "a", "\x00", "\n\n", "Long text. " * 3000, "😀" * 600]
    made += ["word " * length for length in lengths]
    while len(made) < NUM_TEXTS:
        made.append(draw.choice([" ", ", ", ""]).join(draw.choices(PARTS, k=draw.randint(1, 9))))
    return made


@pytest.mark.parametrize("variable", ["SOFTQUERY_MINILM", "SOFTQUERY_MPNET"])
def test_vectors_are_those_of_sentence_transformers(variable, tmp_path):
    library = pytest.importorskip("sentence_transformers", reason="compared with its vectors")
    if variable not in os.environ:
        pytest.skip(f"needs the weights: set {variable}")
    theirs = library.SentenceTransformer(os.environ[variable], device="cpu")
    wanted = theirs.encode(varied_texts(), batch_size=16)
    bundle = read_bundle(import_sentence_transformers(os.environ[variable], tmp_path / "ours"))
    export_sentence_encoder(bundle, tmp_path / "exported")
    for place, backend in (("ours", "torch"), ("exported", "onnx")):
        found = sq.load(tmp_path / place, backend=backend).encode(varied_texts())
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4)
