"""Objectives inside LightGBM and XGBoost."""

import copy
import pickle

import numpy as np
import pytest

import toprank


@pytest.fixture
def data(lists):
    return (*lists(80), *lists(40, seed=2))


def test_our_lambdarank_in_lightgbm_is_its_own():
    lightgbm = pytest.importorskip("lightgbm")
    import toprank.lightgbm

    # LightGBM looks sigmoids up in a table: among few rows a split may turn on that, among many the better one is clear.
    random = np.random.default_rng(3)
    sizes = random.integers(3, 120, 300)
    X = random.normal(size=(sizes.sum(), 20)).astype(np.float32)
    hidden = X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=len(X))
    y = np.digitize(hidden, np.quantile(hidden, [0.5, 0.75, 0.875, 0.9375]))
    scores = []
    for objective in ("lambdarank", toprank.lightgbm.objective("lambdarank@30:norm=lightgbm", scale=1)):
        params = {"objective": objective, "verbose": -1, "num_threads": 1, "deterministic": True}
        trees = lightgbm.train(params, lightgbm.Dataset(X.astype(np.float64), y, group=sizes), 8)
        scores.append(trees.predict(X, raw_score=True))
    assert np.abs(scores[0]).max() > 0.1
    assert np.abs(scores[0] - scores[1]).max() <= 1e-4


def test_our_lambdarank_in_xgboost_is_its_own(data):
    xgboost = pytest.importorskip("xgboost")
    import toprank.xgboost

    X, y, sizes, V, *_ = data
    weights = np.random.default_rng(1).uniform(0.5, 2, len(sizes)).astype(np.float32)
    for weight in (None, weights):
        scores = []
        ours = toprank.xgboost.objective("lambdarank@32:norm=lightgbm", scale=1, hessian=2)
        for call in ({"objective": "rank:ndcg"}, None):
            matrix = xgboost.DMatrix(X, y)
            matrix.set_group(sizes)
            if weight is not None:
                matrix.set_weight(weight)
            params = {"base_score": 0, "nthread": 1, **(call or {})}
            trees = xgboost.train(params, matrix, 8, obj=None if call else ours)
            scores.append(trees.predict(xgboost.DMatrix(V), output_margin=True))
        assert np.abs(scores[0]).max() > 0.1
        assert np.abs(scores[0] - scores[1]).max() <= 1e-6


def test_lightgbm_takes_objective_and_metric_in_both_interfaces(data):
    lightgbm = pytest.importorskip("lightgbm")
    import toprank.lightgbm

    X, y, sizes, V, v, valid_sizes = data
    song, judge = toprank.lightgbm.objective("song"), toprank.lightgbm.metric("ndcg@5")
    train = lightgbm.Dataset(X, y, group=sizes)
    valid = lightgbm.Dataset(V, v, group=valid_sizes, reference=train)
    params = {"objective": song, "metric": "None", "verbose": -1, "num_threads": 1}
    trees = lightgbm.train(params, train, 20, valid_sets=[valid], feval=judge)
    told = trees.best_score["valid_0"]["ndcg@5"]
    assert told == pytest.approx(toprank.evaluate(v, trees.predict(V), group=valid_sizes, metrics="ndcg@5")["ndcg@5"])
    assert told > 0.8
    ranker = lightgbm.LGBMRanker(objective=toprank.lightgbm.objective("song"), n_estimators=20, verbose=-1, n_jobs=1)
    ranker.fit(X, y, group=sizes, eval_set=[(V, v)], eval_group=[valid_sizes], eval_metric=judge)
    assert np.allclose(ranker.predict(V), trees.predict(V))
    assert ranker.evals_result_["valid_0"]["ndcg@5"][-1] == pytest.approx(told)


def test_xgboost_takes_objective_and_metric(data):
    xgboost = pytest.importorskip("xgboost")
    import toprank.xgboost

    X, y, sizes, V, v, valid_sizes = data
    train, valid = xgboost.DMatrix(X, y), xgboost.DMatrix(V, v)
    train.set_group(sizes)
    valid.set_group(valid_sizes)
    log = {}
    params = {"base_score": 0, "eta": 0.1, "nthread": 1, "disable_default_eval_metric": 1}
    judge = toprank.xgboost.metric("ndcg@5:gain=linear")
    xgboost.train(
        params,
        train,
        20,
        obj=toprank.xgboost.objective("song"),
        custom_metric=judge,
        evals=[(valid, "valid")],
        evals_result=log,
        verbose_eval=False,
    )
    values = log["valid"]["ndcg@5_gain=linear"]
    assert values[-1] > 0.8


def test_rounds_of_other_data_begin_afresh_and_copies_do_too():
    from toprank.lightgbm import objective

    class Data:
        def __init__(self, labels, sizes, weight=None):
            self.get_label, self.get_group, self.get_weight = lambda: labels, lambda: sizes, lambda: weight

    first, second = Data(np.array([1.0, 0.0]), [2]), Data(np.array([0.0, 1.0, 0.0]), [3])
    song = objective("song", gamma=0.5, scale=1)
    g, h = song(np.array([0.1, 0.3]), first)
    later, _ = song(np.array([0.6, 0.3]), first)
    song(np.array([0.1, 0.2, 0.3]), second)
    again, _ = song(np.array([0.1, 0.3]), first)
    assert np.array_equal(g, again)
    for other in (copy.deepcopy(song), pickle.loads(pickle.dumps(song))):
        assert np.array_equal(other(np.array([0.1, 0.3]), first)[0], g)
    fresh, _ = objective("song", gamma=0.5, scale=1)(np.array([0.6, 0.3]), first)
    assert not np.array_equal(later, fresh), "trackers are kept from round to round"
    weighted, _ = objective("song", gamma=0.5, scale=1)(np.array([0.1, 0.3]), Data(np.array([1.0, 0.0]), [2], [2.0, 3.0]))
    assert np.array_equal(weighted, g * [2.0, 3.0])
    scaled = objective("song", gamma=0.5)
    assert scaled(np.array([0.1, 0.3]), first)[1].mean() == pytest.approx(0.25)


def test_names_that_are_none_are_said_at_once():
    from toprank.lightgbm import metric, objective

    with pytest.raises(ValueError, match="did you mean \"?song"):
        objective("sonng")
    with pytest.raises(ValueError, match="one metric"):
        metric("ndcg@5,map")
    with pytest.raises(ValueError, match="did you mean \"?ndcg"):
        metric("ndgc")
