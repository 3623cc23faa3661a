"""Seeded lists for the ranking losses: lengths 1 to 40, grades, binary and distinct labels, ties, large scores.

Scores are multiples of 1/64, so that peers that compute in 32 bits see the same numbers.
"""

import numpy as np

SEED = 9

# Groups of the names below.
ANY = ("one item", "two items", "graded 5", "graded 13", "graded 40", "two grades, none 0", "tied scores", "large scores")
WITH_PAIRS = ANY[1:]
NO_TIED_SCORES = tuple(name for name in WITH_PAIRS if name != "tied scores")
BATCH = ("graded 5", "binary 10", "tied scores")


def _scores(draw, length, spread=1.5):
    return np.round(draw.normal(size=length) * spread * 64) / 64


def _distinct_scores(draw, length, spread=1.5):
    """Without ties, and without two items exactly 1 apart, where a hinge with margin 1 has its kink."""
    while True:
        scores = _scores(draw, length, spread)
        gaps = np.abs(scores[:, None] - scores[None, :])[~np.eye(length, dtype=bool)]
        if not np.any((gaps == 0) | (gaps == 1)):
            return scores


def _binary(draw, length, relevant):
    labels = np.zeros(length)
    labels[draw.choice(length, relevant, replace=False)] = 1
    return labels


def make():
    """Name → {"scores", "labels"}; the same lists on every machine."""
    draw = np.random.default_rng(SEED)
    grades = lambda length: draw.choice(5, size=length, p=(0.45, 0.25, 0.15, 0.1, 0.05)).astype(float)
    lists = {
        "one item": (_scores(draw, 1), np.array([2.0])),
        "two items": (np.array([-0.25, 0.5]), np.array([1.0, 0.0])),
        "graded 5": (_distinct_scores(draw, 5), np.array([0.0, 3.0, 1.0, 0.0, 2.0])),
        "graded 13": (_distinct_scores(draw, 13), grades(13)),
        "graded 40": (_distinct_scores(draw, 40, 4.0), grades(40)),
        "binary 10": (_distinct_scores(draw, 10), _binary(draw, 10, 3)),
        "binary 24": (_distinct_scores(draw, 24, 2.5), _binary(draw, 24, 5)),
        "single relevant": (_distinct_scores(draw, 9), _binary(draw, 9, 1)),
        "distinct labels": (_distinct_scores(draw, 12), draw.permutation(12) / 4),
        "two grades, none 0": (_distinct_scores(draw, 8), np.array([1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0])),
        "tied scores": (draw.choice([-0.75, 0.0, 0.5], size=9), np.array([0.0, 2.0, 1.0, 0.0, 3.0, 0.0, 1.0, 0.0, 2.0])),
        "large scores": (_distinct_scores(draw, 7, 8.0), np.array([2.0, 0.0, 1.0, 0.0, 4.0, 1.0, 0.0])),
        "huge scores": (_distinct_scores(draw, 6, 300.0), np.array([0.0, 3.0, 1.0, 0.0, 0.0, 2.0])),
    }
    return {name: {"scores": scores.tolist(), "labels": labels.tolist()} for name, (scores, labels) in lists.items()}


def distinct(one):
    """The same scores with distinct labels: the best item gets the length, the last 1, equal ones by their place."""
    labels = np.empty(len(one["labels"]))
    labels[np.argsort(-np.array(one["labels"]), kind="stable")] = np.arange(len(labels), 0, -1)
    return {"scores": one["scores"], "labels": labels.tolist()}


def ideal_dcg(one):
    return sum((2.0**y - 1) / np.log2(2 + at) for at, y in enumerate(sorted(one["labels"], reverse=True)))


def padded(lists, fill):
    """Score and label matrices with one row per list, and which cells are items."""
    longest = max(len(one["scores"]) for one in lists)
    matrix = lambda key, empty: np.array([one[key] + [empty] * (longest - len(one[key])) for one in lists])
    labels = matrix("labels", np.nan)
    return matrix("scores", 0.0), np.where(np.isnan(labels), fill, labels), ~np.isnan(labels)


def unpadded(gradient, lists):
    return [row[: len(one["scores"])].tolist() for row, one in zip(np.asarray(gradient), lists)]
