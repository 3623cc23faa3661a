"""Each peer evaluates the same lists with its own code.

A peer is a function from lists to `{our metric: (mean, per list or None)}`. Keys are toprank's names; a rule in a
key (`:gain=linear`) is one the peer's preset leaves open because the peer offers both.
"""

import importlib.metadata
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def version(package):
    return f"{package} {importlib.metadata.version(package)}"


def flat(lists, key):
    return np.array([x for one in lists for x in one[key]], dtype=float)


def is_binary(lists):
    return all(y in (0, 1) for one in lists for y in one["labels"])


def weights_of(lists):
    return np.array([one["weight"] for one in lists]) if "weight" in lists[0] else None


# ── trainers: the lists are a validation set whose margin is the scores; no tree ever changes it ──────────────────────


def lightgbm(lists, cuts=(1, 3, 5, 10)):
    import lightgbm as lgb

    sizes = [len(one["scores"]) for one in lists]
    metrics = ["ndcg", "map"]
    row_weights = None
    if "weight" in lists[0]:
        row_weights = np.repeat(weights_of(lists), sizes)
    if len(lists) == 1 and is_binary(lists):
        metrics = ["auc", "average_precision"]
        row_weights = np.array(lists[0]["item_weights"]) if "item_weights" in lists[0] else None
    quiet = {"verbose": -1}
    # LightGBM refuses to start without a feature that can split, so the training set is another one.
    train = lgb.Dataset(np.arange(100.0).reshape(-1, 1), np.zeros(100), group=[100], params=quiet)
    valid = lgb.Dataset(
        np.zeros((sum(sizes), 1)),
        flat(lists, "labels"),
        group=sizes,
        weight=row_weights,
        init_score=flat(lists, "scores"),
        reference=train,
        params=quiet,
    )
    seen = {}
    params = {
        "objective": lambda scores, _: (np.zeros(len(scores)), np.ones(len(scores))),
        "metric": metrics,
        "eval_at": list(cuts),
        **quiet,
    }
    lgb.train(params, train, 1, [valid], ["v"], callbacks=[lgb.record_evaluation(seen)])
    ours = {"auc": "auroc", "average_precision": "auprc"}
    return {ours.get(name, name): (float(values[0]), None) for name, values in seen["v"].items()}


def xgboost(lists, cuts=(1, 3, 5, 10)):
    import xgboost as xgb

    sizes = [len(one["scores"]) for one in lists]
    binary = is_binary(lists)
    if len(lists) == 1 and binary:
        # Without groups: the data set is one list and weights belong to rows.
        sizes, weights = None, lists[0].get("item_weights")
        ours = {"auc": "auroc", "aucpr": "auprc"}
    else:
        weights = weights_of(lists)
        ours = {"ndcg": "ndcg", "ndcg-": "ndcg:empty=zero"}
        for k in cuts:
            ours |= {f"ndcg@{k}": f"ndcg@{k}", f"ndcg@{k}-": f"ndcg@{k}:empty=zero"}
            if binary:
                ours |= {f"map@{k}": f"map@{k}", f"map@{k}-": f"map@{k}:empty=zero", f"pre@{k}": f"p@{k}"}
        if binary:
            ours |= {"map": "map"}
    data = xgb.DMatrix(
        np.zeros((len(flat(lists, "scores")), 1)),
        flat(lists, "labels"),
        base_margin=flat(lists, "scores"),
        weight=weights,
        group=sizes,
    )
    params = {"objective": "rank:ndcg" if sizes else "binary:logitraw", "eval_metric": list(ours)}
    if not sizes:
        params["base_score"] = 0.5
    booster = xgb.Booster(params, [data])
    out = {}
    for field in booster.eval(data, "v", 0).split("\t")[1:]:
        name, value = field.removeprefix("v-").rsplit(":", 1)
        out[ours[name]] = (float(value), None)
    return out


