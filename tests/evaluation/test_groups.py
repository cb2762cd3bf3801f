"""Scores of groups: of every seed, and in the reports."""

import json

import numpy as np
import pytest

from wenmai.evaluation.groups import group_scores


def terms(*right: int) -> np.ndarray:
    return np.stack(
        [np.array(right, float), np.ones(len(right))], 1
    )  # (N, 2): above and below the line


def test_the_score_of_a_group_is_the_mean_over_seeds():
    seeds, groups = [terms(1, 1, 0, 0), terms(1, 0, 1, 0), terms(0, 0, 1, 0)], ["a", "a", "b", "b"]
    found = group_scores(seeds, groups, "accuracy")
    assert [(one["group"], one["rows"]) for one in found] == [("a", 2), ("b", 2)]
    assert [one["score"] for one in found] == pytest.approx(
        [(1 + 0.5 + 0) / 3, (0 + 0.5 + 0.5) / 3]
    )
    assert group_scores(seeds, None, "accuracy") is None


@pytest.mark.slow
def test_compare_with_seeds_scores_the_groups_of_all_of_them(tmp_path, monkeypatch):
    """The groups of every seed come to its score, and their mean, weighed by rows, to that on the leaderboard: it was that of the
    first seed alone."""
    from wenmai import compare
    from wenmai.evaluation import compare as comparing

    chance, places = np.random.default_rng(0), ["home", "out"]
    rows = [
        {
            "context": f"{name} went {place}.",
            "question": "Who?",
            "choices": places,
            "answer": answer,
            "group": "ab"[row % 2],
        }
        for row, (name, place, answer) in enumerate(
            zip(
                *(
                    chance.choice(words, 120).tolist()
                    for words in (["Mary", "John"], places, places)
                )
            )
        )
    ]
    (tmp_path / "asked.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.chdir(tmp_path)
    passed = []
    monkeypatch.setattr(
        comparing,
        "group_scores",
        lambda seeds, *more: passed.append(seeds) or group_scores(seeds, *more),
    )
    made = compare("asked.jsonl", minutes=0.1, rungs=["mlp"], seeds=3).report
    row, metric = made["rungs"][0], made["metric"]
    (seeds,) = (one for one in passed if len(one) > 1)
    assert row["failed"] is None and [
        one[:, 0].sum() / one[:, 1].sum() for one in seeds
    ] == pytest.approx(row["seed_scores"])
    mean = sum(one["rows"] * one["score"] for one in row["groups"]) / sum(
        one["rows"] for one in row["groups"]
    )
    assert mean == pytest.approx(row["scores"]["test"][metric])
