"""Trials of hostile model folders: a sound bundle is spoilt, opened, asked, and looked at."""

import random
import shutil
from collections.abc import Mapping
from pathlib import Path

from bundle_mutations import mutate
from hostile_children import SERVED, Children

WAYS = {SERVED: 1, "torch": 2, "onnx": 17}
"""How a folder is opened, with their shares."""


def fault_of(seed: int, bundles: Mapping[str, Path], place: Path, children: Children) -> str | None:
    """What a trial did that it must not do; None where it answered, or refused in one line.

    Args:
        seed: Decides which bundle is spoilt, and how.
        bundles: Sound ones, by their kinds.
        place: An empty folder, which is left empty.
        children: Open what was spoilt.
    """
    draw = random.Random(seed)
    kind = draw.choice(sorted(bundles))
    model, outside = place / "model", place / "outside"
    shutil.copytree(bundles[kind], model)
    shutil.copytree(bundles[kind], outside / "sound")
    (outside / "canary.txt").write_text("untouched")
    told = mutate(model, draw)
    way = draw.choices(list(WAYS), weights=list(WAYS.values()))[0]
    before = _seen(outside), _seen(model)
    outcome = children.open(model, way)
    fault = None if outcome.end in ("answered", "refused") else f"{outcome.end}: {outcome.said}"
    if before != (_seen(outside), _seen(model)) or len(list(place.iterdir())) != 2:
        fault = "files were touched"
    for each in (model, outside):
        shutil.rmtree(each)
    return None if fault is None else f"seed {seed}, {kind}, {way}: {told}: {fault}"


def _seen(folder: Path) -> dict[str, tuple[int, int]]:
    """Every entry of a tree with its size and time."""
    found = {}
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        found[str(path)] = (facts.st_size, facts.st_mtime_ns)
    return found
