"""What the adapters of LightGBM and XGBoost share: labels that stay the same in every boosting round."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._judge import Value, evaluate
from ._objective import Objective

#: Mean Hessian diagonal of a row before the first tree: that of the logistic loss, which tree libraries' defaults are made for.
MEAN_HESSIAN = 0.25


class Boosted:
    """An objective whose lists are set once and checked in every round."""

    def __init__(self, name: str, seed: int, scale: float | None, hessian: float, params: dict[str, Any]) -> None:
        self._made = (name, {"seed": seed, **params})
        self._goal = Objective(name, seed=seed, **params)
        self._wanted_scale = scale
        self._hessian = float(hessian)
        self._seen: tuple[Any, ...] | None = None
        self.scale = 1.0 if scale is None else float(scale)
        self.__name__ = self._goal.name

    @property
    def name(self) -> str:
        return self._goal.name

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.objective {self.name}>"

    def __reduce__(self) -> Any:
        # LightGBM copies its parameters: a copy has the same name and an initial state.
        name, params = self._made
        return _made_again, (type(self), name, {"scale": self._wanted_scale, "hessian": self._hessian, **params})

    def gradients(self, labels: Any, scores: Any, group: Any, list_weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and Hessian diagonal of the sum over lists, times `scale`."""
        labels = np.asarray(labels, dtype=np.float32)
        seen = (labels, group, list_weight)
        fresh = self._seen is None or not all(_same(a, b) for a, b in zip(self._seen, seen))
        if fresh:
            self._goal = Objective(self._made[0], **self._made[1])
            self._goal.prepare(labels, group=group, list_weight=list_weight)
            self._seen = tuple(None if part is None else np.array(part) for part in seen)
        found = self._goal.step(np.asarray(scores, dtype=np.float64), hessian=True, sum=True)
        if fresh and self._wanted_scale is None:
            mean = float(found.hessian.mean()) if found.hessian.size else 0.0
            self.scale = MEAN_HESSIAN / mean if 0.0 < mean < 1e4 else 1.0
        return found.gradient * self.scale, found.hessian * (self.scale * self._hessian)


def _made_again(kind: type, name: str, params: dict[str, Any]) -> Any:
    return kind(name, **params)


def _same(a: Any, b: Any) -> bool:
    return (a is None) == (b is None) and (a is None or np.array_equal(a, b))


class Metric:
    """A metric as a callable."""

    def __init__(self, name: str, like: str | None, policy: Any) -> None:
        self._name = name
        self._call = {"metrics": name, "like": like, "policy": policy, "replicates": 0}
        # An unknown name is an error now instead of in the first round; so are several metrics.
        if len(evaluate([0, 1], [0, 1], **self._call)) != 1:
            raise ValueError(f"metric: found {name}, expected one metric")
        self.__name__ = name

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.metric {self._name}>"

    def value(self, labels: Any, scores: Any, group: Any, list_weight: Any = None) -> Value:
        result = evaluate(labels, scores, group=group, list_weight=list_weight, **self._call)
        return next(iter(result.results.values()))
