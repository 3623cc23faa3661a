# Written by `python crates/python/run_tests.py --stubs`.
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np


MetricName = Literal["ndcg", "ndcg_score", "dcg", "dcg_score", "err", "map", "ap", "mauprc", "mean_average_precision", "gm-map", "gm_map", "gmap", "mrr", "rr", "recip_rank", "p", "precision", "set_p", "setp", "recall", "r", "set_recall", "setr", "success", "hit", "hits", "hr", "hit_rate", "f1", "set_f", "setf", "rprec", "r-prec", "rbp", "iprec", "iprec_at_recall", "11pt", "11pt_avg", "bpref", "judged", "rbp-residual", "auroc", "auc", "roc_auc", "roc_auc_score", "pauc", "auprc", "average_precision", "average_precision_score", "pap", "top-push", "p-norm-push", "pairs", "kendall", "tau", "kendalltau", "spearman", "spearmanr"]

ObjectiveName = Literal["song", "song-v1", "song-v2", "song-minibatch", "song-storm", "ap", "soprc", "listwise-ce", "precision", "recall", "p-norm-push", "auroc", "pauc-kl", "tpauc-kl", "top-push-kl", "k-song", "k-song-v1", "k-song-v2", "k-song-rank", "top-ap", "precision-threshold", "recall-threshold", "precision-at-recall", "pauc-bilevel", "tpauc-bilevel", "pap", "top-push-bilevel", "auroc-minmax", "auroc-margin", "pauc-cvar", "tpauc-minmax", "top-push", "p-norm-push-minmax", "squared", "logistic", "cross-entropy", "focal", "ordinal", "ranknet", "ranksvm", "squared-hinge", "margin", "bpr", "lambdarank", "lambdamart", "lambda-map", "lambda-mrr", "lambda-err", "lambda-p", "ndcg-loss1", "ndcg-loss2", "ndcg-loss2pp", "listnet", "softmax", "listmle", "p-listmle", "rankcosine", "xe-ndcg", "approx-ndcg", "gumbel-ndcg", "approx-mrr", "neural-ndcg", "neural-ndcg-stochastic", "pirank", "smoothi", "softrank", "yetirank", "global-contrastive", "nca", "log-nca", "sup-con", "smooth-ap", "fast-ap", "contrastive", "triplet", "multi-similarity"]

class Classifier:
    """Learns to put positives above negatives: binary data, or several labels over the same rows.

    The parameters are those of `Ranker`; the objective is "auroc" unless it is given. Probabilities are fitted to rows that
    the model did not learn from: to eval_set, or else to the rows that folds (five, unless given) held out.

    >>> model = toprank.Classifier("trees", "auprc").fit(X, y)
    >>> model.predict_proba(T)[:, 1]
    """
    algorithm: Any
    average: Any
    calibrate: Any
    classes_: Any
    clip: Any
    config_: dict[str, Any]
    epochs: Any
    feature_names_in_: Any
    folds: Any
    header_: dict[str, Any]
    history_: Any
    leaves: Any
    list_column: Any
    metric: Any
    model: Any
    model_: Any
    n_features_in_: int
    objective: Any
    oof_scores_: Any
    optimiser: Any
    outputs_: list[str] | None
    patience: Any
    rate: Any
    sampler: Any
    schedule: Any
    seed: Any
    transforms: Any
    trees: Any
    verbose: Any
    warm_up: Any
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Any: ...
    def __init__(self, model: str = 'mlp', objective: str | None = None, *, algorithm: str | None = None, optimiser: str | None = None, rate: float | None = None, schedule: str | None = None, sampler: str | None = None, epochs: int | None = None, trees: int | None = None, leaves: int | None = None, transforms: str | None = None, metric: str | None = None, patience: int | None = None, warm_up: int | None = None, clip: float | None = None, average: str | None = None, folds: int | None = None, calibrate: str | None = None, seed: int | None = None, list_column: str | None = None, verbose: bool | None = None) -> None:
        ...
    def decision_function(self, X: Any) -> np.ndarray:
        """One score per row, or per row and label; higher is more likely positive."""
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None, eval_set: Any = None, from_model: Any = None) -> Classifier:
        """Trains; y holds two classes, or a column of 0 and 1 per label (NaN: not judged)."""
    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """A fitted estimator from a model file of the command or of `save`."""
    def predict(self, X: Any) -> np.ndarray:
        """The class (or labels) of probability above one half."""
    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated probabilities: of both classes, or of each label."""
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model file of the command: `toprank predict` and `load` take it."""

class Comparison:
    """Runs compared on some metrics; `to_frame()` has a line per metric and pair of runs."""
    evaluations: Any
    metrics: dict[str, dict[str, Any]]
    def __init__(self, evaluations: dict[str, Evaluation], comparisons: list[dict[str, Any]]) -> None:
        ...
    def to_frame(self) -> Any:
        """A pandas table: difference (second − first), its interval, wins, ties, losses, corrected p values."""
    @property
    def verdicts(self) -> list[str]:
        """One line per metric and pair: who wins by how much, the interval, the corrected p value, wins/ties/losses."""

