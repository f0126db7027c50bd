"""One score per row that means: this row answers the query."""
