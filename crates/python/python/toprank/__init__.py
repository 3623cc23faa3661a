"""toprank: train models that rank, and evaluate rankings by the metric you report.

    evaluate, compare        how good is a ranking, and is a difference significant?
    gradient, Objective      loss and gradient of scores, for training loops of your own
    Ranker, Classifier       models with scikit-learn's interface
    toprank.torch            objectives as losses in PyTorch
    toprank.lightgbm, toprank.xgboost   objectives and metrics for their boosted trees
    PageRank, Graph          random walks on graphs, plain or with learned weights
    metrics(), objectives(), models(), presets()   what is available, with formulas and parameters
"""

from ._catalog import metrics, models, objectives, presets
from ._compare import Comparison, compare
from ._graphs import Graph
from ._judge import Evaluation, Value, evaluate
from ._objective import Gradient, Objective, gradient
from ._pagerank import PageRank
from ._toprank import __version__

__all__ = [
    "Classifier",
    "Comparison",
    "Evaluation",
    "Gradient",
    "Graph",
    "Objective",
    "PageRank",
    "Ranker",
    "Value",
    "__version__",
    "compare",
    "evaluate",
    "gradient",
    "metrics",
    "models",
    "objectives",
    "presets",
]


#: Imported when they are asked for: scikit-learn and other packages are only needed by those who use them.
_ESTIMATORS = ("Ranker", "Classifier")
_MODULES = ("torch", "lightgbm", "xgboost")


def __getattr__(name: str) -> object:
    import importlib

    if name in _ESTIMATORS:
        return getattr(importlib.import_module("._estimators", __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ESTIMATORS, *_MODULES})
