"""Where things lie in the repository, and what the package consists of."""

import importlib
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "softquery"

TORCH_FREE_LAYERS = (
    "answers",
    "atomic",
    "bundle",
    "cli",
    "decoding",
    "demo",
    "doctor",
    "errors",
    "explain",
    "files",
    "language",
    "measure",
    "numpy_softmax",
    "plain_files",
    "terminal_text",
    "search",
    "sharing",
    "text",
    "zoo",
)
"""Layers of which every file, as far as they exist, imports with the base install alone."""

TORCH_FREE_MODULES = (
    "softquery",
    "softquery.interop",
    "softquery.recipes",
    "softquery.recipes.few_labels",
    "softquery.recipes.overrides",
    "softquery.running.row_checks",
    "softquery.running.run_options",
    "softquery.running.few_labels.train_few_labels",
    "softquery.runtime",
    "softquery.serve",
    "softquery.serve.health",
    "softquery.serve.keys",
)
"""Further modules of which that holds, whatever they import once they are called."""

OPTIONAL_PACKAGES = (
    "torch",
    "lightning_fabric",
    "jaxtyping",
    "numba",
    "matplotlib",
    "pyarrow",
    "jieba",
    "h5py",
    "fastapi",
    "uvicorn",
    "prometheus_client",
    "tensorboard",
    "scipy",
    "sklearn",
    "usearch",
    "numkong",
    "bm25s",
    "huggingface_hub",
    "langchain_core",
    "llama_index",
    "haystack",
    "spacy",
    "mcp",
)
"""What only extras bring."""


def source_files() -> list[Path]:
    """Every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    """The dotted name under which a source file is imported."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def torch_free_modules() -> list[str]:
    """Every module that must import without the optional packages."""
    names = [module_name(path) for path in source_files()]
    layers = tuple(f"softquery.{layer}" for layer in TORCH_FREE_LAYERS)
    inside = [n for n in names if n.startswith(tuple(f"{layer}." for layer in layers))]
    return sorted({*TORCH_FREE_MODULES, *inside, *(n for n in names if n in layers)})


def project_settings(folder: Path = ROOT) -> dict[str, Any]:
    """The contents of the pyproject.toml in a folder."""
    # Python 3.10 has no parser of its own; there pytest brings this one along.
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    settings: dict[str, Any] = toml.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    return settings
