"""Indexes of tests, whose searches are a single step."""

from softquery.search.query.search_steps import SearchStep


class OneStepSearch:
    """A search that is done in one step, by a function that gives its result."""

    num_tokens, is_truncated, num_weights = 1, False, 0

    def __init__(self, find):
        self._find = find

    def recall(self):
        return []

    def comparisons(self):
        return [SearchStep(1, self._search)]

    def alignments(self):
        return []

    def result(self):
        return self._found

    def _search(self):
        self._found = self._find()
