"""A bundle by its name, by its folder, or as it is."""

from os import PathLike

from softquery.bundle import Bundle, read_bundle
from softquery.zoo import resolve

Source = str | PathLike[str] | Bundle
"""A name from the zoo, a folder, or a bundle that is read already."""


def opened(source: Source) -> Bundle:
    """The bundle, read where it is not yet."""
    return source if isinstance(source, Bundle) else read_bundle(resolve(source))
