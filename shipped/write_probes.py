"""Write the files of probes anew from their frames; the same frames give the same bytes.

python shipped/write_probes.py
"""

from pathlib import Path

import probe_match_en
import probe_match_zh
import probe_nli_en
from probe_frames import COLUMNS, Probe, draw_probes

from softquery.files import write_text

FOLDER = Path(__file__).parent / "probes"


def all_probes() -> dict[str, list[Probe]]:
    """The probes of each shipped model."""
    return {
        "nli-en": draw_probes(probe_nli_en.KINDS, symmetric=False),
        "match-en": draw_probes(probe_match_en.KINDS, symmetric=True),
        "match-zh": draw_probes(probe_match_zh.KINDS, symmetric=True),
    }


def to_tsv(probes: list[Probe]) -> str:
    """A table with a header."""
    rows = [COLUMNS, *((each.sentence1, each.sentence2, each.label, each.kind) for each in probes)]
    return "".join("\t".join(row) + "\n" for row in rows)


def main() -> None:
    """Write one file a model."""
    for name, probes in all_probes().items():
        write_text(FOLDER / f"{name}.tsv", to_tsv(probes))
        print(f"{name}: {len(probes)} probes")


if __name__ == "__main__":
    main()
