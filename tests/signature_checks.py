"""The checker that `conftest.py` puts on every signature of the tensor layers."""

from collections.abc import Callable
from typing import Any

from beartype import BeartypeConf, beartype

# As for mypy, an int is a float.
_checked = beartype(conf=BeartypeConf(is_pep484_tower=True))


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Check what goes in, or what comes out.

    jaxtyping asks twice for each call: before it, with `Any` for what is returned, and after it,
    with all. By then the arguments have been checked, and their sizes are known.
    """
    returned = function.__annotations__.get("return", Any)
    if returned is not Any:
        function.__annotations__ = {"return": returned}
    return _checked(function)