class Evaluation(Mapping[str, float]):
    """Means by metric; `values` has intervals and values per list, `to_frame()` a pandas table."""
    items_judged: int
    like: str | None
    list_names: Any
    lists: int
    policy: str
    results: dict[str, Value]
    def __init__(self, report: dict[str, Any], names: np.ndarray | None = None) -> None:
        ...
    @property
    def interval(self) -> dict[str, tuple[float, float] | None]:
        """The confidence interval of each mean; `results[metric].method` says how it was found."""
    @property
    def mean(self) -> dict[str, float]:
        """The mean of each metric."""
    @property
    def per_list(self) -> dict[str, np.ndarray]:
        """One value per list for each metric."""
    def to_frame(self, per_list: bool = False) -> Any:
        """A pandas table: one line per metric, or per list."""

class Gradient(NamedTuple):
    """What a step gives; arrays are in the order of the scores."""
    loss: float
    gradient: np.ndarray
    curvature: np.ndarray | None
    gradient_previous: np.ndarray | None
    losses: np.ndarray
    used: int
    idle: int

class Graph:
    """A graph and what is known of it: edges sources[e] → targets[e].

    weights: one per edge, ≥ 0; for a learned walk they are one more feature of edges.
    edge_features: a row per edge, ≥ 0; an array or a frame, whose names are kept.
    nodes: names of all nodes, if some have no edge, or to fix their order; node_features: a row for each of them, ≥ 0.
    seeds: where walks start: nodes, {node: weight} (plain walks), or {list: nodes}; all nodes alike if left out.
    judgements: what walks are learned from: {node: label}, or {list: {node: label}} for several lists over the graph.
    """
    edge_columns: Any
    edge_values: Any
    has_features: Any
    judgements: Any
    node_columns: Any
    node_values: Any
    nodes: Any
    place: Any
    seeds: Any
    sources: Any
    targets: Any
    weights: Any
    def __init__(self, sources: Any, targets: Any, *, weights: Any = None, edge_features: Any = None, nodes: Any = None, node_features: Any = None, seeds: Any = None, judgements: Mapping[Any, Any] | None = None) -> None:
        ...
    def judged(self) -> dict[str, Mapping[Any, Any]]:
        """The lists over this graph with their judgements; one without a name is called all, as the command calls it."""
    def number(self, name: Any, what: str) -> int:
        """The node of that name."""
    def own_columns(self) -> tuple[list[str], np.ndarray]:
        """The edges' own features, weights among them."""
    def seeds_of(self, name: str) -> np.ndarray:
        """Numbers of the nodes where walks of a list start, ascending."""

