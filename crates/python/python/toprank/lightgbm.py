"""Objectives and metrics for LightGBM.

>>> lightgbm.train({"objective": toprank.lightgbm.objective("song"), "metric": "None"}, data,
...                feval=toprank.lightgbm.metric("ndcg@10"), valid_sets=[valid])
>>> lightgbm.LGBMRanker(objective=toprank.lightgbm.objective("song")).fit(X, y, group=sizes)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._boosters import Boosted, Metric


class objective(Boosted):
    """An objective of `toprank.objectives()`, called by `lightgbm.train` and by `LGBMRanker`.

    scale: Factor of gradient and Hessian; 1 gives the sum over lists. None chooses it in the first round so that the mean
        Hessian of a row is 0.25, for which LightGBM's defaults are made.
    hessian: Additional factor of the Hessian alone.

    LightGBM's own lambdarank is "lambdarank@30:norm=lightgbm" with scale=1. Row weights multiply gradient and Hessian, as they
    do for LightGBM's own objectives.
    """

    def __init__(
        self, name: str, *, seed: int = 1, scale: float | None = None, hessian: float = 1.0, **params: Any
    ) -> None:
        super().__init__(name, seed, scale, hessian, params)

    # LightGBM's scikit-learn interface looks at the number of arguments: with four it hands over weights and group.
    def __call__(self, preds: Any, data: Any, weight: Any = None, group: Any = None) -> tuple[np.ndarray, np.ndarray]:
        if hasattr(data, "get_label"):
            labels, scores = data.get_label(), preds
            weight, group = data.get_weight(), data.get_group()
        else:
            labels, scores = preds, data
        gradient, hessian = self.gradients(labels, scores, group, None)
        if weight is not None:
            gradient, hessian = gradient * weight, hessian * weight
        return gradient, hessian


class metric(Metric):
    """A metric of `toprank.metrics()`: `feval` of `lightgbm.train`, `eval_metric` of `LGBMRanker.fit`.

    like="lightgbm" matches the conventions of LightGBM's own metrics. Row weights are not used.
    """

    def __init__(self, name: str, *, like: str | None = None, policy: Any = None) -> None:
        super().__init__(name, like, policy)

    def __call__(self, preds: Any, data: Any, weight: Any = None, group: Any = None) -> tuple[str, float, bool]:
        if hasattr(data, "get_label"):
            value = self.value(data.get_label(), preds, data.get_group())
        else:
            value = self.value(preds, data, group)
        return self._name, value.mean, value.higher_is_better
