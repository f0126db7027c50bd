"""Chinese words by jieba (the extra `[zh]`), with offsets into the text as it was given."""

import threading
import warnings
from functools import lru_cache
from importlib.util import find_spec
from itertools import accumulate
from typing import Any

from tokenizers import NormalizedString, PreTokenizedString, normalizers

from softquery.errors import MissingExtra
from softquery.text.segmentation import CJK_RUNS, matches
from softquery.text.spans import Span

_loading = threading.Lock()


class WordSegmenter:
    """Cuts text into words: runs of Chinese by jieba, all else as English words are cut.

    Args:
        normaliser: Applied first, so that jieba sees the spelling its dictionary has.
    """

    def __init__(self, normaliser: normalizers.Normalizer) -> None:
        if find_spec("jieba") is None:  # said here, not at the first sentence
            raise MissingExtra("zh", needed_for="cutting Chinese text into words")
        self._normaliser = normaliser
        self._runs = matches(CJK_RUNS)

    def words(self, text: str) -> list[str]:
        """The words alone, which is faster."""
        runs = self._runs.pre_tokenize_str(self._normaliser.normalize_str(text))
        return [word for run, _ in runs for word in _cut(run)]

    def spans(self, text: str) -> list[tuple[str, Span]]:
        """The words, each with where it stands in `text`."""
        pieces = PreTokenizedString(text)
        pieces.normalize(self._normaliser.normalize)
        self._runs.pre_tokenize(pieces)
        pieces.split(_cut_piece)
        return [(word, span) for word, span, _ in pieces.get_splits("original", "char")]


def _cut_piece(_: int, piece: NormalizedString) -> list[NormalizedString]:
    words = _cut(piece.normalized)
    ends = list(accumulate(len(word) for word in words))
    cuts = [piece[end - len(word) : end] for word, end in zip(words, ends, strict=True)]
    return [cut for cut in cuts if cut is not None]


def _cut(run: str) -> list[str]:
    """One run's words; only runs of Chinese characters can have more than one."""
    if len(run) == 1 or run.isascii():
        return [run]
    words: list[str] = _dictionary().lcut(run) if _is_ideographic(run) else [run]
    return words


def _is_ideographic(run: str) -> bool:
    # The Han blocks that jieba's dictionary draws on; what else it would cut letter by letter.
    return any("\u3400" <= character <= "\u9fff" for character in run)


def _dictionary() -> Any:
    with _loading:  # the first caller loads; the others wait instead of loading too
        return _loaded_dictionary()


@lru_cache(maxsize=1)
def _loaded_dictionary() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its sources predate raw strings
        import jieba
    jieba.setLogLevel("WARNING")
    # An own instance, filled here: jieba's shared one can be changed from elsewhere in the process,
    # and its usual start-up reads a cache file from the temporary folder that anyone may write.
    dictionary = jieba.Tokenizer()
    dictionary.FREQ, dictionary.total = dictionary.gen_pfdict(dictionary.get_dict_file())
    dictionary.initialized = True
    return dictionary
