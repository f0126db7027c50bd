"""Draw where `couplet-zh` looks while it answers a line of Li Bai's.

python docs/figures/couplet_alignment.py --output docs/figures/couplet-alignment.svg
"""

import argparse
from pathlib import Path

import softquery

UPPER = "三山半落青天外"


def main() -> None:
    """Ask the shipped model, and draw its attention to the upper line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    softquery.load("couplet-zh").explain(UPPER).plot(parser.parse_args().output)


if __name__ == "__main__":
    main()
