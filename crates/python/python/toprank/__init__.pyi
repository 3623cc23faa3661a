# Written by `python crates/python/run_tests.py --stubs`.
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np


MetricName = Literal["ndcg", "ndcg_score", "dcg", "dcg_score", "err", "map", "ap", "mauprc", "mean_average_precision", "gm-map", "gm_map", "gmap", "mrr", "rr", "recip_rank", "p", "precision", "set_p", "setp", "recall", "r", "set_recall", "setr", "success", "hit", "hits", "hr", "hit_rate", "f1", "set_f", "setf", "rprec", "r-prec", "rbp", "iprec", "iprec_at_recall", "11pt", "11pt_avg", "bpref", "judged", "rbp-residual", "auroc", "auc", "roc_auc", "roc_auc_score", "pauc", "auprc", "average_precision", "average_precision_score", "pap", "top-push", "p-norm-push", "pairs", "kendall", "tau", "kendalltau", "spearman", "spearmanr"]

ObjectiveName = Literal["song", "song-v1", "song-v2", "song-minibatch", "song-storm", "ap", "soprc", "listwise-ce", "precision", "recall", "p-norm-push", "auroc", "pauc-kl", "tpauc-kl", "top-push-kl", "k-song", "k-song-v1", "k-song-v2", "k-song-rank", "top-ap", "precision-threshold", "recall-threshold", "precision-at-recall", "pauc-bilevel", "tpauc-bilevel", "pap", "top-push-bilevel", "auroc-minmax", "auroc-margin", "pauc-cvar", "tpauc-minmax", "top-push", "p-norm-push-minmax", "squared", "logistic", "cross-entropy", "focal", "ordinal", "ranknet", "ranksvm", "squared-hinge", "margin", "bpr", "lambdarank", "lambdamart", "lambda-map", "lambda-mrr", "lambda-err", "lambda-p", "ndcg-loss1", "ndcg-loss2", "ndcg-loss2pp", "listnet", "softmax", "listmle", "p-listmle", "rankcosine", "xe-ndcg", "approx-ndcg", "gumbel-ndcg", "approx-mrr", "neural-ndcg", "neural-ndcg-stochastic", "pirank", "smoothi", "softrank", "yetirank", "global-contrastive", "nca", "log-nca", "sup-con", "smooth-ap", "fast-ap", "contrastive", "triplet", "multi-similarity"]