def catboost(lists, cuts=(1, 3, 5, 10), unweighted_too=False):
    """`unweighted_too`: also the measures that take list weights and do not use them."""
    from catboost.utils import eval_metric

    labels, scores = flat(lists, "labels"), flat(lists, "scores")
    if len(lists) == 1 and is_binary(lists):
        weights = lists[0].get("item_weights")
        return {"auroc": (eval_metric(labels, scores, "AUC", weight=weights)[0], None)}
    sizes = [len(one["scores"]) for one in lists]
    groups = np.repeat(np.arange(len(lists)), sizes)
    weights = weights_of(lists)

    def judge(metric, labels=labels):
        weighted = {} if weights is None else {"group_weight": np.repeat(weights, sizes)}
        return eval_metric(labels, scores, metric, group_id=groups, **weighted)[0], None

    out = {"ndcg": judge("NDCG"), "ndcg:gain=exp2": judge("NDCG:type=Exp"), "mrr": judge("MRR")}
    # CatBoost's ERR takes the probability that an item satisfies; for grades that is the paper's (2^y - 1) / 2^4.
    satisfies = (2.0**labels - 1) / 16
    for k in cuts:
        out[f"ndcg@{k}"] = judge(f"NDCG:top={k}")
        out[f"ndcg@{k}:gain=exp2"] = judge(f"NDCG:top={k};type=Exp")
        out[f"dcg@{k}"] = judge(f"DCG:top={k}")
        out[f"mrr@{k}"] = judge(f"MRR:top={k}")
        if (labels % 1 == 0).all():  # else CatBoost's f32 labels round the probability
            out[f"err@{k}:stop=grade"] = judge(f"ERR:top={k}", satisfies)
        if labels.max() <= 1:
            out[f"err@{k}"] = judge(f"ERR:top={k}")
        if weights is None or unweighted_too:
            out[f"map@{k}"] = judge(f"MAP:top={k}")
            out[f"p@{k}"] = judge(f"PrecisionAt:top={k}")
            out[f"recall@{k}"] = judge(f"RecallAt:top={k}")
    return out


# ── qrels and runs ────────────────────────────────────────────────────────────────────────────────────────────────────


def qrels_and_run(lists):
    """The lists as dicts of dicts; list names keep the order when sorted."""
    qrels, run = {}, {}
    for i, one in enumerate(lists):
        q = f"q{i:05d}"
        qrels[q] = {name: y for name, y in zip(one["names"], one["labels"]) if y is not None}
        qrels[q] |= {f"missed{j}": y for j, y in enumerate(one["missed"])}
        run[q] = dict(zip(one["names"], one["scores"]))
    return qrels, run


def pytrec_eval(lists, cuts=(1, 3, 5, 10)):
    import pytrec_eval as peer

    ours = {"map": "map", "ndcg": "ndcg", "recip_rank": "mrr", "Rprec": "rprec", "bpref": "bpref"}
    ours |= {"set_F": "f1", "set_P": "p", "set_recall": "recall", "11pt_avg": "11pt"}
    asked = set(ours)
    recalls = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0]
    asked.add("iprec_at_recall." + ",".join(map(str, recalls)))
    ours |= {f"iprec_at_recall_{r:.2f}": f"iprec:recall={r}" for r in recalls}
    for theirs, name in [("map_cut", "map"), ("ndcg_cut", "ndcg"), ("P", "p"), ("recall", "recall"), ("success", "success")]:
        asked.add(f"{theirs}." + ",".join(map(str, cuts)))
        ours |= {f"{theirs}_{k}": f"{name}@{k}" for k in cuts}
    qrels, run = qrels_and_run(lists)
    result = peer.RelevanceEvaluator(qrels, asked).evaluate(run)
    out = {}
    for theirs, name in ours.items():
        per_list = [result[q][theirs] for q in run]
        out[name] = (float(np.mean(per_list)), per_list)
    return out


def ranx(lists, cuts=(1, 3, 5, 10), undefined_too=False):
    """`undefined_too`: also bpref where it divides by 0 and rbp of graded labels."""
    from ranx import Qrels, Run, evaluate

    ours = {"ndcg": "ndcg", "ndcg_burges": "ndcg:gain=exp2", "map": "map", "mrr": "mrr", "r-precision": "rprec"}
    ours |= {"precision": "p", "recall": "recall", "f1": "f1"}
    for k in cuts:
        ours |= {f"ndcg@{k}": f"ndcg@{k}", f"ndcg_burges@{k}": f"ndcg@{k}:gain=exp2", f"map@{k}": f"map@{k}"}
        ours |= {f"dcg@{k}": f"dcg@{k}", f"mrr@{k}": f"mrr@{k}", f"f1@{k}": f"f1@{k}"}
        ours |= {f"precision@{k}": f"p@{k}", f"recall@{k}": f"recall@{k}", f"hit_rate@{k}": f"success@{k}"}
    if undefined_too or all(has_bpref(one) for one in lists):
        ours["bpref"] = "bpref"
    if undefined_too or all(y in (0, 1, None) for one in lists for y in one["labels"]):
        ours["rbp.80"] = "rbp:p=0.8"
    qrels, run = qrels_and_run(lists)
    result = evaluate(Qrels(qrels), Run(run), list(ours), return_mean=False, threads=1)
    return {
        name: (float(np.mean(result[theirs])), [float(v) for v in result[theirs]]) for theirs, name in ours.items()
    }


