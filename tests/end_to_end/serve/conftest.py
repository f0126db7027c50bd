"""One server with all shipped models, for tests that leave it as it was."""

from importlib.util import find_spec
from pathlib import Path

import pytest

collect_ignore_glob = [] if find_spec("fastapi") and find_spec("uvicorn") else ["test_*.py"]

MODELS = ("match-en", "nli-en", "match-zh", "elmo-en")
FAQ = Path(__file__).resolve().parents[3] / "examples" / "shop_faq.csv"


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


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    """The shop's questions in both languages, as `faq-en.sq` and `faq-zh.sq` of a folder."""
    if not all(map(find_spec, ("usearch", "bm25s"))):
        pytest.skip("an index needs the extra [search]")
    from softquery.search import Index, IndexSettings

    folder = tmp_path_factory.mktemp("shop")
    for language in ("en", "zh"):
        Index.build(
            FAQ,
            folder / f"faq-{language}.sq",
            model=f"match-{language}",
            columns={name: f"{name}_{language}" for name in ("question", "answer")},
            settings=IndexSettings(min_score=0.1),
        )
    return folder


@pytest.fixture(scope="session")
def axe():
    """The rules of axe-core, as a Python package ships them."""
    package = pytest.importorskip(
        "axe_playwright_python",
        reason="accessibility is checked by axe-core (pip install axe-playwright-python)",
    )
    return (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
