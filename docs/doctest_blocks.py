"""Show the doctests of docstrings as code: an extension for the API pages.

To Markdown `>>>` is a quotation within a quotation within a quotation. Paragraphs that begin with
it are fenced before anything else reads them.
"""

import re
from typing import Any

import griffe

PARAGRAPH = re.compile(r"^(?P<indent> *)>>> .*(?:\n[ ]*\S.*)*", re.MULTILINE)


def fenced(docstring: str) -> str:
    """Put fences around every paragraph that is a session of the interpreter."""
    return PARAGRAPH.sub(
        lambda found: f"{found['indent']}```pycon\n{found[0]}\n{found['indent']}```", docstring
    )


class DoctestBlocks(griffe.Extension):
    """Fences doctests in every docstring that is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called once for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
