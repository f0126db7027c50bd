"""Runs as values, and the only place where a model meets a task.

Most recipes need torch. Those of `WITHOUT_TORCH` do not, so that everything else here is imported
when it is asked for.
"""

import difflib
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from softquery.errors import ConfigError
from softquery.recipes.few_labels import FewLabelsRun, classify_few, classify_tuned
from softquery.recipes.overrides import override

if TYPE_CHECKING:
    from softquery.recipes.bert import BertRun, DocumentFiles, Pieces
    from softquery.recipes.elmo import ElmoRun, StreamFiles, Targets
    from softquery.recipes.recipe_table import RECIPES, AnyRun
    from softquery.recipes.run import BertSettings, Files, Run, Vocabulary
    from softquery.recipes.word2vec import Word2VecRun, WordList
    from softquery.tasks import ClassifySettings, GenerateSettings, ReadSettings, TagSettings

WITHOUT_TORCH: dict[str, Callable[[], FewLabelsRun]] = {
    "classify-few": classify_few,
    "classify-tuned": classify_tuned,
}
"""The recipes that the base install can run."""

_PLACES = {
    "softquery.recipes.bert": ("BertRun", "DocumentFiles", "Pieces"),
    "softquery.recipes.elmo": ("ElmoRun", "StreamFiles", "Targets"),
    "softquery.recipes.recipe_table": ("RECIPES", "AnyRun"),
    "softquery.recipes.run": ("BertSettings", "Files", "Run", "Vocabulary"),
    "softquery.recipes.word2vec": ("Word2VecRun", "WordList"),
    "softquery.tasks": ("ClassifySettings", "GenerateSettings", "ReadSettings", "TagSettings"),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name that needs torch when it is asked for."""
    if name not in _PLACE_OF:
        raise AttributeError(f"module 'softquery.recipes' has no attribute {name!r}")
    return getattr(import_module(_PLACE_OF[name]), name)


def recipe(name: str) -> "AnyRun":
    """The recipe of that name, or `ConfigError` naming the nearest one."""
    if name in WITHOUT_TORCH:
        return WITHOUT_TORCH[name]()
    from softquery.recipes.recipe_table import RECIPES

    if name not in RECIPES:
        near = difflib.get_close_matches(name[:100].lower(), RECIPES, n=1, cutoff=0.3)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"unknown recipe {name!r:.100}{hint} (known: {', '.join(RECIPES)})")
    return RECIPES[name]()


__all__ = [
    "RECIPES",
    "WITHOUT_TORCH",
    "AnyRun",
    "BertRun",
    "BertSettings",
    "DocumentFiles",
    "ClassifySettings",
    "FewLabelsRun",
    "Files",
    "ElmoRun",
    "Pieces",
    "ReadSettings",
    "Run",
    "StreamFiles",
    "TagSettings",
    "Targets",
    "Vocabulary",
    "WordList",
    "Word2VecRun",
    "GenerateSettings",
    "override",
    "recipe",
]
