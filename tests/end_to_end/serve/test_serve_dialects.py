"""Every dialect gives what the models say in process, in the shape that its clients read."""

import base64
import math

import numpy as np
import pytest

import softquery
from softquery.runtime.vectors.text_vectors import num_reserved, zipf_weights

QUERY = "How can I learn to play the guitar?"
TEXTS = ["How do I cook rice?", "What is the best way to start playing guitar?", "guitar", ""]
CHINESE = ["花呗怎么提额", "如何提高花呗额度"]


@pytest.fixture(scope="module")
def matcher():
    return softquery.load("match-en", threads=1)


@pytest.fixture(scope="module")
def ranking(matcher):
    hits = matcher.rank(QUERY, TEXTS)
    return [(hit["corpus_id"], pytest.approx(hit["score"], abs=1e-6)) for hit in hits]


def test_tei_rerank(client, ranking):
    reply = client.ask("/rerank", {"query": QUERY, "texts": TEXTS})
    assert reply.status == 200
    assert [(each["index"], each["score"]) for each in reply.json()] == ranking
    assert all("text" not in each for each in reply.json())
    shown = client.ask("/rerank", {"query": QUERY, "texts": TEXTS, "return_text": True}).json()
    assert [each["text"] for each in shown] == [TEXTS[place] for place, _ in ranking]


def test_tei_raw_scores_are_log_odds(client, ranking):
    raw = client.ask("/rerank", {"query": QUERY, "texts": TEXTS, "raw_scores": True}).json()
    assert [(each["index"], 1 / (1 + math.exp(-each["score"]))) for each in raw] == ranking


def test_rerank_with_documents_answers_as_jina_does(client, ranking):
    for path in ("/rerank", "/v1/rerank"):
        body = {"query": QUERY, "documents": TEXTS, "model": "match-en", "top_n": 2}
        found = client.ask(path, body).json()
        order = [(each["index"], each["relevance_score"]) for each in found["results"]]
        assert order == ranking[:2]
        assert found["results"][0]["document"] == {"text": TEXTS[1]}
        assert found["model"] == "match-en"
        assert found["usage"]["total_tokens"] > 10


def test_jina_documents_may_be_objects_and_stay_away(client, ranking):
    documents = [{"text": text, "title": "x"} for text in TEXTS]
    body = {"query": QUERY, "documents": documents, "return_documents": False}
    found = client.ask("/v1/rerank", body).json()
    assert [(each["index"], each["relevance_score"]) for each in found["results"]] == ranking
    assert all("document" not in each for each in found["results"])


def test_cohere_rerank(client, ranking):
    body = {"query": QUERY, "documents": TEXTS, "top_n": 3, "max_tokens_per_doc": 9}
    found = client.ask("/v2/rerank", body).json()
    assert [(each["index"], each["relevance_score"]) for each in found["results"]] == ranking[:3]
    assert found["meta"]["api_version"] == {"version": "2"}


@pytest.mark.parametrize("path", ["/v1/score", "/score"])
@pytest.mark.parametrize(
    ("first", "second"),
    [("text_1", "text_2"), ("queries", "documents"), ("data_1", "data_2"), ("queries", "items")],
)
def test_vllm_score(client, ranking, path, first, second):
    found = client.ask(path, {first: QUERY, second: TEXTS, "model": "match-en"}).json()
    assert found["object"] == "list"
    scores = {each["index"]: each["score"] for each in found["data"]}
    assert sorted(scores.items(), key=lambda pair: -pair[1]) == ranking


def test_vllm_score_of_pairs(client, matcher):
    found = client.ask("/v1/score", {"text_1": TEXTS[:2], "text_2": [QUERY, QUERY]}).json()
    said = [answer.score for answer in matcher.predict([(text, QUERY) for text in TEXTS[:2]])]
    assert [each["score"] for each in found["data"]] == pytest.approx(said, abs=1e-5)


def test_tei_predict(client):
    nli = softquery.load("nli-en", threads=1)
    pair = ("Two dogs are running through a field.", "Some animals are outdoors.")
    (said,) = nli.predict([pair])
    one = client.ask("/predict", {"inputs": list(pair), "model": "nli-en"}).json()
    assert [each["label"] for each in one] == ["entailment", "neutral", "contradiction"]
    assert {each["label"]: each["score"] for each in one} == pytest.approx(
        said.probabilities, abs=1e-5
    )
    many = client.ask("/predict", {"inputs": [list(pair)] * 3, "model": "nli-en"}).json()
    assert many == [one] * 3