class Classifier:
    """Learns to rank positives above negatives: binary data, or several labels over the same rows.

    The parameters are those of `Ranker`; the default objective is "auroc". Calibration uses rows that the model was not trained
    on: those of eval_set, or else out-of-fold scores (of five folds, unless folds is given).

    >>> model = toprank.Classifier("trees", "auprc").fit(X, y)
    >>> model.predict_proba(T)[:, 1]
    """
    algorithm: str | None
    calibrate: str | None
    classes_: Any
    clip: float | None
    config_: dict[str, Any]
    epochs: int | None
    feature_names_in_: Any
    folds: int | None
    header_: dict[str, Any]
    history_: Any
    learning_rate: float | None
    leaves: int | None
    list_column: str | None
    min_rows: int | None
    model: str | None
    model_: Any
    n_features_in_: int
    objective: str | None
    oof_scores_: Any
    optimiser: str | None
    outputs_: list[str] | None
    patience: int | None
    sampler: str | None
    schedule: str | None
    seed: int | None
    transforms: str | None
    trees: int | None
    valid_metric: str | None
    verbose: bool | None
    warm_up: int | None
    weight_average: str | None
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Any: ...
    def __init__(self, model: str | None = None, objective: str | None = None, *, algorithm: str | None = None, optimiser: str | None = None, learning_rate: float | None = None, schedule: str | None = None, sampler: str | None = None, epochs: int | None = None, trees: int | None = None, leaves: int | None = None, min_rows: int | None = None, transforms: str | None = None, valid_metric: str | None = None, patience: int | None = None, warm_up: int | None = None, clip: float | None = None, weight_average: str | None = None, folds: int | None = None, calibrate: str | None = None, seed: int | None = None, list_column: str | None = None, verbose: bool | None = None) -> None:
        ...
    def decision_function(self, X: Any) -> np.ndarray:
        """Returns one score per row, or per row and label; higher is more likely positive."""
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None, eval_set: Any = None, from_model: Any = None, checkpoint: Any = None, resume: bool = False) -> Classifier:
        """Trains; y holds two classes, or a column of 0 and 1 per label (NaN: not judged).

        The other arguments are those of `Ranker.fit`.
        """
    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """Loads a fitted estimator from a model file of the command or of `save`."""
    def predict(self, X: Any) -> np.ndarray:
        """Returns the class, or the labels, of probability above one half."""
    def predict_proba(self, X: Any) -> np.ndarray:
        """Returns calibrated probabilities: of both classes, or of each label."""
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file: `load` and the command (`toprank predict`) read it."""

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
    """The result of a step; arrays are in the order of the scores."""
    loss: float
    gradient: np.ndarray
    hessian: np.ndarray | None
    gradient_previous: np.ndarray | None
    losses: np.ndarray
    used: int
    without_gradient: int

class Graph:
    """A graph with edges sources[e] → targets[e], their features, seeds and judgements.

    weights: One per edge, 0 or above; for a learned walk they are an additional feature of edges.
    edge_features: A row per edge, 0 or above; an array or a frame, whose column names are kept.
    nodes: Names of all nodes, if some have no edge, or to fix their order.
    node_features: A row for each of `nodes`, 0 or above.
    seeds: Where walks start: nodes, {node: weight} (plain walks), or {list: nodes}; omitted, all nodes with equal probability.
    judgements: What walks are learned from: {node: label}, or {list: {node: label}} for several lists over the graph.
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
        """The lists over this graph with their judgements; one without a name is called all, as by the command."""
    def number(self, name: Any, what: str) -> int:
        """The node of that name."""
    def own_columns(self) -> tuple[list[str], np.ndarray]:
        """The edges' own features, weights among them."""
    def seeds_of(self, name: str) -> np.ndarray:
        """Numbers of the nodes where walks of a list start, ascending."""

