"""Draw the picture at the head of the README: which words of two sentences attended to which.

python docs/figures/alignment.py --output docs/figures/alignment.svg
"""

import argparse
from pathlib import Path

import softquery

PREMISE = "Two dogs are running through a field."
HYPOTHESIS = "Some animals are outdoors."


def main() -> None:
    """Ask the shipped model, and draw its alignment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    softquery.load("nli-en").explain(PREMISE, HYPOTHESIS).plot(parser.parse_args().output)


if __name__ == "__main__":
    main()