def test_own_match_repeats_its_input_as_files_do(client, matcher):
    pairs = [{"sentence1": QUERY, "sentence2": text} for text in TEXTS]
    found = client.ask("/v1/match", {"pairs": pairs}).json()
    said = matcher.predict([(QUERY, text) for text in TEXTS])
    for answer, pair, match in zip(found["matches"], pairs, said, strict=True):
        expected = match.record(**pair)
        assert answer["label"] == expected["label"]
        assert answer["score"] == pytest.approx(expected["score"], abs=1e-5)
        assert list(answer) == list(expected)


def test_own_explain_gives_both_alignments(client):
    body = {"sentence1": CHINESE[0], "sentence2": CHINESE[1], "model": "match-zh"}
    found = client.ask("/v1/explain", body).json()
    alignment = softquery.load("match-zh", threads=1).explain(*CHINESE)
    assert found["first_tokens"] == list(alignment.first_tokens)
    assert found["label"] == alignment.label
    np.testing.assert_allclose(found["first_to_second"], alignment.first_to_second, atol=1e-4)
    np.testing.assert_allclose(found["second_to_first"], alignment.second_to_first, atol=1e-4)
    reasons = alignment.reasons.to_dict()
    assert {name: found["reasons"][name] for name in ("answer", "method", "words")} == {
        name: reasons[name] for name in ("answer", "method", "words")
    }
    for side in (0, 1):
        np.testing.assert_allclose(
            found["reasons"]["changes"][side], reasons["changes"][side], atol=1e-3
        )


@pytest.mark.parametrize(("model", "size"), [("match-en", 400), ("elmo-en", 384)])
def test_vectors_have_length_one_unless_declined(client, model, size):
    found = np.array(client.ask("/embed", {"inputs": TEXTS[:3], "model": model}).json())
    assert found.shape == (3, size)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    raw = client.ask("/embed", {"inputs": TEXTS[:3], "model": model, "normalize": False}).json()
    lengths = np.linalg.norm(raw, axis=1)
    assert abs(lengths - 1).min() > 0.1
    np.testing.assert_allclose(raw / lengths[:, None], found, atol=1e-5)
    one = client.ask("/embed", {"inputs": TEXTS[0], "model": model}).json()
    np.testing.assert_allclose(one, found[:1], atol=1e-6)


def test_vectors_are_what_is_documented(client, matcher):
    words = softquery.load("elmo-en", threads=1).embed([QUERY], layers="mix")[0][0]
    body = {"inputs": QUERY, "model": "elmo-en", "normalize": False}
    np.testing.assert_allclose(client.ask("/embed", body).json()[0], words.mean(0), atol=1e-5)
    (encoding,), ((ids,), _) = matcher.encodings([QUERY]), matcher.read([QUERY])
    body = {"inputs": QUERY, "model": "match-en", "normalize": False}
    weights = zipf_weights(matcher.pipeline.vocab_size, num_reserved(matcher.pipeline))[ids]
    expected = np.average(encoding[:, :400], axis=0, weights=weights)
    np.testing.assert_allclose(client.ask("/embed", body).json()[0], expected, atol=1e-5)


def test_many_vectors_are_those_of_each_text(client):
    texts = [f"text number {number}" for number in range(90)]
    found = client.ask("/embed", {"inputs": texts, "model": "match-en"}).json()
    assert [len(vector) for vector in found] == [400] * 90
    for number in (0, 42, 89):
        one = client.ask("/v1/embeddings", {"input": texts[number]}).json()["data"][0]["embedding"]
        np.testing.assert_allclose(one, found[number], atol=1e-6)


def test_a_text_without_words_has_a_vector_of_zeros(client):
    assert client.ask("/embed", {"inputs": " ", "model": "elmo-en"}).json() == [[0.0] * 384]


