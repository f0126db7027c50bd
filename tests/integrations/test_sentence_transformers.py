"""The shim beside the real library: the same weights in both, and the same calls to both."""

import inspect

import numpy as np
import pytest

pytest.importorskip("sentence_transformers", reason="needs sentence-transformers")
pytest.importorskip("lightning_fabric", reason='needs "softquery[train]", to run what is imported')

import sentence_transformers as theirs
import torch

from sentence_folders import write_cross_encoder, write_sentence_folder
from softquery.errors import ConfigError
from softquery.integrations import sentence_transformers as ours
from softquery.interop import import_sentence_transformers

TEXTS = ["the cat sat", "a b c d", "The CAT sat!"]
PAIRS = [("the cat sat", "a cat"), ("a b c d", "the"), ("a", "a")]
CLOSE = {"atol": 2e-6, "rtol": 0}


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    """The same random BERT in both libraries."""
    folder = write_sentence_folder(tmp_path_factory.mktemp("encoder") / "theirs")
    bundle = import_sentence_transformers(folder, folder.with_name("ours"))
    real = theirs.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    return real, ours.SentenceTransformer(bundle, device="cpu")


@pytest.fixture(scope="module")
def cross_encoders(tmp_path_factory):
    """The same random cross-encoder with one output in both libraries."""
    folder = write_cross_encoder(tmp_path_factory.mktemp("cross") / "theirs")
    bundle = import_sentence_transformers(folder, folder.with_name("ours"))
    real = theirs.CrossEncoder(str(folder), device="cpu", local_files_only=True)
    return real, ours.CrossEncoder(bundle, device="cpu")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 2, "show_progress_bar": False, "normalize_embeddings": True},
        {"truncate_dim": 8, "normalize_embeddings": True},
        {"convert_to_tensor": True},
        {"prompt": "a: "},
        {"precision": "ubinary"},
        {"precision": "binary"},
    ],
    ids=lambda options: ", ".join(options) or "plain",
)
@pytest.mark.parametrize("inputs", [TEXTS, TEXTS[0], TEXTS[:1]], ids=["several", "text", "one"])
def test_encode_gives_what_they_give(encoders, inputs, options):
    wanted, found = (each.encode(inputs, **options) for each in encoders)
    assert type(found) is type(wanted)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    assert np.allclose(np.asarray(found), np.asarray(wanted), **CLOSE)


def test_lists_and_queries_and_widths(encoders):
    real, shim = encoders
    wanted = real.encode(TEXTS, convert_to_numpy=False)
    found = shim.encode(TEXTS, convert_to_numpy=False)
    assert isinstance(found, list)
    assert isinstance(wanted, list)
    assert np.allclose(np.stack(found), torch.stack(wanted).numpy(), **CLOSE)
    assert np.allclose(shim.encode_query(TEXTS), real.encode_query(TEXTS), **CLOSE)
    assert np.allclose(shim.encode_document(TEXTS), real.encode_document(TEXTS), **CLOSE)
    assert shim.get_embedding_dimension() == real.get_embedding_dimension()
    assert shim.max_seq_length == real.max_seq_length


def test_similarity_is_theirs(encoders):
    real, shim = encoders
    first, second = real.encode(TEXTS), real.encode(TEXTS[:2])
    wanted, found = (each.similarity(first, second) for each in encoders)
    assert isinstance(found, np.ndarray)
    assert np.allclose(found, wanted.numpy(), **CLOSE)
    tensors = torch.from_numpy(first), torch.from_numpy(second)
    assert isinstance(shim.similarity(*tensors), torch.Tensor)
    pairwise = shim.similarity_pairwise(first, first[::-1].copy())
    assert np.allclose(pairwise, real.similarity_pairwise(first, first[::-1].copy()), **CLOSE)


@pytest.mark.parametrize("inputs", [PAIRS, PAIRS[0], [list(pair) for pair in PAIRS]])
@pytest.mark.parametrize("options", [{}, {"convert_to_tensor": True}])
def test_predict_gives_what_they_give(cross_encoders, inputs, options):
    wanted, found = (each.predict(inputs, **options) for each in cross_encoders)
    assert np.shape(found) == np.shape(wanted)
    assert isinstance(found, torch.Tensor) is isinstance(wanted, torch.Tensor)
    assert found.dtype == wanted.dtype
    assert np.allclose(np.asarray(found), np.asarray(wanted), **CLOSE)


@pytest.mark.parametrize("options", [{}, {"top_k": 2}, {"return_documents": True}])
def test_rank_gives_what_they_give(cross_encoders, options):
    wanted, found = (each.rank("the cat sat", TEXTS, **options) for each in cross_encoders)
    assert [each["corpus_id"] for each in found] == [each["corpus_id"] for each in wanted]
    assert [list(each) for each in found] == [list(each) for each in wanted]
    scores = [[each["score"] for each in ranked] for ranked in (found, wanted)]
    assert np.allclose(*scores, **CLOSE)


def test_arguments_have_their_names_and_their_order():
    for name, methods in {
        "SentenceTransformer": ("encode", "encode_query", "encode_document", "similarity"),
        "CrossEncoder": ("predict", "rank"),
    }.items():
        for method in methods:
            real, shim = (
                list(inspect.signature(getattr(getattr(library, name), method)).parameters.items())
                for library in (theirs, ours)
            )
            assert [each for each, _ in shim] == [each for each, _ in real][: len(shim)], method
            defaults = [[value.default for _, value in each] for each in (shim, real)]
            assert defaults[0] == defaults[1][: len(shim)], method


def test_what_is_not_known_is_refused(encoders, cross_encoders):
    (_, encoder), (_, cross) = encoders, cross_encoders
    with pytest.raises(ConfigError, match="^prompt_name: not known here, must be None, got 'q'$"):
        encoder.encode(TEXTS, prompt_name="q")
    with pytest.raises(ConfigError, match="^output_value must be 'sentence_embedding', got 'tok"):
        encoder.encode(TEXTS, output_value="token_embeddings")
    with pytest.raises(ConfigError, match="^precision must be float32, binary or ubinary, got"):
        encoder.encode(TEXTS, precision="int8")
    with pytest.raises(ConfigError, match="^device must be 'cpu', got 'cuda'$"):
        ours.SentenceTransformer("embed-en", device="cuda")
    with pytest.raises(ConfigError, match="^activation_fn: not known here"):
        cross.predict(PAIRS, activation_fn=torch.nn.Sigmoid())
    with pytest.raises(ConfigError, match="^expected a matcher, got SentenceEncoder$"):
        ours.CrossEncoder("embed-en")
    with pytest.raises(ConfigError, match="^rank needs two labels, this matcher has 3$"):
        ours.CrossEncoder("nli-en").rank("a", ["b"])


def test_the_page(run_examples):
    assert run_examples("sentence-transformers") >= 5
