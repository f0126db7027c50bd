"""Models that are opened by a function, and say so where their class is called with a name."""

from collections.abc import Callable
from inspect import Parameter, signature
from os import PathLike
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=type[Any])


def opened_by(call: str) -> Callable[[Kind], Kind]:
    """Make a class refuse a name or a path as its first argument, and say what opens one.

    A subclass that is made of other things has its own `__init__`, and may well take a path first.

    Other libraries open a model by its class, `CrossEncoder("…")`. Python's own complaint would be
    about an argument that nobody who opens a model has.

    Args:
        call: What opens one, such as `softquery.load`.

    >>> @opened_by("softquery.load")
    ... class Model:
    ...     def __init__(self, bundle, backend):
    ...         self.bundle = bundle
    >>> Model("match-en")
    Traceback (most recent call last):
    TypeError: Model needs what is opened already; write softquery.load('match-en')
    """

    def marked(kind: Kind) -> Kind:
        def new(cls: type[Any], *given: object, **named: object) -> Any:
            first = next((each for each in (*given, *named.values())), None)
            if cls.__init__ is kind.__init__ and isinstance(first, (str, PathLike)):
                write = f"{call}({str(first)!r})"
                raise TypeError(f"{cls.__name__} needs what is opened already; write {write}")
            return object.__new__(cls)

        ours = signature(kind.__init__)
        own = [each for name, each in ours.parameters.items() if name != "self"]
        type.__setattr__(kind, "__new__", new)
        kind.__signature__ = ours.replace(parameters=own, return_annotation=Parameter.empty)
        return kind

    return marked
