"""Ranker.fit(pairs=…): preference pairs in place of labels."""

import numpy as np
import pytest

import toprank


def pairs_of(y, sizes):
    """The pairs that labels imply, as rows of X."""
    pairs, first = [], 0
    for size in sizes:
        rows = range(first, first + size)
        pairs += [(i, j) for i in rows for j in rows if y[i] > y[j]]
        first += size
    return np.array(pairs)


@pytest.mark.parametrize("model", [{"model": "trees", "trees": 5}, {"model": "linear", "epochs": 3}])
def test_the_pairs_of_the_labels_train_the_model_of_the_labels(lists, model):
    X, y, sizes = lists()
    labels = toprank.Ranker(**model, objective="ranknet").fit(X, y, group=sizes).predict(X, group=sizes)
    pairs = pairs_of(y, sizes)
    ranker = toprank.Ranker(**model).fit(X, None, group=sizes, pairs=pairs)
    assert ranker.config_["objective"] == "ranknet"
    np.testing.assert_allclose(ranker.predict(X, group=sizes), labels, atol=1e-3 * np.abs(labels).max())
    # Weights as repetition; labels do not matter.
    weighted = np.column_stack([pairs, np.where(np.arange(len(pairs)) % 2, 2, 1)])
    repeated = np.concatenate([pairs, pairs[1::2]])
    scores = [toprank.Ranker(**model).fit(X, z, group=sizes, pairs=p) for z, p in [(y, weighted), (None, repeated)]]
    first, second = (ranker.predict(X, group=sizes) for ranker in scores)
    np.testing.assert_allclose(first, second, atol=1e-3 * np.abs(second).max())


def test_wrong_pairs_are_named(lists):
    X, y, sizes = lists()
    other = int(sizes[0])
    for pairs, words in [
        ([[0, other]], "expected two rows of the same list"),
        ([[0, len(y)]], "in pair 0, expected the number of a row"),
        ([[0, 0.5]], "expected the number of a row"),
        ([[0, 0]], "two different items"),
        ([[0, 1, -1]], "finite weights"),
        ([0, 1], "expected two columns"),
    ]:
        with pytest.raises(ValueError, match=words):
            toprank.Ranker("linear").fit(X, y, group=sizes, pairs=pairs)
    with pytest.raises(ValueError, match="lambdarank learns from labels"):
        toprank.Ranker("linear", "lambdarank").fit(X, y, group=sizes, pairs=[[0, 1]])
