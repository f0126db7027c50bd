"""How the tags of a file are written; a mixture of schemes is refused. Needs no torch."""

from collections.abc import Sequence
from typing import NamedTuple

from softquery.answers import Scheme, detect_scheme, misfit
from softquery.errors import InputError, counted
from softquery.files import TaggedSentence

MOST_SLIPS = 0.01
"""Share of sentences that may differ from the scheme before it is taken for a mixture."""


class SchemeFound(NamedTuple):
    """The scheme of a file's tags."""

    scheme: Scheme
    warning: str | None = None
    """Said where some sentences are not quite as the scheme writes them."""


def written_scheme(rows: Sequence[TaggedSentence], *, otherwise: str) -> SchemeFound:
    """Look at tags and tell how they are written.

    Args:
        rows: Sentences with tags.
        otherwise: What to do with a mixture; `{scheme}` in it is the one that fits best.

    Raises:
        InputError: More than a few sentences do not fit the scheme that the others are in.
    """
    scheme = detect_scheme(row.tags or [] for row in rows)
    slips = [(row, found) for row in rows if (found := misfit(row.tags or [], scheme))]
    if not slips:
        return SchemeFound(scheme)
    row, found = slips[0]
    if len(slips) > max(1, MOST_SLIPS * len(rows)):
        raise InputError(
            f"tags of several schemes: {found.message}; {otherwise.format(scheme=scheme)}",
            source=row.source,
            row=row.rows[found.place],
        )
    warning = (
        f"warning: {counted(len(slips), 'sentence')} of {len(rows):,} not as {scheme} writes them; "
        f"row {row.rows[found.place]}: {found.message}"
    )
    return SchemeFound(scheme, warning)
