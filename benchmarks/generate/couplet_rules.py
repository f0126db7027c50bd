"""Do the couplets that people wrote keep the rules? The row that belongs into every table of rules.

    python benchmarks generate couplet_rules --couplets DIR

DIR holds train.tsv.xz and dev.tsv.xz of real couplets, `upper<TAB>lower`. Each rule is the metric
by which models are measured, applied to the true lower lines; intervals are Wilson's, 95 %. Written
to `couplet_rules.json`, no randomness. `repeats_where` splits the rule of repeats: a lower line
that takes a character of the upper one, one that repeats where the upper line does not, and the
reverse.
"""

import argparse
import json
import lzma
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from softquery.measure.generate_scores import (
    opposite_ends,
    repeats_rightly,
    same_length,
    same_signs,
)
from softquery.text.couplets import first_places, is_sign

HERE = Path(__file__).parent
RULES: dict[str, Callable[[str, str], bool | None]] = {
    "same_length": same_length,
    "same_signs": same_signs,
    "repeats_rightly": repeats_rightly,
    "opposite_ends": opposite_ends,
}


def pairs_of(path: Path) -> list[tuple[str, str]]:
    """Both lines of each couplet, as the benchmark of models prepares them."""
    found = []
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            sides = [side.strip() for side in line.rstrip("\n").split("\t")[:2]]
            if len(sides) == 2 and all(sides):
                found.append((sides[0], sides[1]))
    return found


def share(answers: list[bool | None]) -> dict[str, Any]:
    """The share of what applies, with Wilson's interval."""
    known = [each for each in answers if each is not None]
    n, right, z = len(known), sum(known), 1.96
    p = right / n
    centre, reach = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = ((centre + sign * reach) / (1 + z * z / n) for sign in (-1, 1))
    return {"share": round(p, 5), "low": round(low, 5), "high": round(high, 5), "n": n}


def broken_repeats(upper: str, lower: str) -> str:
    """What of the rule of repeats a pair breaks first."""
    if len(upper) != len(lower):
        return "not as long"
    if {each for each in upper if not is_sign(each)} & set(lower):
        return "takes a character of the upper line"
    above, below = first_places(upper), first_places(lower)
    if above == below:
        return "keeps it"
    repeats_below = any(
        b != place and b != a for place, (a, b) in enumerate(zip(above, below, strict=True))
    )
    return "repeats where the upper line does not" if repeats_below else "does not repeat with it"


def measured(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """All rules on all pairs."""
    rules = {name: share([rule(*pair) for pair in pairs]) for name, rule in RULES.items()}
    kept = [all(rule(*pair) is not False for rule in RULES.values()) for pair in pairs]
    where = Counter(broken_repeats(*pair) for pair in pairs)
    return {
        "n": len(pairs),
        **rules,
        "all_rules": share(list(kept)),
        "repeats_where": {name: round(n / len(pairs), 5) for name, n in where.most_common()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--couplets", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=HERE / "couplet_rules.json")
    options = parser.parse_args()
    splits = ("train", "dev")
    found = {name: measured(pairs_of(options.couplets / f"{name}.tsv.xz")) for name in splits}
    options.output.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    heads = (*(rule.replace("_", " ") for rule in RULES), "all of them")
    print(f"| true lower lines | couplets | {' | '.join(heads)} |")
    print("|---|---|---|---|---|---|---|")
    for name, row in found.items():
        cells = [f"{100 * row[rule]['share']:.1f}" for rule in (*RULES, "all_rules")]
        print(f"| {name} | {row['n']:,} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