class Objective:
    """An objective with its parameters and what it remembers: trackers, thresholds, duals.

    >>> goal = toprank.Objective("song", gamma=0.3).prepare(labels, group=sizes)
    >>> loss, gradient, *_ = goal.step(scores)                       # all lists
    >>> loss, gradient, *_ = goal.step(some, lists=[4, 0], items=[[0, 2, 5], [1, 3]])   # drawn ones
    """
    @overload
    def __init__(self, name: Literal["song"], *, seed: int = 1, gamma: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., self_: float | str = ..., lagged: float | str = ..., gain: float | str = ..., relevant: float | str = ...) -> None:
        """NDCG by tracked smooth ranks"""
    @overload
    def __init__(self, name: Literal["song-v1"], *, seed: int = 1, gamma: float | str = ..., beta: float | str = ..., rate: float | str = ..., preset: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., self_: float | str = ..., lagged: float | str = ..., gain: float | str = ..., relevant: float | str = ...) -> None:
        """Faster SONG: NDCG with the MSVR tracker"""
    @overload
    def __init__(self, name: Literal["song-v2"], *, seed: int = 1, gamma: float | str = ..., beta: float | str = ..., tau: float | str = ..., rate: float | str = ..., preset: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., self_: float | str = ..., lagged: float | str = ..., gain: float | str = ..., relevant: float | str = ...) -> None:
        """Faster SONG: NDCG with the quadratic tracker"""
    @overload
    def __init__(self, name: Literal["song-minibatch"], *, seed: int = 1, surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., self_: float | str = ..., gain: float | str = ..., relevant: float | str = ...) -> None:
        """SONG without a tracker (ablation)"""
    @overload
    def __init__(self, name: Literal["song-storm"], *, seed: int = 1, gamma: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., self_: float | str = ..., lagged: float | str = ..., gain: float | str = ..., relevant: float | str = ...) -> None:
        """SONG with a STORM tracker (ablation)"""
    @overload
    def __init__(self, name: Literal["ap"], *, seed: int = 1, gamma: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., self_: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """average precision by tracked smooth ranks"""
    @overload
    def __init__(self, name: Literal["soprc"], *, seed: int = 1, tau1: float | str = ..., tau2: float | str = ..., beta: float | str = ..., prior: float | str = ..., distribution: float | str = ..., points: float | str = ..., bound: float | str = ..., penalty: float | str = ..., penalty_others: float | str = ..., through_tpr: float | str = ..., relevant: float | str = ...) -> None:
        """AUPRC by rates and the true share of relevant items"""
    @overload
    def __init__(self, name: Literal["listwise-ce"], *, seed: int = 1, gamma: float | str = ..., target: float | str = ..., temperature: float | str = ..., lagged: float | str = ..., gain: float | str = ..., relevant: float | str = ...) -> None:
        """softmax cross-entropy with a tracked normaliser"""
    @overload
    def __init__(self, name: Literal["precision"], *, seed: int = 1, k: float | str = ..., gamma: float | str = ..., softness: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., self_: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """precision at K by tracked smooth ranks"""
    @overload
    def __init__(self, name: Literal["recall"], *, seed: int = 1, k: float | str = ..., gamma: float | str = ..., softness: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., self_: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """recall at K by tracked smooth ranks"""
    @overload
    def __init__(self, name: Literal["p-norm-push"], *, seed: int = 1, p: float | str = ..., swapped: float | str = ..., gamma: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """p-th power of how far others stand above"""
    @overload
    def __init__(self, name: Literal["auroc"], *, seed: int = 1, surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., relevant: float | str = ...) -> None:
        """AUROC: a surrogate over all pairs of a relevant and another item"""
    @overload
    def __init__(self, name: Literal["pauc-kl"], *, seed: int = 1, lambda_: float | str = ..., gamma: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """one-way partial AUC, KL form"""
    @overload
    def __init__(self, name: Literal["tpauc-kl"], *, seed: int = 1, lambda_: float | str = ..., worst: float | str = ..., gamma: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """two-way partial AUC, KL form with three levels"""
    @overload
    def __init__(self, name: Literal["top-push-kl"], *, seed: int = 1, lambda_: float | str = ..., gamma: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """top push, KL form"""
    @overload
    def __init__(self, name: Literal["k-song"], *, seed: int = 1, k: float | str = ..., form: float | str = ..., threshold: float | str = ..., sharpness: float | str = ..., tau1: float | str = ..., tau2: float | str = ..., eta: float | str = ..., absolute: float | str = ..., gamma: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., self_: float | str = ..., lagged: float | str = ..., gain: float | str = ..., relevant: float | str = ...) -> None:
        """NDCG at K by a threshold and tracked smooth ranks"""
    @overload
    def __init__(self, name: Literal["k-song-v1"], *, seed: int = 1, k: float | str = ..., form: float | str = ..., threshold: float | str = ..., sharpness: float | str = ..., tau1: float | str = ..., tau2: float | str = ..., eta: float | str = ..., absolute: float | str = ..., gamma: float | str = ..., beta: float | str = ..., rate: float | str = ..., preset: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., self_: float | str = ..., lagged: float | str = ..., gain: float | str = ..., relevant: float | str = ...) -> None:
        """Faster K-SONG: NDCG at K with MSVR trackers"""
    @overload
    def __init__(self, name: Literal["k-song-v2"], *, seed: int = 1, k: float | str = ..., form: float | str = ..., threshold: float | str = ..., sharpness: float | str = ..., tau1: float | str = ..., tau2: float | str = ..., eta: float | str = ..., absolute: float | str = ..., gamma: float | str = ..., beta: float | str = ..., tau: float | str = ..., rate: float | str = ..., preset: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., self_: float | str = ..., lagged: float | str = ..., gain: float | str = ..., relevant: float | str = ...) -> None:
        """Faster K-SONG: NDCG at K with quadratic trackers"""
    @overload
    def __init__(self, name: Literal["k-song-rank"], *, seed: int = 1, k: float | str = ..., sharpness: float | str = ..., gamma: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., self_: float | str = ..., lagged: float | str = ..., gain: float | str = ..., relevant: float | str = ...) -> None:
        """NDCG at K with a gate by rank instead of a threshold"""
    @overload
    def __init__(self, name: Literal["top-ap"], *, seed: int = 1, k: float | str = ..., gate: float | str = ..., form: float | str = ..., threshold: float | str = ..., sharpness: float | str = ..., tau1: float | str = ..., tau2: float | str = ..., eta: float | str = ..., absolute: float | str = ..., gamma: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., self_: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """average precision at K by a threshold and tracked smooth ranks"""
    @overload
    def __init__(self, name: Literal["precision-threshold"], *, seed: int = 1, k: float | str = ..., surrogate: float | str = ..., threshold: float | str = ..., tau1: float | str = ..., tau2: float | str = ..., eta: float | str = ..., absolute: float | str = ..., gamma: float | str = ..., margin: float | str = ..., temperature: float | str = ..., relevant: float | str = ...) -> None:
        """precision at K by a threshold"""
    @overload
    def __init__(self, name: Literal["recall-threshold"], *, seed: int = 1, k: float | str = ..., surrogate: float | str = ..., threshold: float | str = ..., tau1: float | str = ..., tau2: float | str = ..., eta: float | str = ..., absolute: float | str = ..., gamma: float | str = ..., margin: float | str = ..., temperature: float | str = ..., relevant: float | str = ...) -> None:
        """recall at K by a threshold"""
    @overload
    def __init__(self, name: Literal["precision-at-recall"], *, seed: int = 1, recall: float | str = ..., surrogate: float | str = ..., threshold: float | str = ..., tau1: float | str = ..., tau2: float | str = ..., eta: float | str = ..., absolute: float | str = ..., gamma: float | str = ..., margin: float | str = ..., temperature: float | str = ..., relevant: float | str = ...) -> None:
        """precision at a recall by a threshold"""
    @overload
    def __init__(self, name: Literal["pauc-bilevel"], *, seed: int = 1, fpr: float | str = ..., from_: float | str = ..., form: float | str = ..., threshold: float | str = ..., sharpness: float | str = ..., tau1: float | str = ..., tau2: float | str = ..., eta: float | str = ..., absolute: float | str = ..., gamma: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., relevant: float | str = ...) -> None:
        """one-way partial AUC over a range of false positive rates, by thresholds"""
    @overload
    def __init__(self, name: Literal["tpauc-bilevel"], *, seed: int = 1, fpr: float | str = ..., tpr: float | str = ..., form: float | str = ..., threshold: float | str = ..., sharpness: float | str = ..., tau1: float | str = ..., tau2: float | str = ..., eta: float | str = ..., absolute: float | str = ..., gamma: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., relevant: float | str = ...) -> None:
        """two-way partial AUC by thresholds"""
    @overload
    def __init__(self, name: Literal["pap"], *, seed: int = 1, k: float | str = ..., form: float | str = ..., threshold: float | str = ..., sharpness: float | str = ..., tau1: float | str = ..., tau2: float | str = ..., eta: float | str = ..., absolute: float | str = ..., gamma: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., relevant: float | str = ...) -> None:
        """the K highest relevant items against the K highest others, by thresholds"""
    @overload
    def __init__(self, name: Literal["top-push-bilevel"], *, seed: int = 1, form: float | str = ..., threshold: float | str = ..., sharpness: float | str = ..., tau1: float | str = ..., tau2: float | str = ..., eta: float | str = ..., absolute: float | str = ..., gamma: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., relevant: float | str = ...) -> None:
        """top push by a threshold"""
    @overload
    def __init__(self, name: Literal["auroc-minmax"], *, seed: int = 1, margin: float | str = ..., variables: float | str = ..., rate: float | str = ..., relevant: float | str = ...) -> None:
        """AUROC with the square loss, by the means of the classes"""
    @overload
    def __init__(self, name: Literal["auroc-margin"], *, seed: int = 1, margin: float | str = ..., variables: float | str = ..., rate: float | str = ..., relevant: float | str = ...) -> None:
        """AUROC, margin form: no reward beyond the margin"""
    @overload
    def __init__(self, name: Literal["pauc-cvar"], *, seed: int = 1, fpr: float | str = ..., variables: float | str = ..., rate: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., relevant: float | str = ...) -> None:
        """one-way partial AUC, CVaR form: the mean over the highest others"""
    @overload
    def __init__(self, name: Literal["tpauc-minmax"], *, seed: int = 1, fpr: float | str = ..., tpr: float | str = ..., variables: float | str = ..., rate: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., relevant: float | str = ...) -> None:
        """two-way partial AUC: the lowest relevant items against the highest others"""
    @overload
    def __init__(self, name: Literal["top-push"], *, seed: int = 1, surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., relevant: float | str = ...) -> None:
        """relevant items against the highest other"""
    @overload
    def __init__(self, name: Literal["p-norm-push-minmax"], *, seed: int = 1, p: float | str = ..., variables: float | str = ..., rate: float | str = ..., surrogate: float | str = ..., margin: float | str = ..., temperature: float | str = ..., relevant: float | str = ...) -> None:
        """p-norm push by its conjugate, without trackers"""
    @overload
    def __init__(self, name: Literal["squared"], *, seed: int = 1, sum: float | str = ...) -> None:
        """squared difference of score and label"""
    @overload
    def __init__(self, name: Literal["logistic"], *, seed: int = 1, relevant: float | str = ..., certain: float | str = ..., sum: float | str = ...) -> None:
        """the score as log-odds of being relevant"""
    @overload
    def __init__(self, name: Literal["cross-entropy"], *, seed: int = 1, relevant_weight: float | str = ..., sum: float | str = ..., relevant: float | str = ...) -> None:
        """cross-entropy with a weight for relevant items"""
    @overload
    def __init__(self, name: Literal["focal"], *, seed: int = 1, focus: float | str = ..., alpha: float | str = ..., sum: float | str = ..., relevant: float | str = ...) -> None:
        """cross-entropy in which easy items count little"""
    @overload
    def __init__(self, name: Literal["ordinal"], *, seed: int = 1, levels: float | str = ..., spacing: float | str = ..., sum: float | str = ...) -> None:
        """one logistic question per grade: this grade or better?"""
    @overload
    def __init__(self, name: Literal["ranknet"], *, seed: int = 1, temperature: float | str = ..., sum: float | str = ...) -> None:
        """logistic loss of pairs in the wrong order"""
    @overload
    def __init__(self, name: Literal["ranksvm"], *, seed: int = 1, margin: float | str = ..., sum: float | str = ...) -> None:
        """hinge loss of pairs that do not stand a margin apart"""
    @overload
    def __init__(self, name: Literal["squared-hinge"], *, seed: int = 1, margin: float | str = ..., sum: float | str = ...) -> None:
        """squared hinge loss of pairs that do not stand a margin apart"""
    @overload
    def __init__(self, name: Literal["margin"], *, seed: int = 1, b: float | str = ...) -> None:
        """squared hinge of pairs, added up: the loss of supervised PageRank"""
    @overload
    def __init__(self, name: Literal["bpr"], *, seed: int = 1, temperature: float | str = ..., sum: float | str = ..., relevant: float | str = ...) -> None:
        """logistic loss of pairs of a relevant and another item"""
    @overload
    def __init__(self, name: Literal["lambdarank", "lambdamart"], *, seed: int = 1, k: float | str = ..., sigma: float | str = ..., norm: float | str = ..., gain: float | str = ...) -> None:
        """logistic loss of pairs weighted by what their swap changes in NDCG"""
    @overload
    def __init__(self, name: Literal["lambda-map"], *, seed: int = 1, k: float | str = ..., sigma: float | str = ..., norm: float | str = ..., relevant: float | str = ...) -> None:
        """logistic loss of pairs weighted by what their swap changes in average precision"""
    @overload
    def __init__(self, name: Literal["lambda-mrr"], *, seed: int = 1, k: float | str = ..., sigma: float | str = ..., norm: float | str = ..., relevant: float | str = ...) -> None:
        """logistic loss of pairs weighted by what their swap changes in the reciprocal rank"""
    @overload
    def __init__(self, name: Literal["lambda-err"], *, seed: int = 1, k: float | str = ..., sigma: float | str = ..., norm: float | str = ..., max: float | str = ...) -> None:
        """logistic loss of pairs weighted by what their swap changes in ERR"""
    @overload
    def __init__(self, name: Literal["lambda-p"], *, seed: int = 1, k: float | str = ..., sigma: float | str = ..., norm: float | str = ..., relevant: float | str = ...) -> None:
        """logistic loss of pairs weighted by what their swap changes in precision at K"""
    @overload
    def __init__(self, name: Literal["ndcg-loss1"], *, seed: int = 1, sigma: float | str = ..., gain: float | str = ...) -> None:
        """LambdaLoss: each gain against all other items"""
    @overload
    def __init__(self, name: Literal["ndcg-loss2"], *, seed: int = 1, k: float | str = ..., sigma: float | str = ..., gain: float | str = ...) -> None:
        """LambdaLoss: pairs weighted by a tight bound on NDCG"""
    @overload
    def __init__(self, name: Literal["ndcg-loss2pp"], *, seed: int = 1, k: float | str = ..., mu: float | str = ..., sigma: float | str = ..., gain: float | str = ...) -> None:
        """LambdaLoss: NDCG-Loss2 and LambdaRank together"""
    @overload
    def __init__(self, name: Literal["listnet", "softmax"], *, seed: int = 1, target: float | str = ...) -> None:
        """cross-entropy between the labels' and the scores' top-one chances"""
    @overload
    def __init__(self, name: Literal["listmle"], *, seed: int = 1, tied: float | str = ...) -> None:
        """likelihood of the labels' order when items are drawn by e^score"""
    @overload
    def __init__(self, name: Literal["p-listmle"], *, seed: int = 1, tied: float | str = ...) -> None:
        """ListMLE with weights that halve from place to place"""
    @overload
    def __init__(self, name: Literal["rankcosine"], *, seed: int = 1, centred: float | str = ..., floor: float | str = ...) -> None:
        """angle between labels and scores"""
    @overload
    def __init__(self, name: Literal["xe-ndcg"], *, seed: int = 1, gain: float | str = ..., trees: float | str = ...) -> None:
        """cross-entropy with shaken gains, a convex bound on NDCG"""
    @overload
    def __init__(self, name: Literal["approx-ndcg"], *, seed: int = 1, temperature: float | str = ..., gain: float | str = ...) -> None:
        """NDCG with smooth ranks"""
    @overload
    def __init__(self, name: Literal["gumbel-ndcg"], *, seed: int = 1, samples: float | str = ..., beta: float | str = ..., temperature: float | str = ..., gain: float | str = ...) -> None:
        """ApproxNDCG over shaken scores"""
    @overload
    def __init__(self, name: Literal["approx-mrr"], *, seed: int = 1, temperature: float | str = ..., relevant: float | str = ...) -> None:
        """reciprocal rank with smooth ranks"""
    @overload
    def __init__(self, name: Literal["neural-ndcg"], *, seed: int = 1, k: float | str = ..., temperature: float | str = ..., iterations: float | str = ..., tolerance: float | str = ..., gain: float | str = ...) -> None:
        """NDCG of a relaxed sort, balanced by Sinkhorn"""
    @overload
    def __init__(self, name: Literal["neural-ndcg-stochastic"], *, seed: int = 1, k: float | str = ..., samples: float | str = ..., beta: float | str = ..., floor: float | str = ..., temperature: float | str = ..., iterations: float | str = ..., tolerance: float | str = ..., gain: float | str = ...) -> None:
        """NeuralNDCG over random orders near the present one"""
    @overload
    def __init__(self, name: Literal["pirank"], *, seed: int = 1, k: float | str = ..., temperature: float | str = ..., straight: float | str = ..., gain: float | str = ...) -> None:
        """NDCG@K of a relaxed sort, only K places built"""
    @overload
    def __init__(self, name: Literal["smoothi"], *, seed: int = 1, k: float | str = ..., alpha: float | str = ..., delta: float | str = ..., frozen: float | str = ..., gain: float | str = ...) -> None:
        """NDCG@K by smooth rank indicators"""
    @overload
    def __init__(self, name: Literal["softrank"], *, seed: int = 1, sigma: float | str = ..., gain: float | str = ...) -> None:
        """expected NDCG when scores are normal variables"""
    @overload
    def __init__(self, name: Literal["yetirank"], *, seed: int = 1, samples: float | str = ..., decay: float | str = ...) -> None:
        """logistic loss of neighbours in random orders"""
    @overload
    def __init__(self, name: Literal["global-contrastive"], *, seed: int = 1, temperature: float | str = ..., epsilon: float | str = ..., gamma: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """one relevant item against the tracked mean of all others (SogCLR)"""
    @overload
    def __init__(self, name: Literal["nca"], *, seed: int = 1, temperature: float | str = ..., gamma: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """share of the relevant items in a softmax, tracked"""
    @overload
    def __init__(self, name: Literal["log-nca"], *, seed: int = 1, temperature: float | str = ..., gamma: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """logarithm of the share of the relevant items in a softmax, tracked"""
    @overload
    def __init__(self, name: Literal["sup-con"], *, seed: int = 1, temperature: float | str = ..., gamma: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """supervised contrastive loss with one tracked normaliser per list"""
    @overload
    def __init__(self, name: Literal["smooth-ap"], *, seed: int = 1, temperature: float | str = ..., relevant: float | str = ...) -> None:
        """average precision of the batch with sigmoid ranks"""
    @overload
    def __init__(self, name: Literal["fast-ap"], *, seed: int = 1, bins: float | str = ..., relevant: float | str = ...) -> None:
        """average precision of the batch from soft histograms"""
    @overload
    def __init__(self, name: Literal["contrastive"], *, seed: int = 1, near: float | str = ..., far: float | str = ..., over: float | str = ..., relevant: float | str = ...) -> None:
        """relevant items near, others far, by two margins"""
    @overload
    def __init__(self, name: Literal["triplet"], *, seed: int = 1, margin: float | str = ..., mining: float | str = ..., over: float | str = ..., relevant: float | str = ...) -> None:
        """relevant items more similar than others by a margin, with mining"""
    @overload
    def __init__(self, name: Literal["multi-similarity"], *, seed: int = 1, alpha: float | str = ..., beta: float | str = ..., base: float | str = ..., epsilon: float | str = ..., relevant: float | str = ...) -> None:
        """soft maxima over hard relevant items and hard others"""
    @overload
    def __init__(self, name: str, *, seed: int = 1, **params: Any) -> None: ...
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes up what `state_dict` gave; `prepare` must have seen the same lists."""
    @property
    def name(self) -> str:
        """As the command would be asked for it."""
    def prepare(self, labels: Any, *, group: Any = None, qid: Any = None, item_weight: Any = None, list_weight: Any = None, unjudged: bool = False) -> Objective:
        """Tells the labels and lists of the data set; what was remembered about others is forgotten."""
    def state_dict(self) -> dict[str, Any]:
        """What the objective remembers, to go on later with the same lists: `load_state_dict` takes it."""
    def step(self, scores: Any, *, lists: Any = None, items: Sequence[Any] | None = None, importance: Any = None, previous: Any = None, curvature: bool = False, sum: bool = False) -> Gradient:
        """Loss, gradient and curvature; what the objective remembers moves on by one step.

        scores: one per item of all lists, or of the drawn ones, draw after draw.
        lists: numbers of the drawn lists, in any order; items: for each of them the places of the drawn items (all if
        left out); importance: what each draw counts for where lists are not drawn evenly.
        previous: scores of the same items under the model of the step before, for objectives that use them.
        sum: the sum over lists instead of their mean, as boosted trees want it.
        """
    @property
    def steps(self) -> int:
        """Steps done since `prepare`."""

class PageRank:
    """PageRank with a certified error: classical, weighted, personalised, or with weights learned from judgements.

    restart: probability of a restart at each step (others call 1 − restart the damping factor).
    dangling: where walks go from nodes without out-edges: "restart" (to the seeds) or "uniform" (to any node).
    error: largest error of the distribution in the 1-norm.

    The others are for learned walks and those of `toprank pagerank train`; None is what suits the objective:
    objective: "margin", another one of `toprank.objectives()`, or a metric to be best at ("ndcg@10").
    method: "gbn", "gfn", "gbp" or "adam"; steps: most of them; epsilon, lipschitz, step_size, rate, theory, radius, seed: of
    the methods. scores: what they are, "probability", "scaled" (n times it) or "log". metric: to validate by.
    scale: divide every feature by its largest value while learning. ends: whether edges have the features of the nodes they
    join; None: if they have none of their own. verbose: as in `Ranker`.

    >>> ranked = toprank.PageRank().fit(["a", "b", "c"], ["b", "c", "b"])
    >>> dict(zip(ranked.nodes_, ranked.scores_))

    >>> walk = toprank.PageRank(objective="song").fit(sources, targets, edge_features=clicks, judgements={"a": 2, "c": 0})
    >>> walk.save("walk.toprank")                      # the file of `toprank pagerank train`
    """
    dangling: Any
    ends: Any
    epsilon: Any
    error: Any
    error_bound_: Any
    header_: dict[str, Any]
    history_: Any
    lipschitz: Any
    loss_: dict[str, float]
    method: Any
    metric: Any
    metric_: Any
    nodes_: Any
    objective: Any
    products_: Any
    radius: Any
    rate: Any
    restart: Any
    scale: Any
    scores: Any
    scores_: Any
    seed: Any
    step_size: Any
    steps: Any
    theory: Any
    verbose: Any
    walk_: Any
    weights_: dict[str, float]
    def __init__(self, *, restart: float = 0.15, dangling: str = 'restart', error: float = 1e-09, objective: str = 'margin', method: str | None = None, scores: str | None = None, metric: str | None = None, steps: int | None = None, epsilon: float = 1e-06, lipschitz: float = 0.0001, step_size: float = 100.0, rate: float = 0.02, theory: bool = False, radius: float | None = None, scale: bool = True, ends: bool | None = None, seed: int = 1, verbose: bool | None = None) -> None:
        ...
    def fit(self, graph: Any, targets: Any = None, *, weights: Any = None, edge_features: Any = None, nodes: Any = None, node_features: Any = None, seeds: Any = None, judgements: Any = None, valid: Any = None) -> PageRank:
        """Ranks the nodes of a graph; with judgements, learns the weights of its features first.

        graph: sources of the edges, beside their targets; then the other arguments are those of `toprank.Graph`. Or a
        `toprank.Graph`, {list: Graph}, or a folder of tables as `toprank pagerank train --graphs` takes it.
        valid: the same for validation: the weights that are best there are kept.

        Afterwards `nodes_` names the nodes and `scores_` holds their scores (several lists: dictionaries by list);
        `error_bound_` is what the error of a list's probabilities is at most. Learned walks have `weights_` by feature,
        `loss_` and `metric_` (of the untuned and the learned walk) and `history_` (step, loss, gradient norm, Lipschitz
        estimate), too.
        """
    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PageRank:
        """A learned walk from a file of the command or of `save`."""
    def predict(self, graph: Any, targets: Any = None, *, weights: Any = None, edge_features: Any = None, nodes: Any = None, node_features: Any = None, seeds: Any = None, judgements: Any = None) -> Any:
        """Scores of the nodes of other graphs by the learned walk; the arguments are those of `fit`."""
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the walk file of the command: `toprank pagerank predict` and `load` take it."""
    def score(self, graph: Any, targets: Any = None, *, metric: str | None = None, **columns: Any) -> float:
        """The mean of a metric over the lists of judged graphs; the other arguments are those of `fit`.

        metric: that of training, unless given; NaN if no list has a value.
        """

class Ranker:
    """Learns to put the items of each list in order.

    model: "mlp", "linear", "context" or "trees", with parameters: "mlp:hidden=256-128", "trees:l2=1"; `toprank.models()`.
    objective: the metric to be best at ("ndcg@10") or an objective of `toprank.objectives()` ("song:gamma=0.3").
    algorithm: the objective that is to serve the metric, instead of the one toprank would choose.

    For networks: epochs (most passes over the data), optimiser ("adam"), rate (of learning), schedule ("cosine:warmup=0.05"),
    sampler (what a batch is, "lists:batch=32"), warm_up (passes with cross-entropy first), clip (largest norm of a gradient),
    average ("ema:decay=0.999"). For trees: trees (most rounds), leaves (of each), rate.

    transforms: steps on the features, fitted to the training data and kept in the model ("standard", "none").
    metric: of validation; patience: passes or rounds without a better one before training stops.
    folds: of a cross-validation before the model is trained on all rows (`oof_scores_`); calibrate: "platt", "isotonic", "none".
    seed: of everything random. None is always the default for the model and the data; `config_` says what it came to.
    list_column: the column of X that holds the list of each row, instead of qid= or group=: for grid searches.
    verbose: show progress; None: in terminals and notebooks, once a fit takes longer than a second.

    After fit: `config_`, `history_` (a record per pass), `feature_names_in_`, `n_features_in_`.

    >>> ranker = toprank.Ranker("trees", "ndcg@10", trees=300).fit(X, y, qid=query, eval_set=(V, v), eval_qid=w)
    >>> scores = ranker.predict(T, qid=t)
    """
    algorithm: Any
    average: Any
    calibrate: Any
    clip: Any
    config_: dict[str, Any]
    epochs: Any
    feature_names_in_: Any
    folds: Any
    header_: dict[str, Any]
    history_: Any
    leaves: Any
    list_column: Any
    metric: Any
    model: Any
    model_: Any
    n_features_in_: int
    objective: Any
    oof_scores_: Any
    optimiser: Any
    patience: Any
    rate: Any
    sampler: Any
    schedule: Any
    seed: Any
    transforms: Any
    trees: Any
    verbose: Any
    warm_up: Any
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Any: ...
    def __init__(self, model: str = 'mlp', objective: str | None = None, *, algorithm: str | None = None, optimiser: str | None = None, rate: float | None = None, schedule: str | None = None, sampler: str | None = None, epochs: int | None = None, trees: int | None = None, leaves: int | None = None, transforms: str | None = None, metric: str | None = None, patience: int | None = None, warm_up: int | None = None, clip: float | None = None, average: str | None = None, folds: int | None = None, calibrate: str | None = None, seed: int | None = None, list_column: str | None = None, verbose: bool | None = None) -> None:
        ...
    def fit(self, X: Any, y: Any, *, group: Any = None, qid: Any = None, sample_weight: Any = None, eval_set: Any = None, eval_group: Any = None, eval_qid: Any = None, from_model: Any = None) -> Ranker:
        """Trains on lists given by sizes (group) or names (qid); neither: all rows are one list.

        eval_set: (X, y) of other lists; the model that is best on them is kept, and training stops early.
        from_model: a model file to go on from.
        """
    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """A fitted estimator from a model file of the command or of `save`."""
    def predict(self, X: Any, *, group: Any = None, qid: Any = None) -> np.ndarray:
        """One score per row, higher is better. A model that looks at whole lists needs to know them."""
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model file of the command: `toprank predict` and `load` take it."""
    def score(self, X: Any, y: Any, *, group: Any = None, qid: Any = None, sample_weight: Any = None) -> float:
        """The metric of validation on these lists (`config_["metric"]`), negated if lower is better."""

class Value:
    """One metric on all lists."""
    metric: str
    mean: float
    interval: tuple[float, float] | None
    per_list: np.ndarray
    used: int
    undefined: int
    higher_is_better: bool
    method: str | None

__version__: str

def compare(runs: Mapping[str, Any], labels: Any, *, metrics: str | Iterable[str] = ('ndcg@10', 'map'), tests: str | Iterable[str] | None = None, correction: str = 'holm', tukey: str | None = None, biggest: int = 10, level: float = 0.95, replicates: int = 2000, seed: int = 1, **judging: Any) -> Comparison:
    """Compares runs on the same lists: means, differences with intervals, paired tests, corrected p values.

    runs: scores by the name of the run; labels: as for `evaluate`. With judgements as labels (dictionary or file) runs are
    dictionaries or files too, and a query that a run does not answer is an empty ranking.
    tests: of every pair, "t", "wilcoxon", "sign", "randomisation:n=10000", "bootstrap" (default: "t", "randomisation"). Of one
    list (binary data) rows are drawn: "delong" (AUROC), "bootstrap", "permutation:n=10000" (default: all three).
    correction: of p values over all pairs and metrics, "holm", "bh", "none"; intervals of differences have its level.
    The other arguments are those of `evaluate`: group, qid, like, policy, list_weight …

    >>> toprank.compare({"bm25": old, "mlp": new}, labels, qid=query, metrics="ndcg@10").to_frame()
    """

def evaluate(labels: Any, scores: Any, *, group: Any = None, qid: Any = None, metrics: str | Iterable[str] = ('ndcg@10', 'map', 'mrr'), like: str | None = None, policy: str | Mapping[str, Any] | None = None, item_weight: Any = None, list_weight: Any = None, unjudged: bool = False, complete: bool = False, depth: int | None = None, level: float = 0.95, replicates: int = 1000, seed: int = 1) -> Evaluation:
    """Evaluates scores: means, confidence intervals and values per list.

    labels, scores: one number per item, higher is better; or judgements and a run: {query: {document: number}} or a file.
    group: sizes of the lists; qid: the name of each item's list; neither: all items are one list (binary data).
    metrics: names as the command takes them: "ndcg@10", "pauc:fpr=0.1", "ndcg@10:gain=linear:ties=worst"; those of trec_eval
    ("P_5"), ir_measures ("nDCG@10") and scikit-learn ("roc_auc") are understood, results have our names.
    like: another tool's conventions; one of `toprank.presets()`.
    policy: rules for all metrics, {"ties": "worst", "empty": "zero"}; they are stronger than `like`.
    unjudged: True takes the label NaN as "not judged" instead of refusing it.
    complete: judged queries that a run does not answer are empty rankings (trec_eval -c) instead of being excluded.
    depth: evaluate only that many documents of each query of a run (trec_eval -M).
    replicates: resamples of the interval; 0: no interval. Several lists are resampled; of one list its rows are, relevant and
    other ones separately, and AUROC has DeLong's interval. With fewer than 50 relevant rows intervals are too short.

    >>> toprank.evaluate([1, 0, 0, 2], [0.9, 0.8, 0.3, 0.7], group=[2, 2], metrics="mrr")["mrr"]
    1.0
    """

def gradient(objective: str, scores: Any, labels: Any, *, group: Any = None, qid: Any = None, item_weight: Any = None, list_weight: Any = None, curvature: bool = True, sum: bool = False, unjudged: bool = False, seed: int = 1, **params: Any) -> Gradient:
    """Loss, gradient and curvature of an objective at these scores, with nothing remembered.

    >>> toprank.gradient("ranknet", [0.0, 0.0], [1, 0]).gradient
    array([-0.5,  0.5])
    """

def metrics() -> Listing:
    """The metrics by name: `metrics()["ndcg"].page` is what `toprank metrics ndcg` prints."""

def models() -> Listing:
    """The models of `Ranker` and `Classifier` by name."""

def objectives() -> Listing:
    """The objectives by name: `objectives()["song"].params` are its parameters."""

def presets() -> dict[str, str]:
    """What `like=` may be, and what it stands for."""
