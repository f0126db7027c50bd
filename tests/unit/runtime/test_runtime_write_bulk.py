"""Sources that cannot keep to what is asked are named by their row, or left out."""

import pytest

pytest.importorskip("torch", reason="random weights need the extra [train]")

from small_writers import make_writer
from softquery.decoding import Greedy
from softquery.errors import InputError
from softquery.files import Row
from softquery.runtime import Request, load_writer
from softquery.runtime.write_bulk import WriteAnswers

ROWS = [
    Row(values={"source": text}, source="lines.txt", number=number)
    for number, text in enumerate(["w1 w2", "w3", "w4 w5"], 1)
]


@pytest.fixture(scope="module")
def poet(tmp_path_factory):
    return load_writer(
        make_writer(tmp_path_factory.mktemp("poet") / "b", "seq2seq", form="couplet")
    )


def answers(poet, **asked):
    return WriteAnswers(poet, Request(strategy=Greedy(), **asked))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"prefix": "w3"}, "the prefix 'w3' breaks the rules at its token 'w3'"),
        ({"required": ("w3",)}, "token 'w3' is required, but may not come"),
        ({"prefix": "w8 w9"}, "the prefix has 2 tokens, more than the longest length, 1"),
    ],
    ids=str,
)
def test_a_source_that_contradicts_what_is_asked_is_named(poet, asked, said):
    with pytest.raises(InputError) as caught:
        list(answers(poet, **asked).fitting(ROWS))
    assert str(caught.value) == f"lines.txt, row 2: {said}"
    told = []
    kept = list(answers(poet, **asked).fitting(ROWS, told.append))
    assert [row.number for row in kept] == [1, 3]
    assert [(error.row, error.message) for error in told] == [(2, said)]
    assert len(list(answers(poet, **asked).lines(kept))) == 2


def test_words_that_no_source_could_keep_to_stop_the_run(poet):
    with pytest.raises(InputError, match="^banned: the model's vocabulary does not hold 'zebra'"):
        list(answers(poet, banned=("zebra",)).fitting(ROWS, lambda error: None))
