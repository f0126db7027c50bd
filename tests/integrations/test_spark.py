"""Spark runs the recipe of the documentation."""

import pytest
from bulk_recipes import check_answers, run_recipe

pytest.importorskip("pyspark", reason="needs pyspark")


@pytest.mark.timeout(600)
def test_the_recipe_gives_the_answers_of_the_model(tmp_path):
    check_answers(run_recipe("match_spark.py", tmp_path))
