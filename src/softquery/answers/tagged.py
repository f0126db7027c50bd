"""The answer about one sentence whose words were tagged."""

from dataclasses import dataclass
from typing import Any

from softquery.answers.schemes import Span


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tag for each token, and the spans that the tags stand for."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]
    spans: tuple[Span, ...] = ()
    source: str | None = None
    """The text, where it was not given as tokens."""

    def record(self) -> dict[str, Any]:
        """The answer as JSON gives it: repeating its input.

        >>> Tagged(("Ada", "slept"), ("B-PER", "O"), (Span("PER", 0, 1),)).record()["spans"]
        [{'label': 'PER', 'start': 0, 'end': 1, 'text': 'Ada'}]
        """
        spans = [{**span._asdict(), "text": self.text(span)} for span in self.spans]
        text = {} if self.source is None else {"text": self.source}
        return {**text, "tokens": list(self.tokens), "tags": list(self.tags), "spans": spans}

    def text(self, span: Span) -> str:
        """The words of a span."""
        return " ".join(self.tokens[span.start : span.end])