class Objective:
    """An objective with its parameters and its state: trackers, thresholds, duals.

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
        """AUPRC from biased batches, by the true fraction of relevant items"""
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
        """p-th power of how far other items are above"""
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
        """AUROC, margin form: no gradient beyond the margin"""
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
        """squared difference between score and label"""
    @overload
    def __init__(self, name: Literal["logistic"], *, seed: int = 1, relevant: float | str = ..., certain: float | str = ..., sum: float | str = ...) -> None:
        """the score as log-odds of being relevant"""
    @overload
    def __init__(self, name: Literal["cross-entropy"], *, seed: int = 1, relevant_weight: float | str = ..., sum: float | str = ..., relevant: float | str = ...) -> None:
        """cross-entropy with a weight for relevant items"""
    @overload
    def __init__(self, name: Literal["focal"], *, seed: int = 1, focus: float | str = ..., alpha: float | str = ..., sum: float | str = ..., relevant: float | str = ...) -> None:
        """cross-entropy that down-weights easy items"""
    @overload
    def __init__(self, name: Literal["ordinal"], *, seed: int = 1, levels: float | str = ..., spacing: float | str = ..., sum: float | str = ...) -> None:
        """ordinal regression: a logistic loss per grade threshold"""
    @overload
    def __init__(self, name: Literal["ranknet"], *, seed: int = 1, temperature: float | str = ..., sum: float | str = ...) -> None:
        """logistic loss over pairs with different labels"""
    @overload
    def __init__(self, name: Literal["ranksvm"], *, seed: int = 1, margin: float | str = ..., sum: float | str = ...) -> None:
        """hinge loss over pairs that are less than a margin apart"""
    @overload
    def __init__(self, name: Literal["squared-hinge"], *, seed: int = 1, margin: float | str = ..., sum: float | str = ...) -> None:
        """squared hinge loss over pairs that are less than a margin apart"""
    @overload
    def __init__(self, name: Literal["margin"], *, seed: int = 1, b: float | str = ...) -> None:
        """squared hinge summed over pairs: the loss of supervised PageRank"""
    @overload
    def __init__(self, name: Literal["bpr"], *, seed: int = 1, temperature: float | str = ..., sum: float | str = ..., relevant: float | str = ...) -> None:
        """Bayesian personalised ranking: logistic loss over pairs of a relevant and another item"""
    @overload
    def __init__(self, name: Literal["lambdarank", "lambdamart"], *, seed: int = 1, k: float | str = ..., sigma: float | str = ..., norm: float | str = ..., gain: float | str = ...) -> None:
        """logistic loss over pairs, weighted by how much a swap changes NDCG"""
    @overload
    def __init__(self, name: Literal["lambda-map"], *, seed: int = 1, k: float | str = ..., sigma: float | str = ..., norm: float | str = ..., relevant: float | str = ...) -> None:
        """logistic loss over pairs, weighted by how much a swap changes average precision"""
    @overload
    def __init__(self, name: Literal["lambda-mrr"], *, seed: int = 1, k: float | str = ..., sigma: float | str = ..., norm: float | str = ..., relevant: float | str = ...) -> None:
        """logistic loss over pairs, weighted by how much a swap changes the reciprocal rank"""
    @overload
    def __init__(self, name: Literal["lambda-err"], *, seed: int = 1, k: float | str = ..., sigma: float | str = ..., norm: float | str = ..., max: float | str = ...) -> None:
        """logistic loss over pairs, weighted by how much a swap changes ERR"""
    @overload
    def __init__(self, name: Literal["lambda-p"], *, seed: int = 1, k: float | str = ..., sigma: float | str = ..., norm: float | str = ..., relevant: float | str = ...) -> None:
        """logistic loss over pairs, weighted by how much a swap changes precision at K"""
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
        """cross-entropy between the top-one probabilities of labels and scores"""
    @overload
    def __init__(self, name: Literal["listmle"], *, seed: int = 1, tied: float | str = ...) -> None:
        """likelihood of the order of the labels under the Plackett–Luce model"""
    @overload
    def __init__(self, name: Literal["p-listmle"], *, seed: int = 1, tied: float | str = ...) -> None:
        """ListMLE with weights that halve from position to position"""
    @overload
    def __init__(self, name: Literal["rankcosine"], *, seed: int = 1, centred: float | str = ..., floor: float | str = ...) -> None:
        """cosine of the angle between labels and scores"""
    @overload
    def __init__(self, name: Literal["xe-ndcg"], *, seed: int = 1, gain: float | str = ..., trees: float | str = ...) -> None:
        """cross-entropy with perturbed gains, a convex bound on NDCG"""
    @overload
    def __init__(self, name: Literal["approx-ndcg"], *, seed: int = 1, temperature: float | str = ..., gain: float | str = ...) -> None:
        """NDCG with smooth ranks"""
    @overload
    def __init__(self, name: Literal["gumbel-ndcg"], *, seed: int = 1, samples: float | str = ..., beta: float | str = ..., temperature: float | str = ..., gain: float | str = ...) -> None:
        """ApproxNDCG averaged over perturbed scores"""
    @overload
    def __init__(self, name: Literal["approx-mrr"], *, seed: int = 1, temperature: float | str = ..., relevant: float | str = ...) -> None:
        """reciprocal rank with smooth ranks"""
    @overload
    def __init__(self, name: Literal["neural-ndcg"], *, seed: int = 1, k: float | str = ..., temperature: float | str = ..., iterations: float | str = ..., tolerance: float | str = ..., gain: float | str = ...) -> None:
        """NDCG of a relaxed sort with Sinkhorn scaling"""
    @overload
    def __init__(self, name: Literal["neural-ndcg-stochastic"], *, seed: int = 1, k: float | str = ..., samples: float | str = ..., beta: float | str = ..., floor: float | str = ..., temperature: float | str = ..., iterations: float | str = ..., tolerance: float | str = ..., gain: float | str = ...) -> None:
        """NeuralNDCG averaged over perturbed scores"""
    @overload
    def __init__(self, name: Literal["pirank"], *, seed: int = 1, k: float | str = ..., temperature: float | str = ..., straight: float | str = ..., gain: float | str = ...) -> None:
        """NDCG@K of a relaxed sort, of which only K rows are computed"""
    @overload
    def __init__(self, name: Literal["smoothi"], *, seed: int = 1, k: float | str = ..., alpha: float | str = ..., delta: float | str = ..., frozen: float | str = ..., gain: float | str = ...) -> None:
        """NDCG@K by smooth rank indicators"""
    @overload
    def __init__(self, name: Literal["softrank"], *, seed: int = 1, sigma: float | str = ..., gain: float | str = ...) -> None:
        """expected NDCG if scores are normally distributed"""
    @overload
    def __init__(self, name: Literal["yetirank"], *, seed: int = 1, samples: float | str = ..., decay: float | str = ...) -> None:
        """logistic loss over adjacent items in random orders"""
    @overload
    def __init__(self, name: Literal["global-contrastive"], *, seed: int = 1, temperature: float | str = ..., epsilon: float | str = ..., gamma: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """one relevant item against the tracked mean of all others (SogCLR)"""
    @overload
    def __init__(self, name: Literal["nca"], *, seed: int = 1, temperature: float | str = ..., gamma: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """fraction of the softmax mass on relevant items, tracked"""
    @overload
    def __init__(self, name: Literal["log-nca"], *, seed: int = 1, temperature: float | str = ..., gamma: float | str = ..., lagged: float | str = ..., relevant: float | str = ...) -> None:
        """logarithm of the fraction of the softmax mass on relevant items, tracked"""
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
        """similarity of relevant items above one margin, of others below another"""
    @overload
    def __init__(self, name: Literal["triplet"], *, seed: int = 1, margin: float | str = ..., mining: float | str = ..., over: float | str = ..., relevant: float | str = ...) -> None:
        """relevant items more similar than others by a margin, with mining"""
    @overload
    def __init__(self, name: Literal["multi-similarity"], *, seed: int = 1, alpha: float | str = ..., beta: float | str = ..., base: float | str = ..., epsilon: float | str = ..., relevant: float | str = ...) -> None:
        """soft maxima over hard relevant items and hard others"""
    @overload
    def __init__(self, name: str, *, seed: int = 1, **params: Any) -> None: ...
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` returned; `prepare` must have been called with the same lists."""
    @property
    def name(self) -> str:
        """The objective as the command takes it."""
    def prepare(self, labels: Any, *, group: Any = None, qid: Any = None, item_weight: Any = None, list_weight: Any = None, unjudged: bool = False) -> Objective:
        """Sets the labels and lists of the data set, and resets the state."""
    def state_dict(self) -> dict[str, Any]:
        """Returns the state, to be restored with the same lists by `load_state_dict`."""
    def step(self, scores: Any, *, lists: Any = None, items: Sequence[Any] | None = None, importance: Any = None, previous: Any = None, hessian: bool = False, sum: bool = False) -> Gradient:
        """Returns loss, gradient and Hessian diagonal, and updates the state by one step.

        scores: One per item of all lists, or of the drawn ones, draw after draw.
        lists: Numbers of the drawn lists, in any order.
        items: For each of them the positions of the drawn items; all if omitted.
        importance: Weight of each draw, where lists are not drawn with equal probability.
        previous: Scores of the same items under the model of the step before, for objectives that use them.
        hessian: Whether to compute the Hessian diagonal.
        sum: Sum over lists instead of their mean, as boosted trees use it.
        """
    @property
    def steps(self) -> int:
        """Steps done since `prepare`."""

