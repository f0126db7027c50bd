"""The OpenAPI document is true: schemathesis tries what it allows and what it forbids."""

import re
import subprocess
import sys

import pytest
from serving import in_thread

from softquery.serve import Settings

SETTINGS = """
[checks]
# A body with texts that are too long may itself be too large, which is another refusal.
negative_data_rejection.expected-statuses = ["400", "401", "404", "405", "413", "422", "424"]
# Which models can do what, a schema cannot say; TEI's clients are told by a 424.
positive_data_acceptance.expected-statuses = ["2xx", "401", "404", "424", "429", "5xx"]

[[operations]]
include-path = ["/decode"]
# Nor how many tokens a model knows.
checks.positive_data_acceptance.enabled = false

[[operations]]
include-path = ["/v1/score", "/score"]
# Two lists must be equally long, which a schema cannot say.
checks.positive_data_acceptance.enabled = false

[[operations]]
include-path = ["/v1/search"]
# What columns an index has, and so what may stand under "where", a schema cannot say either.
checks.positive_data_acceptance.enabled = false
"""


def run_schemathesis(url, folder, *words, settings=SETTINGS):
    pytest.importorskip("schemathesis", reason="pip install schemathesis")
    config = folder / "schemathesis.toml"
    config.write_text(settings)
    command = [sys.executable, "-m", "schemathesis.cli", f"--config-file={config}", "run"]
    return subprocess.run(
        [*command, f"{url}/openapi.json", "--seed=1", "--max-examples=4", "--no-color", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
    )


def test_schemathesis_finds_nothing(client, tmp_path):
    result = run_schemathesis(client.url, tmp_path, "--phases=coverage,fuzzing")
    assert result.returncode == 0, re.sub(r"(.)\1{30,}", r"\1…", result.stdout)[-6000:]
    (count,) = re.findall(r"([\d,]+) generated", result.stdout)
    assert int(count.replace(",", "")) > 300


def test_limits_are_those_of_this_server(client):
    schemas = client.ask("/openapi.json").json()["components"]["schemas"]
    rerank = schemas["RerankBody"]["properties"]
    assert rerank["query"]["maxLength"] == 2000
    assert rerank["texts"]["maxItems"] == 100
    assert rerank["texts"]["items"]["maxLength"] == 2000
    assert "x-limit" not in client.ask("/openapi.json").body.decode()
    assert "HTTPValidationError" not in schemas


def test_addresses_are_those_of_the_models_at_hand(catalogue):
    from softquery.serve.catalogue import Catalogue

    (elmo,) = (each for each in catalogue.models if each.name == "elmo-en")
    with in_thread(Settings(models=("elmo-en",)), Catalogue([elmo])) as client:
        paths = set(client.ask("/openapi.json").json()["paths"])
        assert {"/embed", "/similarity", "/v1/embeddings", "/"} <= paths
        assert paths & {"/rerank", "/predict", "/v1/rerank", "/v1/match", "/v1/search"} == set()
        assert client.ask("/", {"inputs": "a"}).status == 200
        assert client.ask("/rerank", {"query": "a", "texts": ["b"]}).status == 424
