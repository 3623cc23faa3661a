"""scikit-learn's classes, and what stands in for them where it is not installed."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.exceptions import DataConversionWarning, NotFittedError
except ImportError:

    class BaseEstimator:  # type: ignore[no-redef]
        """Does what scikit-learn's class of this name does, where that is not installed."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

        def set_params(self, **params: Any) -> Any:
            known = inspect.signature(type(self)).parameters
            for name, value in params.items():
                if name not in known:
                    raise ValueError(f"{name} is not a parameter; expected one of {', '.join(known)}")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not None]
            return f"{type(self).__name__}({', '.join(changed)})"

    class ClassifierMixin:  # type: ignore[no-redef]
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Accuracy: the fraction of rows (with several labels: of rows correct in all of them) classified correctly."""
            correct = self.predict(X) == np.asarray(y)
            return float(np.average(correct.all(axis=1) if correct.ndim == 2 else correct, weights=sample_weight))

    class DataConversionWarning(UserWarning):  # type: ignore[no-redef]
        pass

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        pass
