"""Objectives and metrics for XGBoost.

>>> xgboost.train({"base_score": 0, "disable_default_eval_metric": 1}, data, 100, obj=toprank.xgboost.objective("song"),
...               custom_metric=toprank.xgboost.metric("ndcg@10"), evals=[(valid, "valid")], maximize=True)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._boosters import Boosted, Metric


def _lists(data: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Sizes of the lists and, if they are weighted, weights of mean 1: XGBoost weighs lists, not rows."""
    ends = data.get_uint_info("group_ptr")
    sizes = np.diff(ends.astype(np.int64)) if len(ends) > 1 else None
    weight = data.get_weight()
    if not len(weight):
        return sizes, None
    if sizes is None or len(weight) != len(sizes):
        raise ValueError(f"{len(weight)} weights were given, expected one per list (XGBoost weighs lists, not rows)")
    return sizes, weight * (len(weight) / weight.sum())


class objective(Boosted):
    """An objective of `toprank.objectives()`: `obj` of `xgboost.train` over a DMatrix with group or qid.

    scale: Factor of gradient and Hessian; 1 gives the sum over lists. None chooses it in the first round so that the mean
        Hessian of a row is 0.25.
    hessian: Additional factor of the Hessian alone.

    XGBoost's own rank:ndcg is "lambdarank@32:norm=lightgbm" with scale=1 and hessian=2. XGBRanker accepts no custom objective;
    `xgboost.train` does.
    """

    def __init__(
        self, name: str, *, seed: int = 1, scale: float | None = None, hessian: float = 1.0, **params: Any
    ) -> None:
        super().__init__(name, seed, scale, hessian, params)

    def __call__(self, predt: Any, data: Any) -> tuple[np.ndarray, np.ndarray]:
        sizes, weights = _lists(data)
        gradient, hessian = self.gradients(data.get_label(), np.ravel(predt), sizes, weights)
        return gradient.astype(np.float32), hessian.astype(np.float32)


class metric(Metric):
    """A metric of `toprank.metrics()`: `custom_metric` of `xgboost.train`; like="xgboost" matches the conventions of XGBoost's own."""

    def __init__(self, name: str, *, like: str | None = None, policy: Any = None) -> None:
        super().__init__(name, like, policy)

    def __call__(self, predt: Any, data: Any) -> tuple[str, float]:
        sizes, weights = _lists(data)
        # XGBoost splits its reports at colons.
        return self._name.replace(":", "_"), self.value(data.get_label(), np.ravel(predt), sizes, weights).mean
