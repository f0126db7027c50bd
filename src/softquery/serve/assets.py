"""The page at `/`, the one at `/docs`, and the files they are made of: all of them our own.

Their policy allows nothing from elsewhere and nothing inline, so that no text of a user can become
markup, script or style even if a page tried to show it as such.
"""

import hashlib
from collections.abc import Awaitable, Callable
from functools import lru_cache
from importlib.resources import files

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from softquery.explain.colours import ramp_css

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGES = {"/": "index.html", "/docs": "docs.html"}
FILES = (
    "page.css", "docs.css", "words.js", "asking.js", "alignment.js", "page.js", "docs.js",
    "icon.svg",
)  # fmt: skip
RAMP = "ramp.css"
"""The colours of weights, which `softquery.explain` decides."""
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@lru_cache(maxsize=32)
def read_asset(name: str) -> bytes:
    """A file of the page, read once."""
    if name == RAMP:
        return ramp_css().encode()
    return (files("softquery.serve") / "page" / name).read_bytes()


def _response(request: Request, name: str) -> Response:
    content = read_asset(name)
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {
        "Content-Security-Policy": POLICY,
        "Cache-Control": "no-cache",
        "ETag": tag,
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    kind = _TYPES[name.rpartition(".")[2]]
    return Response(content, media_type=kind, headers=headers)


def asset_routes() -> APIRouter:
    """Addresses of the pages and, left out of the OpenAPI document, of their files."""
    router = APIRouter(tags=["Server"])
    for path, name in PAGES.items():
        router.add_api_route(
            path, _reader(name), methods=["GET"], response_class=HTMLResponse, name=name
        )
    for name in (*FILES, RAMP):
        router.add_api_route(
            f"/page/{name}", _reader(name), methods=["GET"], include_in_schema=False
        )
    return router


def _reader(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def read(request: Request) -> Response:
        """A page for people."""
        return _response(request, name)

    return read
