"""Objectives and metrics inside LightGBM's trees.

>>> lightgbm.train({"objective": toprank.lightgbm.objective("song"), "metric": "None"}, data,
...                feval=toprank.lightgbm.metric("ndcg@10"), valid_sets=[valid])
>>> lightgbm.LGBMRanker(objective=toprank.lightgbm.objective("song")).fit(X, y, group=sizes)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._boosters import Boosted, Judged


class objective(Boosted):
    """An objective of `toprank.objectives()`, called by `lightgbm.train` and by `LGBMRanker`.

    scale: a factor of gradient and curvature; None: the one that brings the mean curvature of a row to ¼ in the first
    round, so that LightGBM's defaults mean what they mean for its own objectives. 1 gives the sum over lists as it is.
    curvature: a further factor of the curvature alone.
    LightGBM's own lambdarank is "lambdarank@30:norm=lightgbm" with scale=1.
    Weights of rows multiply gradient and curvature, as LightGBM does for its own.
    """

    def __init__(
        self, name: str, *, seed: int = 1, scale: float | None = None, curvature: float = 1.0, **params: Any
    ) -> None:
        super().__init__(name, seed, scale, curvature, params)

    # LightGBM's scikit-learn interface looks at the number of arguments: with four it hands over weights and group.
    def __call__(self, preds: Any, data: Any, weight: Any = None, group: Any = None) -> tuple[np.ndarray, np.ndarray]:
        if hasattr(data, "get_label"):
            labels, scores = data.get_label(), preds
            weight, group = data.get_weight(), data.get_group()
        else:
            labels, scores = preds, data
        gradient, curvature = self.gradients(labels, scores, group, None)
        if weight is not None:
            gradient, curvature = gradient * weight, curvature * weight
        return gradient, curvature


class metric(Judged):
    """A metric of `toprank.metrics()`: `feval` of `lightgbm.train`, `eval_metric` of `LGBMRanker.fit`.

    like="lightgbm" speaks as LightGBM's own metrics do. Weights of rows are not used.
    """

    def __init__(self, name: str, *, like: str | None = None, policy: Any = None) -> None:
        super().__init__(name, like, policy)

    def __call__(self, preds: Any, data: Any, weight: Any = None, group: Any = None) -> tuple[str, float, bool]:
        if hasattr(data, "get_label"):
            value = self.value(data.get_label(), preds, data.get_group())
        else:
            value = self.value(preds, data, group)
        return self._name, value.mean, value.higher_is_better
