"""What a model says of itself when it is shown."""

from typing import Any

MOST_LABELS = 8


def model_repr(model: Any, **facts: object) -> str:
    """The class of a model, the name of its bundle, and what else there is to know.

    Args:
        model: Has a `bundle`.
        facts: Shown behind the name, in their order; labels are shortened where there are many.
    """
    shown = {"backend": model.backend.name, **facts}
    parts = ", ".join(f"{name}={_short(value)}" for name, value in shown.items())
    return f"{type(model).__name__}({model.bundle.path.name!r}, {parts})"


def _short(value: object) -> str:
    """A value, of a long tuple only the beginning.

    >>> _short(("a", "b")), _short(tuple(range(10)))
    ("('a', 'b')", '(0, 1, 2, 3, 4, 5, 6, 7, … 10 of them)')
    """
    if isinstance(value, tuple) and len(value) > MOST_LABELS:
        return f"{repr(value[:MOST_LABELS])[:-1]}, … {len(value)} of them)"
    return repr(value)
