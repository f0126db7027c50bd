"""The script that mines pairs of any texts by the vectors of a sentence encoder."""

import json
import sys

import numpy as np
import pytest
import torch
from mine import Mix, TextGuard, main, mine_pairs, nearest

from small_sentence_encoders import make_sentence_encoder, random_sentences


def drawn(count: int, seed: int = 0) -> torch.Tensor:
    made = torch.randn(count, 6, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.normalize(made, dim=-1)


@pytest.mark.parametrize(
    ("mix", "ranks"), [(Mix(near=2, middle=0, far=0), range(3)),
                       (Mix(near=0, middle=2, far=0), range(3, 30))],
)  # fmt: skip
def test_neighbours_come_from_their_ranks(mix, ranks):
    vectors = drawn(60)
    order, _ = nearest(vectors, 59)
    rank = {(one, int(other)): r for one, row in enumerate(order) for r, other in enumerate(row)}
    pairs = mix.pairs(vectors, np.random.default_rng(1))
    assert 60 <= len(pairs) <= 120
    assert all(rank[pair] in ranks or rank[pair[::-1]] in ranks for pair in pairs)
    assert len({frozenset(pair) for pair in pairs}) == len(pairs)


def test_the_same_seed_mines_the_same_pairs_and_both_orders_occur():
    vectors = drawn(200)
    one, again, other = (Mix().pairs(vectors, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one == again != other
    assert 0.3 < np.mean([first < second for first, second in one]) < 0.7
    cosines = [float(vectors[first] @ vectors[second]) for first, second in one]
    assert min(cosines) < 0 < 0.8 < max(cosines)


def test_few_or_equal_texts_are_no_trouble():
    random = np.random.default_rng(1)
    assert Mix().pairs(drawn(1), random) == []
    assert Mix(far=0).pairs(drawn(2), random) in ([(0, 1)], [(1, 0)])
    assert all(one != other for one, other in Mix().pairs(torch.ones(9, 3), random))


def test_only_a_chunk_is_read_at_a_time():
    read, encoded = [], []

    def texts():
        for number in range(25):
            read.append(number)
            yield f"text {number}"

    def encode(some):
        encoded.append(len(some))
        return drawn(len(some), len(encoded)).numpy()

    mined = mine_pairs(texts(), encode, Mix(), chunk=10)
    first, second = (int(text.split()[1]) for text in next(mined))
    assert len(read) == 10
    assert max(first, second) < 10
    rest = list(mined)
    assert encoded == [10, 10, 5]
    assert all(int(one.split()[1]) // 10 == int(other.split()[1]) // 10 for one, other in rest)


def test_texts_that_are_measured_with_are_left_out(tmp_path):
    table = tmp_path / "test.tsv"
    table.write_text("sentence1\tsentence2\tlabel\nWhy me ?\tHow so?\t1\n", encoding="utf-8")
    (tmp_path / "more.txt").write_text("To be!\n", encoding="utf-8")
    guard = TextGuard([table, tmp_path / "more.txt"])
    probed = max(guard.probed, key=len)
    given = ["why me?", "HOW  SO", "to be", probed, "a  man", "A man", "", "else"]
    assert list(guard.passed(given)) == ["a man", "else"]
    assert guard.num_dropped == 4


def test_from_texts_to_a_file_of_pairs(tmp_path, monkeypatch, capsys):
    make_sentence_encoder(tmp_path / "encoder", output_size=24)
    texts = [f"{text} {number}" for number, text in enumerate(random_sentences(80))]
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    (tmp_path / "held.txt").write_text(texts[0] + "\n", encoding="utf-8")
    words = ["mine.py", "texts", "--encoder", str(tmp_path / "encoder"), "--count", "100"]
    for name in ("texts", "held-out", "output"):
        file = {"texts": "texts.txt", "held-out": "held.txt", "output": "mined.jsonl"}[name]
        words += [f"--{name}", str(tmp_path / file)]
    monkeypatch.setattr(sys, "argv", words)
    main()
    lines = (tmp_path / "mined.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 100
    assert all({row["sentence1"], row["sentence2"]} <= set(texts[1:]) for row in rows)
    assert "79 texts, 1 held out" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", [*words[:2], *words[2:4], "--output", "x"])
    with pytest.raises(SystemExit):
        main()
