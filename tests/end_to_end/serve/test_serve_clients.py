"""Other people's clients, unchanged, pointed at our server; Hugging Face's has its own file."""

import asyncio

import numpy as np
import pytest
from serving import in_thread

from softquery.serve import Settings
from softquery.serve.keys import add_key

QUERY = "How can I learn to play the guitar?"
TEXTS = ["How do I cook rice?", "What is the best way to start playing guitar?"]


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    """A proxy in the environment would be asked for 127.0.0.1 as well."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture(scope="module")
def locked(catalogue, tmp_path_factory):
    """A server that asks for a key, and the key."""
    path = tmp_path_factory.mktemp("keys") / "keys.txt"
    key = add_key(path, "ada")
    with in_thread(Settings(models=("x",), keys=str(path)), catalogue) as client:
        yield client, key


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
        names = [model.id for model in openai.models.list()]
        assert "match-zh" in names
        assert [openai.models.retrieve(name).id for name in names] == names

    @pytest.mark.parametrize("name", ["gpt-5", "a/b", "{name}", "模型", "..%2f"])
    def test_a_model_that_is_not_served(self, openai, name):
        import openai as library

        with pytest.raises(library.NotFoundError, match="nothing of that name is served"):
            openai.models.retrieve(name)

    def test_asynchronous_client(self, client):
        library = pytest.importorskip("openai", reason="pip install openai")

        async def ask():
            async with library.AsyncOpenAI(base_url=f"{client.url}/v1", api_key="none") as asking:
                found = await asking.embeddings.create(model="match-en", input=TEXTS)
                return found, await asking.models.retrieve("match-en")

        found, model = asyncio.run(ask())
        assert [len(each.embedding) for each in found.data] == [400, 400]
        assert (model.id, model.object) == ("match-en", "model")

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

    def test_asynchronous_client(self, cohere, client):
        async def ask():
            async with cohere.AsyncClientV2("none", base_url=client.url) as asking:
                return await asking.rerank(model="match-en", query=QUERY, documents=TEXTS)

        assert [each.index for each in asyncio.run(ask()).results] == [1, 0]

    def test_refusals_are_its_own_exceptions(self, cohere, client):
        asking = cohere.ClientV2("none", base_url=client.url)
        with pytest.raises(cohere.errors.NotFoundError, match="no model of that name can match"):
            asking.rerank(model="rerank-v3.5", query=QUERY, documents=TEXTS)
        with pytest.raises(cohere.errors.BadRequestError, match="at least 1 item"):
            asking.rerank(model="match-en", query=QUERY, documents=[])

    def test_fields_that_are_not_read_are_refused(self, cohere, client):
        asking = cohere.Client("none", base_url=client.url)
        asked = {"model": "match-en", "query": QUERY, "documents": [{"text": "a", "title": "b"}]}
        assert asking.rerank(**asked, rank_fields=["text"]).results
        with pytest.raises(cohere.errors.BadRequestError, match="rank_fields.0: input should be"):
            asking.rerank(**asked, rank_fields=["title"])


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

        with pytest.raises(HfHubHTTPError, match="prompt_name: input should be None"):
            hub("/embed").feature_extraction(TEXTS, prompt_name="query")


class TestKeys:
    """Without a key every client raises its own exception, which says what is missing."""

    SAID = "the key is missing or unknown"

    def test_openai(self, locked):
        library = pytest.importorskip("openai", reason="pip install openai")
        client, key = locked
        wrong = library.OpenAI(base_url=f"{client.url}/v1", api_key="wrong", max_retries=0)
        for ask in (
            lambda: wrong.embeddings.create(model="match-en", input=QUERY),
            wrong.models.list,
            lambda: wrong.models.retrieve("match-en"),
            lambda: wrong.models.retrieve("nobody"),
        ):
            with pytest.raises(library.AuthenticationError, match=self.SAID):
                ask()
        right = library.OpenAI(base_url=f"{client.url}/v1", api_key=key, max_retries=0)
        assert right.models.retrieve("match-en").id == "match-en"

    def test_cohere(self, locked):
        library = pytest.importorskip("cohere", reason="pip install cohere")
        client, key = locked
        asked = {"model": "match-en", "query": QUERY, "documents": TEXTS}
        with pytest.raises(library.errors.UnauthorizedError, match=self.SAID):
            library.ClientV2("wrong", base_url=client.url).rerank(**asked)
        assert library.ClientV2(key, base_url=client.url).rerank(**asked).results

    @pytest.mark.parametrize("path", ["", "/embed", "/models/match-en", "/models/nobody"])
    def test_hugging_face(self, locked, path):
        library = pytest.importorskip("huggingface_hub", reason="pip install huggingface_hub")
        client, key = locked
        at = f"{client.url}{path}"
        with pytest.raises(library.errors.HfHubHTTPError, match=self.SAID):
            library.InferenceClient(model=at, token="wrong").feature_extraction(QUERY)
        if path != "/models/nobody":
            assert library.InferenceClient(model=at, token=key).feature_extraction(QUERY).any()

    def test_information_is_refused_in_the_form_of_tei(self, locked):
        client, _ = locked
        for path in ("/info", "/metrics", "/models/match-en/info"):
            reply = client.ask(path)
            assert reply.status == 401
            assert self.SAID in reply.json()["error"]
