"""What a package of a model says about itself, taken from the model's card and config."""

import json
import re
from dataclasses import dataclass
from keyword import iskeyword

from softquery import __version__
from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.zoo import IN_MODELS_PACKAGE, MODELS_PACKAGE, entries
from softquery.zoo.glance import split_card
from softquery.zoo.packages import GROUP

PREFIX = "softquery-model-"
FIRST_VERSION = "1.0"
"""Of a model whose card states none."""
PYTHON = ">=3.10"
_PACKAGE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_NUMBER = r"(0|[1-9]\d{0,8})"
_VERSION = re.compile(
    rf"{_NUMBER}(\.{_NUMBER}){{0,9}}((a|b|rc){_NUMBER})?(\.post{_NUMBER})?(\.dev{_NUMBER})?"
    r"(\+[a-z0-9]{1,40}(\.[a-z0-9]{1,40}){0,4})?",
    re.ASCII,
)
"""Versions as PEP 440 spells them in full."""
_LICENCES = (
    "AFL-3.0", "Apache-2.0", "Artistic-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC-BY-2.0",
    "CC-BY-2.5", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-NC-2.0", "CC-BY-NC-3.0", "CC-BY-NC-4.0",
    "CC-BY-NC-ND-3.0", "CC-BY-NC-ND-4.0", "CC-BY-NC-SA-2.0", "CC-BY-NC-SA-3.0", "CC-BY-NC-SA-4.0",
    "CC-BY-ND-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC0-1.0", "ECL-2.0", "EPL-1.0", "EPL-2.0",
    "EUPL-1.1", "EUPL-1.2", "ISC", "MIT", "MPL-2.0", "MS-PL", "NCSA", "ODbL-1.0", "OFL-1.1",
    "PDDL-1.0", "PostgreSQL", "Unlicense", "WTFPL", "Zlib",
)  # fmt: skip
_SPDX = {name.lower(): name for name in _LICENCES} | {
    **{
        f"{name}-{v}": f"{name.upper()}-{v}-only"
        for name in ("gpl", "agpl")
        for v in ("2.0", "3.0")
    },
    **{f"lgpl-{v}": f"LGPL-{v}-only" for v in ("2.1", "3.0")},
    "odbl": "ODbL-1.0",
    "odc-by": "ODC-By-1.0",
    "pddl": "PDDL-1.0",
}
"""From the names that model hubs use to those of SPDX."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageFacts:
    """What a package says about itself.

    Attributes:
        model: The name by which its model is loaded.
        package: The name of the distribution.
        version: As PEP 440 has it.
        summary: One line.
        licence: An expression of SPDX; None where the card states no licence.
        requires: The packages that it needs.
        keywords: What it is found by.
        description: The card, in Markdown, without its front matter.
    """

    model: str
    package: str
    version: str
    summary: str
    licence: str | None
    requires: tuple[str, ...]
    keywords: tuple[str, ...]
    description: str

    @property
    def module(self) -> str:
        """The Python package inside, which holds the model's folder and is never imported."""
        name = _normalised(self.package).replace("-", "_")
        return name if name.isidentifier() and not iskeyword(name) else f"models_{name}"

    @property
    def stem(self) -> str:
        """How the names of its files begin."""
        return f"{_normalised(self.package).replace('-', '_')}-{self.version}"

    @property
    def init(self) -> str:
        """The text of its `__init__.py`."""
        return f'"""{self.model}, a model for softquery. Nothing here is ever imported."""\n'


