"""The runs of one recipe with different seeds, of which one is shipped."""

import json
from collections.abc import Collection, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from softquery.bundle import RECORDS, Bundle, read_bundle
from softquery.bundle.config import read_object
from softquery.errors import BundleError, ConfigError, InputError
from softquery.recipes import BertRun, ElmoRun

SETTINGS = "run.json"
OWN_WORDS = ("name", "summary")
"""Settings that change no weight."""


@dataclass(frozen=True, slots=True)
class SeedRun:
    """One trained bundle."""

    bundle: Bundle
    seed: str
    settings: dict[str, Any]
    """Its `run.json`; empty where there is none."""


def read_runs(paths: Sequence[Path], *, kind: str, labels: Sequence[str] = ()) -> list[SeedRun]:
    """Open the bundles, after checking that they are float32 runs of this kind and these labels."""
    runs = [_read(path, kind) for path in paths]
    for run in runs:
        found = tuple(run.bundle.config.task.get("labels", ()))
        if labels and found != tuple(labels):
            raise BundleError(
                f"{run.bundle.path}: expected the labels {tuple(labels)}, found {found}"
            )
    seeds = [run.seed for run in runs]
    if len(set(seeds)) < len(seeds):
        raise InputError(f"expected different seeds, got {', '.join(seeds)}")
    return runs


def _read(path: Path, kind: str) -> SeedRun:
    bundle = read_bundle(path)
    if bundle.config.kind != kind:
        raise BundleError(f"{path}: expected a {kind}, found kind {bundle.config.kind!r}")
    if bundle.metrics.get("export", {}).get("precision") == "int8":
        raise BundleError(f"{path}: is int8 already; expected what training wrote")
    seed = bundle.metrics.get("training", {}).get("seed", path.name)
    return SeedRun(bundle, str(seed), read_settings(bundle))


def read_settings(bundle: Bundle) -> dict[str, Any]:
    """The `run.json` of a bundle; empty where there is none."""
    path = bundle.path / RECORDS / SETTINGS
    return read_object(path) if path.is_file() else {}


def recipe_settings(
    bundle: Bundle, wanted: ElmoRun | BertRun, *, aside: Collection[str] = ()
) -> dict[str, Any]:
    """A recipe's settings, if the bundle's run had the same ones.

    A setting that is younger than the run is not in its record: the run had what is the default.

    Args:
        bundle: What training wrote, or an export of it.
        wanted: The recipe.
        aside: Settings that may differ because something else vouches for them.
    """
    found, plain = read_settings(bundle), json.loads(json.dumps(wanted.to_dict()))
    if not found:
        raise BundleError(f"{bundle.path}: has no {RECORDS}/{SETTINGS} to compare with the recipe")
    compared = [key for key in plain if key not in (*OWN_WORDS, *aside)]
    ours = _flat({key: plain[key] for key in compared})
    theirs = _flat({key: found[key] for key in compared if key in found})
    theirs = {**_defaults(wanted, set(ours) - set(theirs)), **theirs}
    for key in dict.fromkeys([*ours, *theirs]):
        if key not in ours or key not in theirs or theirs[key] != ours[key]:
            raise ConfigError(
                f"{bundle.path}: {key} is not that of the recipe {plain['name']}: "
                f"{theirs.get(key)} ≠ {ours.get(key)}"
            )
    return dict(plain)


def _defaults(config: Any, wanted: Collection[str], prefix: str = "") -> dict[str, Any]:
    """What settings are unless they are given, of those that are wanted and have a default."""
    found: dict[str, Any] = {}
    for each in fields(config):
        value, name = getattr(config, each.name), f"{prefix}{each.name}"
        if is_dataclass(value):
            found |= _defaults(value, wanted, f"{name}.")
        elif name in wanted and each.default is not MISSING:
            found[name] = json.loads(json.dumps(each.default))
    return found


def differing_settings(runs: Sequence[SeedRun]) -> list[str]:
    """Settings other than the seed in which the runs differ, as runs of one recipe should not."""
    flat = [_flat(without_paths(run.settings)) for run in runs]
    keys = sorted({key for settings in flat for key in settings} - {"training.seed"})
    return [
        f"the runs differ in {key}, not only in their seed"
        for key in keys
        if len({repr(settings.get(key)) for settings in flat}) > 1
    ]


def without_paths(value: Any) -> Any:
    """Settings in which every file is only its last name: folders of one machine help nobody else.

    >>> without_paths({"vectors": ["vectors/glove.bin"], "name": "a/b"})
    {'vectors': ['glove.bin'], 'name': 'a/b'}
    """
    if isinstance(value, dict):
        return {
            key: [Path(name).name for name in each] if key == "vectors" else without_paths(each)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [without_paths(each) for each in value]
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {prefix.rstrip("."): value}
    return {
        key: each
        for name, part in value.items()
        for key, each in _flat(part, f"{prefix}{name}.").items()
    }
