"""A page says of every shipped model with how many seeds it was trained; the cards know."""

import re
from pathlib import Path

from softquery.bundle import read_bundle
from softquery.zoo import IN_MODELS_PACKAGE, packaged, shipped

PAGE = Path(__file__).resolve().parents[2] / "docs" / "shipped-models.md"
NUMBERS = {"one": 1, "two": 2, "three": 3}


def trained(card: str) -> int:
    """How many seeds a card lists."""
    for pattern in (r"\| seeds \| ([\d, ]+) \|", r"of all seeds, float32 \| (.*) \|"):
        if found := re.search(pattern, card):
            return len(re.findall(r"(?:^|[ ,])\d(?=[:,]| ?$)", found.group(1)))
    if found := re.search(r"\| seeds tried \| (\d+) \|", card):
        return int(found.group(1))
    assert re.search(r"\| seed \| \d+ \|", card)
    return 1


def test_the_page_counts_seeds_as_the_cards_do():
    text = " ".join(PAGE.read_text("utf-8").split())
    said = re.search(r"Seeds: (.*?);", text)
    assert said is not None
    counted = {}
    groups = r"((?:`[\w-]+`(?:, | and )?)+)\D*?with (one|two|three)"
    for names, number in re.findall(groups, said[1]):
        counted.update(dict.fromkeys(re.findall(r"`([\w-]+)`", names), NUMBERS[number]))
    entries = [*shipped(), *(each for each in packaged() if each.name in IN_MODELS_PACKAGE)]
    known = {each.name: trained(read_bundle(each.path).card) for each in entries}
    assert known
    assert counted == counted | known
