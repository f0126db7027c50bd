"""Fonts for PNG: matplotlib's own lacks Chinese, so the installed fonts are searched for one."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_OWN = "DejaVu Sans"
"""The font that comes with matplotlib."""
_BOX = "\u25a1"

_WITH_HAN = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Hiragino Sans GB",
    "Heiti SC",
    "STHeiti",
    "Microsoft YaHei",
    "SimHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "Noto Sans CJK JP",
    "Noto Sans CJK TC",
    "Arial Unicode MS",
    "SimSun",
    "Noto Serif CJK SC",
)
"""Families with Han characters, in order of preference."""

_FILE_NAMES = (
    *("cjk", "sourcehan", "notosanssc", "pingfang", "hei", "msyh", "simsun", "wqy"),
    *("droidsansfallback", "arialuni"),
)
"""Parts of the names of their files, in lower case and without hyphens."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fonts:
    """The font families of a picture, and the characters that none of them has."""

    families: tuple[str, ...]
    """matplotlib takes each character from the first family that has it."""
    missing: frozenset[int]

    def drawable(self, text: str) -> str:
        """The text with an empty box for every character that no family has."""
        return text.translate(dict.fromkeys(self.missing, _BOX)) if self.missing else text

    def families_for(self, text: str) -> list[str]:
        """Matplotlib's own family where it suffices, as only it is sure to have a bold face."""
        own = _needed([text]) <= _characters(_OWN)
        return [_OWN] if own else list(self.families)


def choose_fonts(texts: Iterable[str]) -> Fonts:
    """Find families that together can draw the texts; warn about characters that none has."""
    missing = _needed(texts) - _characters(_OWN)
    families = [_OWN]
    if missing:
        _add_new_fonts()
    for family in _WITH_HAN if missing else ():
        if _is_installed(family) and missing & _characters(family):
            families.append(family)
            missing -= _characters(family)
    if missing:
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        warnings.warn(
            f"no installed font has {chr(min(missing))!r}{others}: the PNG shows boxes instead;"
            " .svg and .html use the reader's own fonts",
            stacklevel=2,
        )
    return Fonts(families=tuple(families), missing=missing)


def _needed(texts: Iterable[str]) -> frozenset[int]:
    return frozenset(ord(each) for text in texts for each in text if not each.isspace())


@lru_cache(maxsize=32)
def _characters(family: str) -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(findfont(FontProperties(family=[family]))).get_charmap())


def _is_installed(family: str) -> bool:
    from matplotlib.font_manager import fontManager

    return any(entry.name == family for entry in fontManager.ttflist)


@lru_cache(maxsize=1)
def _add_new_fonts() -> None:
    """Look for fonts that were installed after matplotlib wrote its list of them."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    known = {entry.fname for entry in fontManager.ttflist}
    for path in sorted(findSystemFonts()):
        name = Path(path).stem.lower().replace("-", "").replace("_", "")
        if path not in known and any(part in name for part in _FILE_NAMES):
            try:
                fontManager.addfont(path)
            except (OSError, RuntimeError):  # a damaged font is skipped
                continue
