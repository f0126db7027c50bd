"""One server with all shipped models, for tests that leave it as it was."""

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("fastapi") and find_spec("uvicorn") else ["test_*.py"]

MODELS = ("match-en", "nli-en", "match-zh", "elmo-en")


@pytest.fixture(scope="session")
def catalogue():
    """The shipped models, opened once."""
    from softquery.serve import Settings
    from softquery.serve.catalogue import open_catalogue

    return open_catalogue(Settings(models=MODELS))


@pytest.fixture(scope="session")
def client(catalogue):
    """A server of all shipped models, with limits that tests can reach."""
    from serving import in_thread

    from softquery.serve import Limits, Settings

    limits = Limits(max_body=200_000, max_text=2_000, max_texts=100)
    with in_thread(Settings(models=MODELS, threads=2, limits=limits), catalogue) as running:
        yield running