def describe(
    bundle: Bundle, model: str, *, package: str | None, version: str | None
) -> PackageFacts:
    """Take a package's facts from a bundle.

    Args:
        bundle: The model.
        model: What it is called.
        package: The name of the distribution; `softquery-model-` and the model's name by default.
        version: The version; by default that of the card's front matter, or 1.0.
    """
    settings, body = split_card(bundle.card)
    chosen = package or f"{PREFIX}{model}".rstrip("_-")
    if not _PACKAGE.fullmatch(chosen) or _normalised(chosen) in ("softquery", MODELS_PACKAGE):
        raise BundleError(f"a package cannot be called {chosen!r:.100}; see --package")
    number = version or settings.get("version", FIRST_VERSION)
    if not _VERSION.fullmatch(number):
        raise BundleError(
            f"{number!r:.80} is no version that pip knows, such as 1.0 or 2.1.post1; see --version"
        )
    prose = (line.strip() for line in body.splitlines())
    summary = next((line for line in prose if line and not line.startswith("#")), "")
    return PackageFacts(
        model=model,
        package=chosen,
        version=number,
        summary=_plain_line(summary)[:500] or f"{model}, a model for softquery",
        licence=spdx(settings.get("license_name", settings.get("license", ""))),
        requires=tuple(_requires(bundle)),
        keywords=("softquery", bundle.config.kind),
        description="".join(m if m == "\n" or m.isprintable() else " " for m in body).strip()
        + "\n",
    )


def spdx(licence: str) -> str | None:
    """A licence as SPDX writes it; what SPDX does not list becomes a reference of its own.

    >>> [spdx(name) for name in ("apache-2.0", "gpl-3.0", "research only", "")]
    ['Apache-2.0', 'GPL-3.0-only', 'LicenseRef-research-only', None]
    """
    known = _SPDX.get(licence.strip().lower())
    if known is not None:
        return known
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", licence).strip("-.")[:80]
    return f"LicenseRef-{slug}" if slug else None


def _requires(bundle: Bundle) -> list[str]:
    """The softquery that reads the bundle, and the package of the bundle that it stands on."""
    major, minor = (int(part) for part in __version__.split(".")[:2])
    newer = f"{major}.{minor + 1}" if major == 0 else f"{major + 1}"
    needed = [f"softquery>={major}.{minor},<{newer}"]
    base = bundle.config.base
    if base is None:
        return needed
    owner = next((entry.package for entry in entries() if entry.name == base), "")
    if base in IN_MODELS_PACKAGE:
        owner = MODELS_PACKAGE
    name = owner.partition(" ")[0]
    return [*needed, name] if name not in ("", "softquery") else needed


def metadata(facts: PackageFacts, legal: list[str]) -> str:
    """The METADATA of a wheel (version 2.4, PEP 639); `legal` names its files of licences."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {facts.package}",
        f"Version: {facts.version}",
        f"Summary: {facts.summary}",
        *([] if facts.licence is None else [f"License-Expression: {facts.licence}"]),
        *(f"License-File: {name}" for name in legal),
        f"Keywords: {','.join(facts.keywords)}",
        f"Requires-Python: {PYTHON}",
        *(f"Requires-Dist: {each}" for each in facts.requires),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines) + "\n\n" + facts.description


def project_file(facts: PackageFacts, legal: list[str]) -> str:
    """The `pyproject.toml` of the package's source folder."""

    def quoted(value: object) -> str:  # strings and lists of JSON are those of TOML
        return json.dumps(value, ensure_ascii=False)

    licence = [] if facts.licence is None else [f"license = {quoted(facts.licence)}"]
    return "\n".join(
        [
            "[build-system]",
            'requires = ["hatchling>=1.27"]',
            'build-backend = "hatchling.build"',
            "",
            "[project]",
            f"name = {quoted(facts.package)}",
            f"version = {quoted(facts.version)}",
            f"description = {quoted(facts.summary)}",
            'readme = "README.md"',
            *licence,
            *([f"license-files = {quoted(legal)}"] if legal else []),
            f"requires-python = {quoted(PYTHON)}",
            f"keywords = {quoted(list(facts.keywords))}",
            f"dependencies = {quoted(list(facts.requires))}",
            "",
            f'[project.entry-points."{GROUP}"]',
            f"{quoted(facts.package)} = {quoted(facts.module)}",
            "",
            "[tool.hatch.build]",
            'dev-mode-dirs = ["src"]',
            "",
            "[tool.hatch.build.targets.wheel]",
            f"packages = [{quoted(f'src/{facts.module}')}]",
            "",
        ]
    )


def _normalised(package: str) -> str:
    """The name of a distribution as indexes of packages compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", package).lower()


def _plain_line(text: str) -> str:
    """One line of what can be printed."""
    return "".join(mark for mark in " ".join(text.split()) if mark.isprintable())
