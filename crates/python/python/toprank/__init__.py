"""toprank: train models to rank and judge rankings by the measure you report.

    evaluate, compare        how good is a ranking?
    gradient, Objective      which way should each score move?
    Ranker, Classifier       models in scikit-learn's manner
    toprank.torch            objectives inside PyTorch
    toprank.lightgbm, toprank.xgboost   objectives and metrics inside their trees
    PageRank, Graph          walks on graphs, their weights learned
    metrics(), objectives(), models(), presets()   what there is, with formulas
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


def __getattr__(name: str) -> object:
    # scikit-learn and other packages are imported by those who use them.
    if name in ("Ranker", "Classifier"):
        from . import _estimators

        return getattr(_estimators, name)
    if name in ("torch", "lightgbm", "xgboost"):
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
