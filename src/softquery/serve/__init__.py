"""One server for all models and indexes: HTTP, batching, dialects, and a page to try them.

Importing this package needs nothing beyond the base install; serving needs the extra `[serve]`.

>>> from softquery.serve import Settings
>>> Settings(models=("match-en",)).limits.max_texts
1000
"""

from typing import TYPE_CHECKING, Any

from softquery.errors import MissingExtra
from softquery.serve.settings import Limits, Settings

if TYPE_CHECKING:
    from softquery.serve.app import build_app
    from softquery.serve.server import serve

__all__ = ["Limits", "Settings", "build_app", "serve"]

_FOREIGN = ("fastapi", "starlette", "pydantic", "uvicorn", "prometheus_client", "anyio")


def __getattr__(name: str) -> Any:
    """Import the server when it is first used, and name the extra if that is missing."""
    if name not in ("build_app", "serve"):
        raise AttributeError(f"module 'softquery.serve' has no attribute {name!r}")
    try:
        from softquery.serve import app, server
    except ImportError as error:
        if error.name and error.name.split(".")[0] in _FOREIGN:
            raise MissingExtra("serve", needed_for="serving models") from None
        raise
    return app.build_app if name == "build_app" else server.serve
