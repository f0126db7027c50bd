"""The settings of a text pipeline, which travel with the weights, and its reserved tokens.

`<pad>`, `<unk>`, `<bos>` and `<eos>` have the same ids everywhere, so that models may rely on them;
`<cls>`, `<sep>` and `<mask>` exist only in sub-word vocabularies for masked language models. BERT's
vocabularies have their own names for them, at any ids.
"""

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal, get_args

from softquery.errors import ConfigError

PAD: Final = "<pad>"
UNK: Final = "<unk>"
BOS: Final = "<bos>"
EOS: Final = "<eos>"
CLS: Final = "<cls>"
SEP: Final = "<sep>"
MASK: Final = "<mask>"

PAD_ID: Final = 0
UNK_ID: Final = 1
BOS_ID: Final = 2
EOS_ID: Final = 3

ALWAYS_RESERVED: Final = (PAD, UNK, BOS, EOS)
"""Ids 0 to 3 of every vocabulary."""


BERT_PAD: Final = "[PAD]"
BERT_UNK: Final = "[UNK]"
BERT_CLS: Final = "[CLS]"
BERT_SEP: Final = "[SEP]"
BERT_MASK: Final = "[MASK]"
BERT_RESERVED: Final = (BERT_PAD, BERT_UNK, BERT_CLS, BERT_SEP, BERT_MASK)
"""Of the unit `bert`; looked up by name, because their ids differ between vocabularies."""


def reserved_tokens(unit: str) -> tuple[str, ...]:
    """The tokens that open the vocabulary of a text unit, in id order.

    >>> reserved_tokens("words")
    ('<pad>', '<unk>', '<bos>', '<eos>')
    >>> reserved_tokens("wordpiece")[4:]
    ('<cls>', '<sep>', '<mask>')
    """
    if unit == "bert":
        return BERT_RESERVED
    return (*ALWAYS_RESERVED, CLS, SEP, MASK) if unit == "wordpiece" else ALWAYS_RESERVED


Unit = Literal["words", "characters", "whitespace", "jieba", "bpe", "wordpiece", "bert"]
UnicodeForm = Literal["NFC", "NFKC"]

SUBWORDS: Final = ("bpe", "wordpiece", "bert")
"""Units that cut words into pieces."""
SWITCHES: Final = ("lowercase", "strip_accents", "simplify", "boundaries")


@dataclass(frozen=True, kw_only=True, slots=True)
class TextConfig:
    """How strings become tokens.

    >>> TextConfig(unit="characters", simplify=True).max_tokens
    128
    """

    unit: Unit = "words"
    """What a token is; in `words`, too, each Chinese character is a token."""
    unicode_form: UnicodeForm = "NFKC"
    """NFKC also folds full-width letters and ligatures; `bert` has its own rules."""
    lowercase: bool = True
    strip_accents: bool = False
    simplify: bool = False
    """Traditional to Simplified Chinese, one character to one character."""
    boundaries: bool = False
    """Wrap each sentence in `<bos>` and `<eos>`, for `bert` in `[CLS]` and `[SEP]`."""
    max_tokens: int = 128
    """Longer sentences are cut; boundaries count and are kept."""
    markers: tuple[str, ...] = ()
    """Tokens that are never split, such as `<e1>`; only for the units words and characters."""

    def __post_init__(self) -> None:
        _one_of("unit", self.unit, get_args(Unit))
        _one_of("unicode_form", self.unicode_form, get_args(UnicodeForm))
        for name in SWITCHES:
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false, got {getattr(self, name)!r}")
        least = 3 if self.boundaries else 1
        if type(self.max_tokens) is not int or self.max_tokens < least:
            raise ValueError(
                f"max_tokens must be a whole number of at least {least}, got {self.max_tokens!r}"
            )
        _check_markers(self.markers, self.unit)

    @property
    def noun(self) -> str:
        """The plural noun for a token.

        >>> TextConfig().noun, TextConfig(unit="characters").noun, TextConfig(unit="bert").noun
        ('words', 'characters', 'pieces')
        """
        if self.unit in SUBWORDS:
            return "pieces"
        return "characters" if self.unit == "characters" else "words"

    def to_dict(self) -> dict[str, str | bool | int | list[str]]:
        """Plain values for JSON.

        >>> TextConfig.from_dict(TextConfig(unit="bpe").to_dict()).unit
        'bpe'
        """
        return {**asdict(self), "markers": list(self.markers)}

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> "TextConfig":
        """Parse settings strictly: an unknown name is an error.

        >>> TextConfig.from_dict({"lower_case": True})
        Traceback (most recent call last):
            ...
        softquery.errors.ConfigError: unknown text setting 'lower_case'; did you mean 'lowercase'?
        """
        if not isinstance(settings, Mapping):
            raise ConfigError(f"text settings must be names with values, got {settings!r}")
        names = [field.name for field in fields(cls)]
        for name in settings:
            if name not in names:
                raise ConfigError(f"unknown text setting {name!r}; {_nearest(str(name), names)}")
        markers = settings.get("markers", ())
        known = {**settings, "markers": tuple(markers) if isinstance(markers, list) else markers}
        try:
            return cls(**known)
        except ValueError as error:
            raise ConfigError(f"text setting {error}") from error


def _check_markers(markers: object, unit: str) -> None:
    fits = isinstance(markers, tuple) and all(
        isinstance(each, str) and each and not any(map(str.isspace, each)) for each in markers
    )
    if not fits:
        raise ValueError(f"markers must be texts without spaces, got {markers!r:.80}")
    if markers and unit not in ("words", "characters"):
        raise ValueError(f"markers are kept whole by words and characters, not by {unit}")


def _one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}; got {value!r}")


def _nearest(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}"
