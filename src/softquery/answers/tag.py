"""The answer of a tagger: the tags it knows, which sequences are allowed, and a tagged sentence."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from softquery.answers.tag_schemes import (
    OUTSIDE,
    SCHEMES,
    Scheme,
    Span,
    all_tags,
    converted,
    label_of,
    legal_tags,
    spans_of,
)
from softquery.text.spans import as_written

Decoding = Literal["legal", "any"]
LOWEST = -1e4
"""The score of a forbidden transition: far below any real score, and finite."""


class TagError(ValueError):
    """An unknown tag.

    Args:
        message: What is wrong.
        place: The index of the token in its sentence.
    """

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.place = place


@dataclass(frozen=True, kw_only=True, slots=True)
class TagSet:
    """The tags of a model, in the order of its outputs.

    >>> tags = TagSet.found([["I-PER", "I-PER", "O"]], given="iob1")
    >>> tags.labels, tags.ids(["I-PER", "O"], given="iob1"), tags.write(["S-PER", "O"])
    (('O', 'B-PER', 'I-PER', 'E-PER', 'S-PER'), [4, 0], ['B-PER', 'O'])
    """

    labels: tuple[str, ...]
    scheme: Scheme = "plain"
    """The scheme that the model predicts."""
    written: Scheme = "plain"
    """The scheme in which answers are given."""
    decoding: Decoding = "legal"
    """`"legal"` to answer only sequences that the scheme allows."""

    def __post_init__(self) -> None:
        if not 1 < len(set(self.labels)) == len(self.labels):
            raise ValueError(f"labels must be two or more different tags, got {self.labels}")
        for name, choices in (
            ("scheme", SCHEMES),
            ("written", SCHEMES),
            ("decoding", get_args(Decoding)),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r:.40}"
                )
        if (self.scheme == "plain") != (self.written == "plain"):
            raise ValueError(f"scheme {self.scheme} cannot be written as {self.written}")
        if self.scheme != "plain" and OUTSIDE not in self.labels:
            raise ValueError(f"labels must hold {OUTSIDE!r}, got {self.labels}")

    @classmethod
    def found(
        cls,
        sentences: Iterable[Sequence[str]],
        *,
        given: Scheme,
        learnt: Scheme = "bioes",
        decoding: Decoding = "legal",
    ) -> "TagSet":
        """The set of tags that occur in some sentences.

        Args:
            sentences: The tags of each sentence.
            given: The scheme of these tags.
            learnt: The scheme that the model is to predict.
            decoding: Whether only legal sequences are answered.
        """
        counts = Counter(tag for tags in sentences for tag in tags)
        if given == "plain":
            return cls(labels=tuple(sorted(counts)))
        labels = sorted({label_of(tag) for tag in counts if tag != OUTSIDE})
        return cls(
            labels=all_tags(labels, learnt),
            scheme=learnt,
            written="iob2" if given == "iob1" else given,
            decoding=decoding,
        )

    @property
    def has_spans(self) -> bool:
        """Whether tags stand for spans."""
        return self.scheme != "plain"

    def ids(self, tags: Sequence[str], *, given: Scheme) -> list[int]:
        """The ids of tags written in the scheme `given`; `TagError` for an unknown one."""
        own = converted(tags, self.scheme) if self.has_spans else tags
        places = {label: place for place, label in enumerate(self.labels)}
        for place, tag in enumerate(own):
            if tag not in places:
                names = sorted({*map(label_of, self.labels)} - {""}) if self.has_spans else None
                known = list(names or self.labels)
                shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
                raise TagError(f"tag {tags[place][:40]!r} is not one of {shown}", place)
        return [places[tag] for tag in own]

    def write(self, tags: Sequence[str]) -> list[str]:
        """The model's tags, converted to the scheme of answers."""
        return converted(tags, self.written)

    def spans(self, tags: Sequence[str]) -> list[Span]:
        """The spans that tags stand for; plain tags have none."""
        return spans_of(tags) if self.has_spans else []

    def forbidden(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Scores of transitions, starts and ends: 0 where allowed, `LOWEST` where not."""
        scheme = self.scheme if self.decoding == "legal" else "plain"
        between, start, end = legal_tags(self.labels, scheme)
        first, second, third = (
            np.where(part, 0.0, LOWEST).astype(np.float32) for part in (between, start, end)
        )
        return first, second, third

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "labels": list(self.labels)}

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> "TagSet":
        """Parse what `to_dict` returned; `ValueError` where it does not fit."""
        known = ("labels", "scheme", "written", "decoding")
        given = {name: settings[name] for name in known if name in settings}
        labels = given.get("labels")
        if not isinstance(labels, (list, tuple)) or not all(isinstance(x, str) for x in labels):
            raise ValueError(f"labels must be a list of tags, got {labels!r:.80}")
        return cls(**{**given, "labels": tuple(labels)})


@dataclass(frozen=True, slots=True)
class Tagged:
    """A sentence with a tag per token, and the spans that the tags stand for."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]
    spans: tuple[Span, ...] = ()
    source: str | None = None
    """The text, unless it was given as tokens."""

    def record(self) -> dict[str, Any]:
        """The answer as a JSON record that repeats its input.

        >>> Tagged(("Ada", "slept"), ("B-PER", "O"), (Span("PER", 0, 1),)).record()["spans"]
        [{'label': 'PER', 'start': 0, 'end': 1, 'text': 'Ada'}]
        """
        spans = [{**span._asdict(), "text": self.text(span)} for span in self.spans]
        text = {} if self.source is None else {"text": self.source}
        return {**text, "tokens": list(self.tokens), "tags": list(self.tags), "spans": spans}

    def text(self, span: Span) -> str:
        """The words of a span, as they would be written.

        >>> Tagged(("北", "京", "大"), ("B-LOC", "I-LOC", "O")).text(Span("LOC", 0, 2))
        '北京'
        """
        return as_written(self.tokens[span.start : span.end])
