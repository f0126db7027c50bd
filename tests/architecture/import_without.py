"""Import modules while some packages refuse to be imported; run in a process of its own.

    python import_without.py BLOCKED,BLOCKED,… MODULE MODULE …

Prints one line for each module that failed, and one for each blocked package that came in anyway.
"""

import importlib
import importlib.abc
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class Refusal(importlib.abc.MetaPathFinder):
    """Stands before all other finders and knows of no blocked package."""

    def __init__(self, blocked: Sequence[str]) -> None:
        self.blocked = frozenset(blocked)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Refuse a blocked package and all below it; say nothing about others."""
        if name.partition(".")[0] in self.blocked:
            raise ModuleNotFoundError(f"{name} is not installed (blocked)", name=name)
        return None


def main(blocked: Sequence[str], modules: Sequence[str]) -> None:
    """Import each module and report."""
    sys.meta_path.insert(0, Refusal(blocked))
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            print(f"{module}: {error}")
    for package in blocked:
        if package in sys.modules:
            print(f"{package} was imported")


if __name__ == "__main__":
    main([name for name in sys.argv[1].split(",") if name], sys.argv[2:])
