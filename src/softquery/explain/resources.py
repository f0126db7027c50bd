"""The styles, the script and the frame of the page, which lie beside the code as files."""

from functools import lru_cache


@lru_cache(maxsize=8)
def read_resource(name: str) -> str:
    """The text of a file of this folder, read once."""
    from importlib.resources import files  # a slow import, and few need it

    return (files("softquery.explain") / name).read_text(encoding="utf-8")
