"""`toprank.explain`: feature importance, SHAP values and partial dependence."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._html import table_html


@dataclass
class Explanation:
    """What a model looks at."""

    features: list[str]
    metric: str
    """The metric of permutation importance."""
    loss: np.ndarray
    """What the metric loses when a feature is shuffled within the lists: the mean over the shuffles."""
    deviation: np.ndarray
    """Its standard deviation."""
    gain: np.ndarray | None
    """How much splits on the feature lowered the training loss (trees)."""
    splits: np.ndarray | None
    """Number of splits on it (trees)."""
    shap: np.ndarray | None = field(default=None, repr=False)
    """What each feature adds to the score of each row: rows × features, or rows × outputs × features."""
    expected: Any = None
    """The expected score, or that of each output: with the sum of a row it is the row's score. Of a model that looks at whole lists it is
    that of each row."""
    shap_error: np.ndarray | None = field(default=None, repr=False)
    """The standard error of each SHAP value, where they are sampled."""
    shap_method: str | None = None
    """How they were computed: exact for models of trees and linear models, sampled for the others."""
    dependence: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, repr=False)
    """By feature: its values, and the mean score of all rows with the feature set to each of them."""
    data: np.ndarray | None = field(default=None, repr=False)

    @property
    def order(self) -> np.ndarray:
        """Numbers of the features, the most important first: by mean |SHAP| if there is one, else by the loss of the metric."""
        sizes = self.loss if self.shap is None else np.abs(self.shap).reshape(-1, len(self.features)).mean(axis=0)
        return np.argsort(-sizes, kind="stable")

    def to_frame(self) -> Any:
        """Return a pandas table of the features, the most important first."""
        import pandas

        columns: dict[str, Any] = {f"loss of {self.metric}": self.loss, "deviation": self.deviation}
        if self.gain is not None:
            columns |= {"gain": self.gain, "splits": self.splits}
        if self.shap is not None:
            columns["mean |SHAP|"] = np.abs(self.shap).reshape(-1, len(self.features)).mean(axis=0)
        return pandas.DataFrame(columns, index=pandas.Index(self.features, name="feature")).iloc[self.order]

    def to_shap(self) -> Any:
        """Return a `shap.Explanation` for the plots of the package shap."""
        import shap

        if self.shap is None:
            raise ValueError("found no SHAP values, expected explain(…, shap=True)")
        return shap.Explanation(values=self.shap, base_values=self.expected, data=self.data, feature_names=self.features)

    def plot(self, ax: Any = None, top: int = 20) -> Any:
        """Plot the importance of the first features with matplotlib; returns its axes."""
        from ._plot import importance

        return importance(self, ax, top)

    def __repr__(self) -> str:
        width = max(map(len, self.features), default=0)
        lines = [f"{self.features[f]:{width}}  {self.loss[f]:9.5f} ± {self.deviation[f]:.5f}" for f in self.order[:20]]
        more = len(self.features) - len(lines)
        return "\n".join([f"{'':{width}}  loss of {self.metric}", *lines, *([f"… and {more} more"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        lines = [[html.escape(self.features[f]), f"{self.loss[f]:.5f} ± {self.deviation[f]:.5f}"] for f in self.order[:20]]
        return table_html(["feature", f"loss of {self.metric}"], lines)


def explain(
    model: Any,
    X: Any,
    y: Any,
    *,
    group: Any = None,
    qid: Any = None,
    metric: str | None = None,
    rounds: int = 5,
    seed: int = 1,
    shap: bool = False,
    samples: int = 100,
    dependence: Any = (),
    values: int = 30,
) -> Explanation:
    """Explain a model on data: what a metric loses without each feature, and what each feature adds to each score.

    Parameters
    ----------
    model : Ranker or Classifier
        A fitted model.
    X, y : array or frame
        Features and labels.
    group, qid : array, optional
        The lists, as in `Ranker.fit`.
    metric : str, optional
        Metric of permutation importance; by default that of the model's validation.
    rounds : int
        Number of shuffles of each feature.
    seed : int
        Seed of the shuffles and the draws.
    shap : bool
        Also compute SHAP values: what each feature adds to the score of each row. Exact for models of trees (over their paths) and
        linear models; sampled for the others, against background rows of X, with a standard error in `shap_error`.
    samples : int
        Draws for each row, where SHAP values are sampled; four times as many halve the error.
    dependence : sequence of str
        Features whose partial dependence to compute.
    values : int
        Maximum number of values of a feature for partial dependence.

    Returns
    -------
    Explanation
        With `to_frame()`, `to_shap()` and `plot()`.
    """
    if rounds < 1 or values < 2:
        raise ValueError(f"found rounds={rounds} and values={values}, expected rounds of 1 or more and values of 2 or more")
    inner = model._fitted()

    def table() -> tuple[Any, np.ndarray | None]:
        return model._to_score(X, _labels_for(model, y), group, qid)

    data, order = table()
    name, loss, deviation = inner.permutation(data, metric, rounds, seed)
    features = list(model.header_["about"]["features"]) or [str(f + 1) for f in range(len(loss))]
    trees = inner.tree_importance()
    gain, splits = (None, None) if trees is None else map(np.array, trees)
    found = Explanation(features, name, np.array(loss), np.array(deviation), gain, splits)
    if shap:
        values_, errors, flat, found.shap_method = inner.shap(table()[0], samples, seed)
        rows, outputs = values_.shape[:2]
        expected = flat.reshape(rows, outputs)

        def restored(ordered: np.ndarray) -> np.ndarray:
            """In the order of the rows of X, without the axis of outputs if there is one."""
            if order is not None:
                ordered, there = np.empty_like(ordered), ordered
                ordered[order] = there
            return ordered[:, 0] if outputs == 1 else ordered

        found.shap = restored(values_)
        found.shap_error = None if errors is None else restored(errors)
        same = bool((expected == expected[0]).all())
        found.expected = (expected[0, 0] if outputs == 1 else expected[0]) if same else restored(expected)
        found.data = np.asarray(X) if not hasattr(X, "toarray") else X.toarray()
    for feature in [dependence] if isinstance(dependence, str) else dependence:
        if str(feature) not in features:
            raise ValueError(f"dependence: found {feature!r}, expected one of the features {', '.join(features)}")
        points, means = inner.dependence(table()[0], features.index(str(feature)), values)
        means = np.array(means)
        outputs = means.size // max(len(points), 1)
        found.dependence[str(feature)] = (np.array(points), means if outputs == 1 else means.reshape(-1, outputs))
    return found


def _labels_for(model: Any, y: Any) -> Any:
    """Labels as the model learned from them: a classifier's classes are 0 and 1."""
    if hasattr(model, "_as_labels") and getattr(model, "outputs_", None) is None:
        return model._as_labels(y)
    return y