def has_bpref(one):
    """ranx's bpref divides by 0 where something is relevant and nothing is judged irrelevant; a judgement below 0,
    which is none to trec_eval, counts as irrelevant there."""
    labels = [y for y in one["labels"] + one["missed"] if y is not None]
    if min(labels) < 0:
        return False
    return any(y <= 0 for y in labels) or not any(labels)


# ── arrays ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def sklearn(lists, cuts=(1, 3, 5, 10)):
    """scikit-learn's and SciPy's functions, list by list."""
    from scipy.stats import kendalltau, spearmanr
    from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score

    functions = {}
    if all(len(one["scores"]) > 1 for one in lists):  # ndcg_score refuses a list of one item
        for k in [None, *cuts]:
            at = "" if k is None else f"@{k}"
            functions[f"ndcg{at}"] = lambda y, s, w, k=k: ndcg_score([y], [s], k=k)
            functions[f"dcg{at}"] = lambda y, s, w, k=k: dcg_score([y], [s], k=k)
    if is_binary(lists) and all(0 < sum(one["labels"]) < len(one["labels"]) for one in lists):
        functions["auroc"] = lambda y, s, w: roc_auc_score(y, s, sample_weight=w)
        functions["auprc"] = lambda y, s, w: average_precision_score(y, s, sample_weight=w)
        for x in (0.3, 0.8):
            functions[f"p:recall={x}"] = lambda y, s, w, x=x: precision_at_recall(y, s, w, x)
            functions[f"recall:precision={x}"] = lambda y, s, w, x=x: recall_at_precision(y, s, w, x)
        for fpr in (0.1, 0.3):
            functions[f"pauc:fpr={fpr}"] = lambda y, s, w, f=fpr: roc_auc_score(y, s, max_fpr=f, sample_weight=w)
    varied = all(len(set(one["scores"])) > 1 and len(set(one["labels"])) > 1 for one in lists)
    if varied and "item_weights" not in lists[0]:
        functions["kendall"] = lambda y, s, w: kendalltau(s, y).statistic
        functions["spearman"] = lambda y, s, w: spearmanr(s, y).statistic
    weights = weights_of(lists)
    out = {}
    for name, function in functions.items():
        per_list = [float(function(one["labels"], one["scores"], one.get("item_weights"))) for one in lists]
        out[name] = (float(np.average(per_list, weights=weights)), per_list)
    if "item_weights" in lists[0]:
        out = {name: value for name, value in out.items() if not name.startswith(("ndcg", "dcg"))}
    return out


def precision_at_recall(y, s, w, wanted):
    """Precision at the highest threshold that reaches the recall, from scikit-learn's curve."""
    from sklearn.metrics import precision_recall_curve

    precision, recall, _ = precision_recall_curve(y, s, sample_weight=w)
    return precision[:-1][recall[:-1] >= wanted][-1]


def recall_at_precision(y, s, w, wanted):
    from sklearn.metrics import precision_recall_curve

    precision, recall, _ = precision_recall_curve(y, s, sample_weight=w)
    return max(recall[:-1][precision[:-1] >= wanted], default=0.0)


# peer → (its packages, its function)
PEERS = {
    "lightgbm": (["lightgbm"], lightgbm),
    "xgboost": (["xgboost-cpu"], xgboost),
    "catboost": (["catboost"], catboost),
    "pytrec_eval": (["pytrec_eval-terrier"], pytrec_eval),
    "ranx": (["ranx"], ranx),
    "sklearn": (["scikit-learn", "scipy"], sklearn),
}
