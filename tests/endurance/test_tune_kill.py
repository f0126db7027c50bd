"""kill -9 at random moments of `softquery tune`: what was there before, or the whole tuning."""

import random
import subprocess
import sys
import time

import pytest

from softquery import Index
from softquery.files import read_rows

KILLS = 12
SEED = 1
FAQ = "examples/shop_faq.csv"
QUERIES = "examples/shop_queries_en.tsv"


@pytest.mark.parametrize("is_labelled", [True, False])
def test_every_kill_leaves_the_old_index_or_the_new_one(is_labelled, tmp_path):
    place = tmp_path / "faq.sq"
    columns = {"question": "question_en", "answer": "answer_en"}
    Index.build(FAQ, place, model="match-en", columns=columns)
    asked = [row.values["query"] for row in read_rows(QUERIES, columns=("query",))]
    (tmp_path / "log.txt").write_text("\n".join(asked), encoding="utf-8")
    queries = asked[:5]

    def answers() -> list[list[float]]:
        index = Index.open(place)
        return [[hit["score"] for hit in index.search(each, min_score=0.0)] for each in queries]

    command = [sys.executable, "-m", "softquery", "tune", str(place)]
    tune = [*command, "--queries", QUERIES if is_labelled else str(tmp_path / "log.txt"), "--force"]
    before, start = answers(), time.perf_counter()
    subprocess.run(tune, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    after = answers()
    assert after != before
    draw, num_tuned = random.Random(SEED), 0
    for _ in range(KILLS):
        subprocess.run([*command, "--undo"], check=False)
        process = subprocess.Popen(tune, stdout=subprocess.DEVNULL)
        # most of a run is searching and fitting: the last tenth is looked at most closely
        time.sleep(seconds * draw.choice([draw.uniform(0, 1), draw.uniform(0.85, 1.05)]))
        process.kill()
        process.wait()
        is_tuned = Index.open(place).tuning is not None
        num_tuned += is_tuned
        assert answers() == (after if is_tuned else before)
    print(f"tuned after {num_tuned} of {KILLS} kills")
