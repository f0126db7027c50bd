"""The colours of weights and of reasons: one colour ramp per sentence, and one per direction.

The hue says which sentence asks, or whether a word speaks for an answer or against it. Lightness
alone says how much, so that a greyscale print reads the same: more is darker in the light scheme
and brighter in the dark one. Reasons have a signed number beside their hue.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Side = Literal["first", "second"]
Hue = Literal["first", "second", "for", "against"]
Scheme = Literal["light", "dark"]

NUM_LEVELS = 24
"""How many steps a ramp has above its lowest one."""

EXPONENT = 0.65
"""Below 1, so that a weight of 0.1 can be told from 0; the legend uses the same curve."""

_STOPS: dict[tuple[Hue, Scheme], tuple[str, ...]] = {
    ("first", "light"): ("#f3f4fd", "#ccd2fa", "#97a1f0", "#5c60d9", "#3a33a8", "#1e1a5c"),
    ("first", "dark"): ("#1d2131", "#30376a", "#4d55ab", "#7c87e6", "#b0bafc", "#e3e7ff"),
    ("second", "light"): ("#fcf4ed", "#fad9ba", "#f1aa6b", "#d0712c", "#974711", "#572507"),
    ("second", "dark"): ("#251e19", "#533623", "#8a5528", "#c9813c", "#f1b976", "#ffe9cc"),
    ("for", "light"): ("#eff8f3", "#c2e7d2", "#81caa4", "#35996a", "#11704a", "#083d28"),
    ("for", "dark"): ("#17231e", "#1f4635", "#2d7152", "#46a97a", "#83d8b0", "#cef6e2"),
    ("against", "light"): ("#fdf1f5", "#f9cddb", "#ef97b2", "#cf5480", "#98265a", "#571033"),
    ("against", "dark"): ("#27191f", "#55283b", "#8d3d60", "#ce678f", "#f3a5c1", "#ffe0eb"),
}
_INKS = ("#191626", "#ffffff")
_DARKEST = "#000000"
LEAST_CONTRAST = 4.5
"""What small text needs to be readable (WCAG 2.1, level AA)."""
_PREFIX: dict[Hue, str] = {"first": "a", "second": "b", "for": "p", "against": "c"}


def level_of(weight: float) -> int:
    """The step of the ramp that stands for a weight.

    >>> [level_of(weight) for weight in (0.0, 0.1, 0.5, 1.0)]
    [0, 5, 15, 24]
    """
    return round(NUM_LEVELS * float(min(max(weight, 0.0), 1.0) ** EXPONENT))


def level_class(hue: Hue, weight: float) -> str:
    """The CSS class of an area that shows a weight; `ink-` before it is the class of text on it.

    >>> level_class("second", 0.5)
    'b15'
    """
    return f"{_PREFIX[hue]}{level_of(weight)}"


def ramp(hue: Hue, scheme: Scheme) -> list[str]:
    """The colour of each level, from a weight of 0 to one of 1.

    >>> ramp("first", "light")[0], ramp("first", "light")[-1]
    ('#f3f4fd', '#1e1a5c')
    """
    stops = np.array([_channels(stop) for stop in _STOPS[hue, scheme]])
    places = np.linspace(0, len(stops) - 1, NUM_LEVELS + 1)
    mixed = [np.interp(places, np.arange(len(stops)), channel) for channel in stops.T]
    return [
        "#" + "".join(f"{round(value):02x}" for value in colour) for colour in np.transpose(mixed)
    ]


def reason_hue(strength: float) -> Hue:
    """The hue of a word that speaks for the answer, or against it.

    >>> reason_hue(0.3), reason_hue(-0.3)
    ('for', 'against')
    """
    return "for" if strength >= 0 else "against"


def ink_on(colour: str) -> str:
    """Nearly black or white, whichever is more readable on a colour; black where neither is.

    >>> ink_on("#f3f4fd"), ink_on("#1e1a5c"), ink_on("#787878")
    ('#191626', '#ffffff', '#000000')
    """
    best = max(_INKS, key=lambda ink: contrast(ink, colour))
    return best if contrast(best, colour) >= LEAST_CONTRAST else _DARKEST


def contrast(one: str, other: str) -> float:
    """How well one colour reads on another, from 1 to 21 (WCAG 2.1, contrast ratio).

    >>> round(contrast("#000000", "#ffffff"))
    21
    """
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """How bright a colour looks, from 0 to 1 (WCAG 2.1, relative luminance)."""
    values = _channels(colour) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def ramp_css() -> str:
    """CSS classes for areas and for the text on them, in every ramp and both schemes."""
    return f"{_rules('light')}@media (prefers-color-scheme: dark) {{\n{_rules('dark')}}}\n"


def _rules(scheme: Scheme) -> str:
    lines = []
    for hue, prefix in _PREFIX.items():
        for level, colour in enumerate(ramp(hue, scheme)):
            ink = ink_on(colour)
            lines.append(f".{prefix}{level}{{fill:{colour};background-color:{colour}}}")
            lines.append(f".ink-{prefix}{level}{{fill:{ink};color:{ink}}}")
    return "\n".join(lines) + "\n"


def _channels(colour: str) -> NDArray[np.float64]:
    return np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)], dtype=np.float64)
