"""Other people's clients, unchanged, pointed at our server."""

import numpy as np
import pytest

QUERY = "How can I learn to play the guitar?"
TEXTS = ["How do I cook rice?", "What is the best way to start playing guitar?"]


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    """A proxy in the environment would be asked for 127.0.0.1 as well."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


class TestOpenAI:
    @pytest.fixture
    def openai(self, client):
        library = pytest.importorskip("openai", reason="pip install openai")
        return library.OpenAI(base_url=f"{client.url}/v1", api_key="none", max_retries=0)

    def test_embeddings(self, openai, client):
        found = openai.embeddings.create(model="elmo-en", input=TEXTS)
        assert [each.index for each in found.data] == [0, 1]
        assert found.model == "elmo-en"
        assert found.usage.total_tokens > 0
        said = client.ask("/embed", {"inputs": TEXTS, "model": "elmo-en"}).json()
        np.testing.assert_allclose([each.embedding for each in found.data], said, atol=1e-6)

    def test_one_text_as_numbers(self, openai):
        found = openai.embeddings.create(model="match-en", input=QUERY, encoding_format="float")
        assert len(found.data[0].embedding) == 400

    def test_models(self, openai):
        assert "match-zh" in [model.id for model in openai.models.list()]

    def test_refusals_are_its_own_exceptions(self, openai):
        import openai as library

        with pytest.raises(library.NotFoundError, match="no model of that name can embed"):
            openai.embeddings.create(model="text-embedding-3-small", input=QUERY)
        with pytest.raises(library.NotFoundError, match="known: match-en 400.*elmo-en 384"):
            openai.embeddings.create(model="elmo-en", input=QUERY, dimensions=256)
        with pytest.raises(library.BadRequestError, match="input: input should be"):
            openai.embeddings.create(model="elmo-en", input=[[1, 2, 3]])


class TestCohere:
    @pytest.fixture
    def cohere(self):
        return pytest.importorskip("cohere", reason="pip install cohere")

    def test_second_version(self, cohere, client):
        asking = cohere.ClientV2("none", base_url=client.url)
        found = asking.rerank(model="match-en", query=QUERY, documents=TEXTS, top_n=1)
        assert [(each.index, each.relevance_score > 0.5) for each in found.results] == [(1, True)]
        assert found.meta.api_version.version == "2"

    def test_first_version(self, cohere, client):
        asking = cohere.Client("none", base_url=client.url)
        found = asking.rerank(model="match-en", query=QUERY, documents=TEXTS, return_documents=True)
        assert [each.index for each in found.results] == [1, 0]
        assert found.results[0].document.text == TEXTS[1]

    def test_refusals_are_its_own_exceptions(self, cohere, client):
        asking = cohere.ClientV2("none", base_url=client.url)
        with pytest.raises(cohere.errors.NotFoundError, match="no model of that name can match"):
            asking.rerank(model="rerank-v3.5", query=QUERY, documents=TEXTS)
        with pytest.raises(cohere.errors.BadRequestError, match="at least 1 item"):
            asking.rerank(model="match-en", query=QUERY, documents=[])


class TestHuggingFaceHub:
    """Its client speaks to servers of TEI by their address."""

    @pytest.fixture
    def hub(self, client):
        library = pytest.importorskip("huggingface_hub", reason="pip install huggingface_hub")
        return lambda path="": library.InferenceClient(model=f"{client.url}{path}", token="none")

    @pytest.mark.parametrize("path", ["", "/embed"])
    def test_feature_extraction(self, hub, client, path):
        found = hub(path).feature_extraction(TEXTS, normalize=True, truncate=True)
        said = client.ask("/embed", {"inputs": TEXTS}).json()
        np.testing.assert_allclose(found, said, atol=1e-6)
        assert hub(path).feature_extraction(QUERY).shape == (1, 400)

    @pytest.mark.parametrize("path", ["", "/similarity"])
    def test_sentence_similarity(self, hub, path):
        found = hub(path).sentence_similarity(QUERY, other_sentences=TEXTS)
        assert found[1] > found[0]

    def test_refusals_are_its_own_exceptions(self, hub):
        from huggingface_hub.errors import HfHubHTTPError

        with pytest.raises(HfHubHTTPError, match="422"):
            hub("/embed").feature_extraction(TEXTS, prompt_name="query")
