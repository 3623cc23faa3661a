"""What people expect of an estimator and of results in a notebook."""

import subprocess
import sys

import numpy as np
import pytest

import toprank

QUICK = dict(trees=6, leaves=6, seed=1)


@pytest.fixture(scope="module")
def split(lists):
    X, y, sizes = lists(40)
    V, v, of = lists(20, 2)
    return X, y, np.repeat(np.arange(len(sizes)), sizes), V, v, np.repeat(np.arange(len(of)), of)


@pytest.mark.parametrize("model", [dict(model="trees", **QUICK), dict(model="mlp:hidden=4", epochs=2, seed=1)])
def test_rows_of_a_list_may_stand_anywhere(split, model):
    X, y, q, V, v, w = split
    # Lists keep the order of their first rows, rows of a list their order: the library sees the same data.
    mixed = np.argsort(np.random.default_rng(1).permutation(len(y)) % 3, kind="stable")
    grouped = mixed[np.argsort([np.flatnonzero(q[mixed] == name)[0] for name in q[mixed]], kind="stable")]
    sorted_fit = toprank.Ranker(objective="ndcg@10", **model).fit(X[grouped], y[grouped], qid=q[grouped])
    mixed_fit = toprank.Ranker(objective="ndcg@10", **model).fit(X[mixed], y[mixed], qid=q[mixed])
    expected = sorted_fit.predict(V, qid=w)
    assert np.array_equal(mixed_fit.predict(V, qid=w), expected)
    back = np.random.default_rng(2).permutation(len(v))
    assert np.allclose(sorted_fit.predict(V[back], qid=w[back]), expected[back], atol=1e-6)
    plain = toprank.evaluate(v, expected, qid=w, metrics="ndcg@5,map", replicates=0)
    assert toprank.evaluate(v[back], expected[back], qid=w[back], metrics="ndcg@5,map", replicates=0).mean == pytest.approx(plain.mean)


def test_weights_pairs_and_positions_stay_with_their_rows(split):
    X, y, q, *_ = split
    weight = np.random.default_rng(2).random(len(y))
    place = np.concatenate([np.arange(n) for n in np.bincount(q)])
    # The first row of every list, then the second of each: the library sees the same data.
    rows = np.argsort(place, kind="stable")
    first, again = (toprank.Ranker("trees", "lambdarank", **QUICK) for _ in range(2))
    first.fit(X, y, qid=q, sample_weight=weight, position=place)
    again.fit(X[rows], y[rows], qid=q[rows], sample_weight=weight[rows], position=place[rows])
    assert np.array_equal(first.predict(X, qid=q), again.predict(X, qid=q))
    apart = toprank.Ranker("trees", "lambdarank", **QUICK).fit(X, y, qid=q, sample_weight=weight)
    assert not np.array_equal(first.predict(X, qid=q), apart.predict(X, qid=q))
    with pytest.raises(ValueError, match="one integer of 0 or above per row"):
        toprank.Ranker("trees", "lambdarank", **QUICK).fit(X, y, qid=q, position=-place)
    one, two = (toprank.Ranker("linear", "ranknet", epochs=2, seed=1) for _ in range(2))
    one.fit(X[:6], None, qid=[0, 0, 0, 1, 1, 1], pairs=[[1, 0], [5, 3]])
    two.fit(X[[0, 3, 1, 4, 2, 5]], None, qid=[0, 1, 0, 1, 0, 1], pairs=[[2, 0], [5, 1]])
    assert np.array_equal(one.predict(X, qid=q), two.predict(X, qid=q))


def test_a_fit_says_how_it_went_and_stops_when_it_is_told(split):
    X, y, q, V, v, w = split
    seen = []
    ranker = toprank.Ranker("trees", "ndcg@10", **QUICK).fit(X, y, qid=q, eval_set=(V, v), eval_qid=w, callbacks=seen.append)
    curve = ranker.evals_result_["valid"]["ndcg@10"]
    assert [epoch.metric for epoch in seen] == curve and len(ranker.evals_result_["train"]["loss"]) == len(seen)
    assert ranker.best_score_ == max(curve) == curve[ranker.best_iteration_ - 1]
    assert ranker.n_features_in_ == 5 and ranker.feature_importances_.argmax() in (0, 1)
    stopped = toprank.Ranker("trees", "ndcg@10", **QUICK)
    stopped.fit(X, y, qid=q, eval_set=(V, v), eval_qid=w, callbacks=[lambda epoch: epoch.epoch >= 3])
    assert len(stopped.history_) == 3 and stopped.predict(V, qid=w).shape == v.shape
    with pytest.raises(KeyError, match="mine"):
        toprank.Ranker("trees", "ndcg@10", **QUICK).fit(X, y, qid=q, callbacks=lambda epoch: {}["mine"])
    with pytest.raises(TypeError, match="functions of one argument"):
        toprank.Ranker("trees", "ndcg@10", **QUICK).fit(X, y, qid=q, callbacks=[3])
    with pytest.raises(AttributeError, match="models of trees"):
        toprank.Ranker("linear", "listnet", epochs=1).fit(X, y, qid=q).feature_importances_  # noqa: B018


def test_results_are_small_tables_in_notebooks(split):
    X, y, q, *_ = split
    found = toprank.evaluate(y, X[:, 0], qid=q, metrics="ndcg@10,map")
    text = found._repr_html_()
    assert text.count("<svg") == 2 and "<details><summary>policy</summary>" in text and "ndcg@10" in text
    assert "<table>" in toprank.metrics()._repr_html_() and "<details>" in toprank.metrics()["ndcg"]._repr_html_()
    odd = toprank.Recommender("mf:width=2", split="none", epochs=1).fit([("<b>", "i"), ("c", "j")])
    assert "<b>" not in odd.recommend(["<b>"], 1)._repr_html_().replace("<b></b>", "")


def test_curves_and_importance_are_plotted_where_there_is_matplotlib(split):
    X, y, q, V, v, w = split
    ranker = toprank.Ranker("trees", "ndcg@10", **QUICK).fit(X, y, qid=q, eval_set=(V, v), eval_qid=w)
    try:
        import matplotlib

        matplotlib.use("Agg")
    except ImportError:
        with pytest.raises(ImportError, match="draws SVG"):
            ranker.plot()
        return
    assert ranker.plot().get_xlabel() == "epoch"
    assert "ndcg@10" in ranker.explain(V, v, qid=w, rounds=1).plot().get_xlabel()


def test_importing_the_package_imports_nothing_else():
    program = "import sys, toprank; print('numpy' in sys.modules); toprank.evaluate; print('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\nFalse\n"