def test_tei_similarity_is_the_cosine_of_vectors(client):
    inputs = {"source_sentence": QUERY, "sentences": TEXTS[:3]}
    found = client.ask("/similarity", {"inputs": inputs, "parameters": {}}).json()
    vectors = np.array(client.ask("/embed", {"inputs": [QUERY, *TEXTS[:3]]}).json())
    np.testing.assert_allclose(found, vectors[1:] @ vectors[0], atol=1e-5)
    assert found[1] == max(found)


@pytest.mark.parametrize("path", ["/v1/embeddings", "/embeddings"])
def test_openai_embeddings(client, path):
    body = {"input": TEXTS[:2], "model": "elmo-en", "dimensions": 384, "user": "x"}
    found = client.ask(path, body).json()
    assert [each["index"] for each in found["data"]] == [0, 1]
    assert found["usage"]["prompt_tokens"] == found["usage"]["total_tokens"] == 16
    packed = client.ask(path, {**body, "encoding_format": "base64"}).json()["data"][1]
    unpacked = np.frombuffer(base64.b64decode(packed["embedding"]), dtype="<f4")
    np.testing.assert_allclose(unpacked, found["data"][1]["embedding"], atol=1e-6)


def test_the_root_takes_what_any_tei_address_takes(client):
    assert (
        client.ask("/", {"inputs": QUERY}).json() == client.ask("/embed", {"inputs": QUERY}).json()
    )
    for path, body in (
        ("/rerank", {"query": QUERY, "texts": TEXTS}),
        ("/predict", {"inputs": [[QUERY, TEXTS[0]]]}),
        ("/similarity", {"inputs": {"source_sentence": QUERY, "sentences": TEXTS[:2]}}),
    ):
        assert client.ask("/", body).json() == client.ask(path, body).json()


def test_info_is_teis_and_lists_all(client):
    info = client.ask("/info").json()
    assert info["model_id"] == "match-en"
    assert info["model_type"]["reranker"]["id2label"] == {"0": "0", "1": "1"}
    assert info["max_input_length"] == 256
    assert [model["name"] for model in info["models"]] == [
        "match-en", "nli-en", "match-zh", "elmo-en"
    ]  # fmt: skip
    assert info["models"][2]["language"] == "zh"
    names = [each["id"] for each in client.ask("/v1/models").json()["data"]]
    assert names == [model["name"] for model in info["models"]]


def test_health(client):
    reply = client.ask("/health")
    assert (reply.status, reply.json()) == (200, {"status": "ok"})


def test_metrics_count_stages_batches_and_cuts(client):
    long = "word " * 300
    assert client.ask("/rerank", {"query": QUERY, "texts": [long]}).status == 200
    text = client.ask("/metrics").body.decode()
    for stage in ("read", "wait", "tokenise", "compute", "answer"):
        assert 'softquery_stage_seconds_bucket{le="0.01",model=' in text
        assert f'stage="{stage}"' in text
    assert 'softquery_requests_total{route="/rerank",status="200"}' in text
    assert 'softquery_texts_cut_total{model="match-en"}' in text
    assert "softquery_batch_tokens_bucket" in text
    assert "softquery_requests_inside 0.0" in text


def test_texts_are_cut_unless_that_is_declined(client):
    body = {"query": QUERY, "texts": ["word " * 300]}
    assert client.ask("/rerank", body).status == 200
    assert client.ask("/rerank", {**body, "truncate": True}).status == 200
    reply = client.ask("/rerank", {**body, "truncate": False})
    assert reply.status == 413
    assert "1 text is longer than the 256 tokens that match-en reads" in (reply.json()["error"])


def test_answers_do_not_depend_on_the_company(client):
    """What is computed in a batch with others is what is computed alone, to six digits."""
    from concurrent.futures import ThreadPoolExecutor

    bodies = [{"query": f"{QUERY} {place}", "texts": TEXTS[: 1 + place % 4]} for place in range(40)]
    alone = [client.ask("/rerank", body).json() for body in bodies]
    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(lambda body: client.ask("/rerank", body).json(), bodies))
    for one, other in zip(alone, together, strict=True):
        assert [each["index"] for each in one] == [each["index"] for each in other]
        scores = [each["score"] for each in other]
        assert [each["score"] for each in one] == pytest.approx(scores, abs=1e-6)