class PageRank:
    """PageRank with a certified error: classical, weighted, personalised, or with weights learned from judgements.

    error: Largest error of the distribution in the 1-norm.
    ends: Whether edges have the features of the nodes they join; None: if they have none of their own.
    verbose: Whether to show progress, as in `Ranker`.

    Settings; `restart` and `dangling` belong to every walk, the others to learned ones, and None selects a default that depends on
    other settings:

    objective: Metric to optimise (see `toprank.metrics()`), or a loss by name (see `toprank.objectives()`). (Default:
        margin.)
    algorithm: Override the training objective chosen for the metric. (Default: by objective.)
    learning_rate: Learning rate. (A number above 0; default: 0.02.)
    valid_metric: Metric of validation. (Default: by objective.)
    restart: Restart probability of a walk (its complement is the damping factor). (A number above 0 and below 1; default:
        0.15.)
    dangling: Where a walk continues from dangling nodes: restart (at the seeds) or uniform (at any node). (One of restart,
        uniform; default: restart.)
    method: Optimisation method: gbn, gfn, gbp or adam. (One of gbn, gfn, gbp, adam; default: by objective: gbn for margin
        losses, else adam.)
    scores: What a score is: the probability of a node, the same times the number of nodes (scaled), or its logarithm. (One
        of probability, scaled, log; default: by objective: probability for margin losses, else scaled.)
    steps: Maximum number of steps. (An integer from 1 to 1000000000; default: by method: gbn and gbp 200, adam 300, gfn
        2000.)
    epsilon: Accuracy at which gbn stops, and that the theory of gfn is asked for. (A number above 0; default: 1e-6.)
    lipschitz: First estimate of the Lipschitz constant (gbn), the constant itself (gfn). (A number above 0; default: 1e-4.)
    step_size: Step length of gbp. (A number above 0; default: 100.)
    theory: Take as many steps as the convergence proof of gfn asks for. (Default: false.)
    radius: Radius of the ball around the all-ones weights. (A number above 0 and below 1; default: by method: 0.99; adam:
        none, weights stay above 0.)
    no_scale: Use features as they are, not divided by their largest value. (Default: false.)
    seed: Seed of everything random. (Default: 1.)

    >>> ranked = toprank.PageRank().fit(["a", "b", "c"], ["b", "c", "b"])
    >>> dict(zip(ranked.nodes_, ranked.scores_))

    >>> walk = toprank.PageRank(objective="song").fit(sources, targets, edge_features=clicks, judgements={"a": 2, "c": 0})
    >>> walk.save("walk.toprank")                      # the file of `toprank pagerank train`
    """
    algorithm: str | None
    config_: dict[str, Any]
    dangling: str
    ends: bool | None
    epsilon: float
    error: float
    error_bound_: Any
    header_: dict[str, Any]
    history_: Any
    iterations_: Any
    learning_rate: float
    lipschitz: float
    loss_: dict[str, float]
    method: str | None
    metric_: Any
    no_scale: bool
    nodes_: Any
    objective: str
    radius: float | None
    restart: float
    scores: str | None
    scores_: Any
    seed: int
    step_size: float
    steps: int | None
    theory: bool
    valid_metric: str | None
    verbose: bool | None
    walk_: Any
    weights_: dict[str, float]
    def __init__(self, *, objective: str = 'margin', algorithm: str | None = None, learning_rate: float = 0.02, valid_metric: str | None = None, restart: float = 0.15, dangling: str = 'restart', method: str | None = None, scores: str | None = None, steps: int | None = None, epsilon: float = 1e-06, lipschitz: float = 0.0001, step_size: float = 100.0, theory: bool = False, radius: float | None = None, no_scale: bool = False, seed: int = 1, error: float = 1e-09, ends: bool | None = None, verbose: bool | None = None) -> None:
        ...
    def fit(self, graph: Any, targets: Any = None, *, weights: Any = None, edge_features: Any = None, nodes: Any = None, node_features: Any = None, seeds: Any = None, judgements: Any = None, valid: Any = None) -> PageRank:
        """Ranks the nodes of a graph; with judgements, learns the weights of its features first.

        graph: Sources of the edges, beside their targets; then the other arguments are those of `toprank.Graph`. Or a
            `toprank.Graph`, {list: Graph}, or a folder of tables as `toprank pagerank train --graphs` takes it.
        valid: Validation data of the same form: the weights that are best on them are kept.

        Afterwards `nodes_` names the nodes, `scores_` holds their scores (several lists: dictionaries by list) and `error_bound_`
        bounds the error of a list's probabilities; plain walks have `iterations_`. Learned walks also have `config_`, `weights_`
        by feature, `loss_` and `metric_` (of the untuned and the learned walk) and `history_` (step, loss, gradient_norm,
        learning_rate).
        """
    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PageRank:
        """Loads a learned walk from a file of the command or of `save`."""
    def predict(self, graph: Any, targets: Any = None, *, weights: Any = None, edge_features: Any = None, nodes: Any = None, node_features: Any = None, seeds: Any = None, judgements: Any = None) -> Any:
        """Returns the scores of the nodes of other graphs by the learned walk; the arguments are those of `fit`."""
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a walk file: `load` and the command (`toprank pagerank predict`) read it."""
    def score(self, graph: Any, targets: Any = None, *, metric: str | None = None, **columns: Any) -> float:
        """Returns the mean of a metric over the lists of judged graphs; the other arguments are those of `fit`.

        metric: That of validation, unless given; the mean is NaN if no list has a value.
        """

class Ranker:
    """Learns to put the items of each list in order. A list is a query with its documents, a user with items, and so on.

    Settings; None selects the default, and after fit `config_` has every value:

    model: Kind of model, with parameters: `mlp:hidden=256-128`, `trees:l2=1`, `neumf` (see `toprank.models()`). (Default:
        mlp.)
    objective: Metric to optimise (see `toprank.metrics()`), or a loss by name (see `toprank.objectives()`). (Default:
        ndcg@10.)
    algorithm: Override the training objective chosen for the metric. (Default: by objective.)
    optimiser: Optimiser, with parameters: sgd, momentum, adam, adamw, storm. (Default: by model.)
    learning_rate: Learning rate. (A number above 0; default: by model.)
    schedule: Learning-rate schedule: constant, step, cosine, theory. (Default: by model.)
    sampler: What a batch holds: lists, slates, strata, pairs or rows, with parameters: `lists:batch=32`. (Default: by model
        and data.)
    epochs: Maximum number of epochs. (An integer from 1 to 1000000; default: by model.)
    trees: Maximum number of boosting rounds of `model` trees. (An integer from 1 to 1000000; default: by model: 300.)
    leaves: Maximum number of leaves of each tree. (An integer from 2 to 65536; default: by data: 31; 7 for fewer than
        50,000 rows in lists.)
    min_rows: Minimum number of rows per leaf. (An integer from 1 to 4294967295; default: by data: 20; 50 for fewer than
        50,000 rows in lists.)
    transforms: Feature transforms, fitted to the training data and stored in the model. (Default: by model and data.)
    valid_metric: Metric of validation. (Default: by objective.)
    patience: Early stopping: epochs without improvement on validation before training stops; 0 disables it. (Default: by
        model.)
    warm_up: Warm-up epochs with listwise cross-entropy; the last layer is then reinitialised. (An integer from 0 to
        1000000; default: 0.)
    clip: Gradient-clipping norm; 0 disables it. (A number of 0 or above; default: by model.)
    weight_average: Weight averaging: none, `ema:decay=0.999`, `tail:from=0.75`. (Default: by model.)
    folds: Folds of a cross-validation before the model is trained on all rows; 0 for none. (Default: 0.)
    calibrate: Calibration from scores to probabilities: auto, platt, isotonic, none. (Default: auto.)
    seed: Seed of everything random. (Default: 1.)

    Parameters of the package alone:

    list_column: Column of X that holds the list of each row, instead of qid= or group=: for cross-validation and grid searches.
    verbose: Whether to show progress; None shows it in terminals and notebooks, once a fit takes longer than a second.

    After fit: `config_`, `history_` (a record per epoch or boosting round), `feature_names_in_`, `n_features_in_`, and with
    folds `oof_scores_` (out-of-fold scores).

    >>> ranker = toprank.Ranker("trees", "ndcg@10", trees=300).fit(X, y, qid=query, eval_set=(V, v), eval_qid=w)
    >>> scores = ranker.predict(T, qid=t)
    """
    algorithm: str | None
    calibrate: str | None
    clip: float | None
    config_: dict[str, Any]
    epochs: int | None
    feature_names_in_: Any
    folds: int | None
    header_: dict[str, Any]
    history_: Any
    learning_rate: float | None
    leaves: int | None
    list_column: str | None
    min_rows: int | None
    model: str | None
    model_: Any
    n_features_in_: int
    objective: str | None
    oof_scores_: Any
    optimiser: str | None
    patience: int | None
    sampler: str | None
    schedule: str | None
    seed: int | None
    transforms: str | None
    trees: int | None
    valid_metric: str | None
    verbose: bool | None
    warm_up: int | None
    weight_average: str | None
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Any: ...
    def __init__(self, model: str | None = None, objective: str | None = None, *, algorithm: str | None = None, optimiser: str | None = None, learning_rate: float | None = None, schedule: str | None = None, sampler: str | None = None, epochs: int | None = None, trees: int | None = None, leaves: int | None = None, min_rows: int | None = None, transforms: str | None = None, valid_metric: str | None = None, patience: int | None = None, warm_up: int | None = None, clip: float | None = None, weight_average: str | None = None, folds: int | None = None, calibrate: str | None = None, seed: int | None = None, list_column: str | None = None, verbose: bool | None = None) -> None:
        ...
    def fit(self, X: Any, y: Any, *, group: Any = None, qid: Any = None, sample_weight: Any = None, eval_set: Any = None, eval_group: Any = None, eval_qid: Any = None, from_model: Any = None, checkpoint: Any = None, resume: bool = False) -> Ranker:
        """Trains on lists given by their sizes (group) or by a name per row (qid).

        eval_set: Validation data (X, y), with eval_group or eval_qid; the best model on them is kept, and early stopping looks
            at them.
        sample_weight: A weight per row, or per list.
        from_model: Model file to warm-start from.
        checkpoint: Model file to write. While training, a checkpoint stands beside it (its name with `.checkpoint` behind it),
            which an interrupted fit leaves there.
        resume: Resume the interrupted fit of this checkpoint; settings and data must be the same, and so is the model.
        """
    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """Loads a fitted estimator from a model file of the command or of `save`."""
    def predict(self, X: Any, *, group: Any = None, qid: Any = None) -> np.ndarray:
        """Returns one score per row, higher is better. Models that look at whole lists need group or qid."""
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file: `load` and the command (`toprank predict`) read it."""
    def score(self, X: Any, y: Any, *, group: Any = None, qid: Any = None, sample_weight: Any = None) -> float:
        """Returns the metric of validation, `config_["valid-metric"]`, on these lists; negated if lower is better."""

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

def gradient(objective: str, scores: Any, labels: Any, *, group: Any = None, qid: Any = None, item_weight: Any = None, list_weight: Any = None, hessian: bool = True, sum: bool = False, unjudged: bool = False, seed: int = 1, **params: Any) -> Gradient:
    """Returns loss, gradient and Hessian diagonal of an objective at these scores, without state.

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
