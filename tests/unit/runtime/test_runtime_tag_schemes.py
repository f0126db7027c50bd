"""A few slips are told, a mixture of schemes is refused."""

import pytest

from softquery.errors import InputError
from softquery.files import TaggedSentence
from softquery.runtime.tag.scheme_detection import written_scheme

SOUND = ["I-PER", "I-PER", "O"]
SLIP = ["B-PER", "O", "O"]


def sentences(*every):
    return [
        TaggedSentence(tokens=["a"] * 3, tags=tags, rows=[4 * n + 1, 4 * n + 2, 4 * n + 3],
                       source="a.conll")
        for n, tags in enumerate(every)
    ]  # fmt: skip


def test_one_scheme():
    assert written_scheme(sentences(SOUND, SOUND), otherwise="") == ("iob1", None)
    assert written_scheme(sentences(["O", "O", "O"]), otherwise="") == ("plain", None)


@pytest.mark.parametrize(("sound", "slips"), [(30, 1), (297, 3)])
def test_a_few_slips_are_told(sound, slips):
    found = written_scheme(sentences(*[SOUND] * sound, *[SLIP] * slips), otherwise="")
    assert found.scheme == "iob1"
    many = "1 sentence" if slips == 1 else f"{slips} sentences"
    assert found.warning.startswith(f"warning: {many} of {sound + slips} not as iob1 writes them; ")
    assert found.warning.endswith(f"row {4 * sound + 1}: 'B-PER' stands where iob1 has 'I-PER'")


def test_a_mixture_is_refused():
    rows = sentences(*[SOUND] * 30, *[SLIP] * 2)
    said = r"^a\.conll, row 121: tags of several schemes: 'B-PER' stands where iob1 .*; say iob1$"
    with pytest.raises(InputError, match=said):
        written_scheme(rows, otherwise="say {scheme}")
