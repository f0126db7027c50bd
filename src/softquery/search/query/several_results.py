"""What several searches found, as a notebook shows it."""

from softquery.search.query.retrieval import SearchResult


class SearchResults(list[SearchResult]):
    """A list of what each search found, in the order of the queries; a table each in a notebook.

    >>> results = SearchResults([SearchResult("how do I pay?", [], [])])
    >>> len(results), results._repr_html_().count("<table>")
    (1, 1)
    """

    def _repr_html_(self) -> str:
        return "\n".join(result._repr_html_() for result in self)
