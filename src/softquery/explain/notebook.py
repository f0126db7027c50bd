"""What notebooks show: a picture that keeps its styles to itself, and tables of hits."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from softquery.explain.lettering import escaped, isolated, shortened, visible

_CELL = 'style="text-align:left;vertical-align:top;max-width:40em"'
_QUIET = ' style="opacity:.6"'


def picture_html(svg: str, description: str) -> str:
    """A drawing as an image, so that neither its styles nor its ids meet those of the notebook.

    Args:
        svg: The drawing.
        description: What it shows, for whoever cannot see it.

    >>> picture_html("<svg/>", 'of "a"')[:38]
    '<img alt="of &quot;a&quot;" style="max'
    """
    data = b64encode(svg.encode("utf-8")).decode("ascii")
    source = f"data:image/svg+xml;base64,{data}"
    return f'<img alt="{escaped(description)}" style="max-width:100%" src="{source}">'


def table_html(
    caption: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]], *, quiet: bool = False
) -> str:
    """Rows as a table; numbers to three decimals, users' text escaped and isolated.

    Args:
        caption: Stands above the table.
        names: The columns.
        rows: Have these columns, or some of them.
        quiet: Whether rows are greyed, because they are no answers.
    """
    head = "".join(f"<th {_CELL}>{escaped(name)}</th>" for name in names)
    body = "".join(
        f"<tr{_QUIET if quiet else ''}>"
        + "".join(f"<td {_CELL}>{_cell(row.get(name, ''))}</td>" for name in names)
        + "</tr>\n"
        for row in rows
    )
    title = escaped(isolated(visible(shortened(caption))))
    return (
        f"<table>\n<caption>{title}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}</tbody>\n</table>"
    )


def _cell(value: object) -> str:
    """A value between tags.

    >>> _cell(0.12345), _cell("<b>")
    ('0.123', '&lt;b&gt;')
    """
    return f"{value:.3f}" if isinstance(value, float) else escaped(isolated(visible(str(value))))
