"""What the tree trainers' own ranking objectives give as gradient and hessian of each row.

Neither shows them, so a tree with one row per leaf is made first; the trainer then fits its leaves anew under the ranking
objective (LightGBM: refit, XGBoost: the refresh updater), starting from given scores. A leaf is −g/(h + l2).
Both compute in 32 bits. LightGBM also reads the sigmoid from a table; its scores here lie on the table's grid.
"""

import json
import warnings

import lightgbm
import numpy as np
import xgboost

from .cases import case

TOLERANCE = 1e-6


def _one_row_per_leaf(length):
    rows = np.arange(length, dtype=float)[:, None]
    distinct = np.random.default_rng(length).permutation(length) + 1.0
    return rows, distinct


# ------------------------------------------------------------------------------------------------ LightGBM

LIGHTGBM = {
    "verbosity": -1,
    "num_threads": 1,
    "learning_rate": 1.0,
    "lambda_l2": 0.0,
    "min_data_in_leaf": 1,
    "min_data_in_bin": 1,
    "min_sum_hessian_in_leaf": 0.0,
    "boost_from_average": False,
    "feature_pre_filter": False,
}


def lightgbm_gradient(one, **settings):
    """Two values of l2 give both g and h."""
    length = len(one["scores"])
    rows, distinct = _one_row_per_leaf(length)
    base = {**LIGHTGBM, "num_leaves": length, "objective": "regression"}
    tree = lightgbm.train(base, lightgbm.Dataset(rows, label=distinct, params=base), num_boost_round=1)
    assert len(set(tree.predict(rows, pred_leaf=True).ravel())) == length
    text = tree.model_to_string().replace("objective=regression", "objective=lambdarank")
    small, large = 1e-3, 1.0
    leaves = []
    for l2 in (small, large):
        booster = lightgbm.Booster(model_str=text)
        booster.params = {**base, "objective": "lambdarank", "lambda_l2": l2, **settings}
        fitted = booster.refit(rows, one["labels"], decay_rate=0.0, group=[length], init_score=one["scores"])
        leaves.append(fitted.predict(rows, raw_score=True))
    untouched = leaves[0] == 0
    first, second = (np.where(untouched, 1.0, leaf) for leaf in leaves)
    second = np.where(untouched, 0.5, second)
    g = np.where(untouched, 0.0, (large - small) / (1 / first - 1 / second))
    return g.tolist(), np.where(untouched, 0.0, -g / first - small).tolist()


def on_the_grid(one):
    """Its sigmoid table has 2^20 steps over ±25 and takes the entry below: differences just above an entry read it exactly."""
    step = 25 / 2**19
    labels = np.array(one["labels"])
    scores = np.round(np.array(one["scores"]) / step) * step + 1e-10 * labels
    return {"scores": scores.tolist(), "labels": one["labels"]}


def from_lightgbm(lists):
    note = "scores on the grid of its sigmoid table; 32 bits"
    names = ("two items", "graded 5", "graded 13", "graded 40", "binary 24")
    for norm in (False, True):
        for cut in (3, 10, 30):
            for name in names if cut == 3 else names[2:]:
                one = on_the_grid(lists[name])
                g, h = lightgbm_gradient(one, lambdarank_truncation_level=cut, lambdarank_norm=norm)
                objective = f"lambdarank@{cut}" + (":norm=lightgbm" if norm else "")
                yield case("lightgbm", "lambdarank", objective, [one], None, [g], note, hessian=[h], tolerance=TOLERANCE)
    one = on_the_grid(lists["graded 13"])
    for how, key, setting in (
        (":norm=lightgbm:sigma=2", {"sigmoid": 2.0}, ", sigmoid = 2"),
        (":norm=lightgbm:gain=linear", {"label_gain": "0,1,2,3,4"}, ", label_gain = label"),
    ):
        g, h = lightgbm_gradient(one, lambdarank_truncation_level=10, lambdarank_norm=True, **key)
        extra = {"hessian": [h], "tolerance": TOLERANCE}
        yield case("lightgbm", "lambdarank", f"lambdarank@10{how}", [one], None, [g], note + setting, **extra)


# ------------------------------------------------------------------------------------------------ XGBoost

XGBOOST = {"nthread": 1, "eta": 1.0, "base_score": 0.0, "reg_lambda": 0.0, "min_child_weight": 0.0, "max_depth": 0}


def xgboost_gradient(one, objective, **settings):
    """The model file has each leaf's Σh; with l2 = 1 its value gives g."""
    length = len(one["scores"])
    rows, distinct = _one_row_per_leaf(length)
    regression = {**XGBOOST, "objective": "reg:squarederror", "tree_method": "exact", "max_depth": 64}
    tree = xgboost.train(regression, xgboost.DMatrix(rows, label=distinct), 1)
    data = xgboost.DMatrix(rows, label=one["labels"], base_margin=one["scores"])
    data.set_group([length])
    leaf_of = tree.predict(data, pred_leaf=True).ravel().astype(int)
    assert len(set(leaf_of)) == length
    refresh = {"process_type": "update", "updater": "refresh", "refresh_leaf": 1, "reg_lambda": 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        params = {**XGBOOST, **refresh, "objective": objective, **settings}
        fitted = xgboost.train(params, data, 1, xgb_model=tree.save_raw("json"))
    nodes = json.loads(fitted.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"][0]
    h = np.array(nodes["sum_hessian"])[leaf_of]
    leaf = np.array(nodes["split_conditions"])[leaf_of]
    return (-leaf * (h + 1.0)).tolist(), h.tolist()


def from_xgboost(lists):
    off = {"lambdarank_normalization": False, "lambdarank_score_normalization": False}
    topk = lambda cut: {"lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": cut}
    note = "pair method topk; its hessian is twice ours; 32 bits"
    half = {"hessian_scale": 0.5, "tolerance": TOLERANCE}
    names = ("two items", "graded 5", "graded 13", "graded 40")
    for cut in (3, 32):
        for name in names if cut == 3 else names[2:]:
            one = lists[name]
            g, h = xgboost_gradient(one, "rank:ndcg", **topk(cut), **off)
            yield case("xgboost", "rank:ndcg", f"lambdarank@{cut}", [one], None, [g], note, hessian=[h], **half)
            g, h = xgboost_gradient(one, "rank:ndcg", **topk(cut))
            objective = f"lambdarank@{cut}:norm=lightgbm"
            why = note + "; both normalisations on, its default"
            yield case("xgboost", "rank:ndcg", objective, [one], None, [g], why, hessian=[h], **half)
    one = lists["distinct labels"]
    g, h = xgboost_gradient(one, "rank:ndcg", **topk(3), **off, ndcg_exp_gain=False)
    why = note + "; ndcg_exp_gain = false"
    yield case("xgboost", "rank:ndcg", "lambdarank@3:gain=linear", [one], None, [g], why, hessian=[h], **half)
    for name in ("two items", "binary 10", "binary 24"):
        one = lists[name]
        g, h = xgboost_gradient(one, "rank:map", **topk(32), **off)
        yield case("xgboost", "rank:map", "lambda-map", [one], None, [g], note, hessian=[h], **half)
    for name in ("two items", "graded 13"):
        one = lists[name]
        g, h = xgboost_gradient(one, "rank:pairwise", **topk(32), **off)
        yield case("xgboost", "rank:pairwise", "ranknet:sum=true", [one], None, [g], note, hessian=[h], **half)
