"""toprank: train models that rank, and evaluate rankings by the metric you report.

    evaluate, compare, threshold, fuse   how good is a ranking, is a difference significant, where to cut?
    reconcile, parity        which conventions give another tool's number; does what serves a model give its scores?
    gradient, Objective      loss and gradient of scores, for training loops of your own
    Ranker, Classifier       models with scikit-learn's interface; model="auto" chooses and blends them
    Recommender, Embedder    which items for a user; vectors in which rows of a class are near each other
    PageRank, Graph          random walks on graphs, plain or with learned weights
    metric, objective, check_objective   your own, for evaluation and training
    tune, split, read, explain           settings, parts and files of data, what a model looks at
    export, load_lightgbm, load_xgboost  models of and for other tools
    toprank.torch            objectives as losses in PyTorch
    toprank.lightgbm, toprank.xgboost   objectives and metrics for their boosted trees
    toprank.distributed, toprank.dask, toprank.ray   training by several processes, on MPI, Dask and Ray
    metrics(), objectives(), models(), formats(), presets()   what is available, with formulas and parameters
    command                  the command `toprank`, which the package carries
"""

from ._toprank import __version__

#: What the package offers, by the module that defines it. Modules are imported when they are asked for: the command of the package needs
#: none of them, and scikit-learn and other packages are only needed by those who use them.
_DEFINED_IN = {
    "_catalog": ("formats", "metrics", "models", "objectives", "presets"),
    "_command": ("command", "convert", "export", "generate", "inspect", "load_lightgbm", "load_xgboost", "quickstart"),
    "_compare": ("Comparison", "compare"),
    "_data": ("Data", "read", "split"),
    "_embed": ("Embedder",),
    "_estimators": ("Classifier", "Ranker"),
    "_explain": ("Explanation", "explain"),
    "_fuse": ("fuse",),
    "_graphs": ("Graph",),
    "_judge": ("Evaluation", "Value", "evaluate"),
    "_objective": ("Gradient", "Objective", "gradient"),
    "_own": ("check_objective", "metric", "objective"),
    "_pagerank": ("PageRank",),
    "_progress": ("Epoch",),
    "_reconcile": ("Parity", "Reconciliation", "parity", "reconcile"),
    "_recommend": ("Recommendations", "Recommender"),
    "_report": ("report",),
    "_threshold": ("OperatingPoint", "threshold"),
    "_tune": ("Tuning", "tune"),
}
_MODULE_OF = {name: module for module, names in _DEFINED_IN.items() for name in names}
_MODULES = ("torch", "lightgbm", "xgboost", "distributed", "dask", "ray")

__all__ = sorted([*_MODULE_OF, "__version__"])


def __getattr__(name: str) -> object:
    import importlib

    if name in _MODULE_OF:
        found = getattr(importlib.import_module(f".{_MODULE_OF[name]}", __name__), name)
        globals()[name] = found
        return found
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF, *_MODULES})
