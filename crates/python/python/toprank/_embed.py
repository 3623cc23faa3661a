"""`toprank.Embedder`: vectors in which rows of one class are near each other."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from . import _toprank
from ._catalog import metric_names
from ._estimators import _Run
from ._files import from_bytes, to_bytes
from ._frames import Features, features_of
from ._judge import Evaluation
from ._progress import progress, watcher
from ._settings import adopt, as_json, constructor, parameter, settings_of, with_settings
from ._sklearn import BaseEstimator, NotFittedError

#: Settings that may be given without their name.
FIRST = ("model", "objective")
SETTINGS = {name: settings_of("embed")[name] for name in (*FIRST, *settings_of("embed"))}


class Embedder(BaseEstimator):
    """Learns a network that turns rows into vectors, near each other for rows of one class: ``toprank embed``.

    Settings; None selects the default, and after fit `config_` has every value:

    SETTINGS

    Parameters of the package alone:

    split: How `fit` divides the classes where no eval_set is given: "80/20/0" for training, validation and test. None: that.
    split_seed: Seed of this division; None: 1.
    verbose: Whether to show progress; None shows it in terminals and notebooks, once a fit takes longer than a second.

    After fit: `config_`, `history_` (a record per epoch), `classes_` (the classes of each part), `n_features_in_`.

    >>> embedder = toprank.Embedder("mlp:hidden=64", "map", dimensions=16).fit(X, names)
    >>> numbers, similarities = embedder.search(embedder.transform(Q), embedder.transform(X), k=5)
    """

    __init__ = constructor(
        [
            *(parameter(n, f"{s.kind.annotation} | None", positional=n in FIRST) for n, s in SETTINGS.items()),
            parameter("split", "str | None"),
            parameter("split_seed", "int | None"),
            parameter("verbose", "bool | None"),
        ],
        SETTINGS,
    )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        eval_set: Any = None,
        from_model: Any = None,
        checkpoint: Any = None,
        resume: bool = False,
        callbacks: Any = None,
    ) -> Embedder:
        """Train on rows and their classes.

        Parameters
        ----------
        X : array or frame
            Features, numbers only.
        y : array
            The class of each row, strings or numbers; None only with the setting views, which needs no classes.
        eval_set : (X, y), optional
            Rows of classes for validation; by default some classes of y are taken.
        from_model, checkpoint, resume, callbacks
            As in `Recommender.fit`.

        Returns
        -------
        Embedder
            Itself.
        """
        features, table = self._table(X, y)
        valid = None
        if eval_set is not None:
            if self.split is not None:
                raise ValueError("split divides the classes of y: expected no eval_set with it")
            V, v = eval_set
            valid = self._table(V, v)[1]
        several = y is not None and len(np.unique(np.asarray(y).astype(str))) > 1
        split = None if valid is not None else (self.split or ("80/20/0" if several else "100/0/0"), self.split_seed or 1)
        run = _Run(from_model, checkpoint, resume)
        shown = progress(self.verbose)
        with shown:
            model, records = _toprank.train_embedder(
                as_json(self, SETTINGS),
                table,
                valid,
                split,
                None if from_model is None else os.fspath(from_model),
                run.files(),
                shown.show if shown.wanted else None,
                watcher(callbacks),
            )
        self._take(model)
        self.history_ = json.loads(records)
        if features.named:
            self.feature_names_in_ = np.array(features.names, dtype=object)
        return self

    def _table(self, X: Any, y: Any) -> tuple[Features, Any]:
        features = features_of(X)
        rows = len(features.values)
        if y is None:
            labels = np.full(rows, np.nan, dtype=np.float32)
            return features, _whole(features, labels)
        classes = np.asarray(y)
        if classes.shape != (rows,):
            raise ValueError(f"y: found the shape {classes.shape}, expected the class of each of {rows} rows")
        if classes.dtype.kind in "biuf":
            labels = np.ascontiguousarray(classes, dtype=np.float32)
            if np.isnan(labels).any():
                raise ValueError(f"y: row {int(np.argmax(np.isnan(labels)))} has no class, expected one for each row")
            return features, _whole(features, labels)
        # Named classes are lists, in order of first appearance, as in a file.
        names, first, code = np.unique(classes.astype(str), return_index=True, return_inverse=True)
        appearance = np.argsort(np.argsort(first))[code.reshape(-1)]
        order = np.argsort(appearance, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(appearance))]).astype(np.uint64)
        labels = np.full(rows, np.nan, dtype=np.float32)
        values = np.ascontiguousarray(features.values[order])
        table = _toprank.Table(values, features.names, features.levels, labels, offsets, None, [], None, None)
        table.name_lists([str(name) for name in names[np.argsort(first)]], order.astype(np.uint32))
        return features, table

    def _take(self, model: Any) -> None:
        self.model_ = model
        self.header_: dict[str, Any] = json.loads(model.header())
        self.config_: dict[str, Any] = self.header_["config"]
        self.n_features_in_: int = self.header_["about"]["width"]
        self.classes_: dict[str, list[str]] = self.header_["about"]["parts"]

    def _fitted(self) -> Any:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit or load first")
        return self.model_

    def transform(self, X: Any) -> np.ndarray:
        """Return the vector of every row: 32-bit floats, rows × dimensions, of length 1 unless similarity is "euclidean"."""
        model = self._fitted()
        features = features_of(X)
        if not features.named:
            if features.values.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {features.values.shape[1]} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input"
                )
            known = self.header_["about"]["features"]
            features = features._replace(names=known or features.names)
        return model.embed(_whole(features, np.full(len(features.values), np.nan, dtype=np.float32)))

    def fit_transform(self, X: Any, y: Any = None, **fit: Any) -> np.ndarray:
        """Train, and return the vectors of the rows."""
        return self.fit(X, y, **fit).transform(X)

    def search(self, queries: Any, gallery: Any = None, k: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Find the nearest vectors, exactly.

        Parameters
        ----------
        queries : array
            Vectors, as `transform` returns them.
        gallery : array, optional
            Vectors to search in; by default each query is searched among all others.
        k : int
            Number of neighbours.

        Returns
        -------
        (array, array)
            For each query the numbers of its nearest rows, best first, and their similarities.
        """
        return self._fitted().search(_vectors(queries), None if gallery is None else _vectors(gallery), k)

    def evaluate(
        self,
        X: Any,
        y: Any,
        *,
        gallery: Any = None,
        metrics: Any = ("map", "success@1"),
        level: float = 0.95,
        replicates: int = 1000,
        seed: int = 1,
    ) -> Evaluation:
        """Evaluate a search: what is of the class of a query is relevant.

        Parameters
        ----------
        X, y : array
            The queries and their classes.
        gallery : (X, y), optional
            Rows to search in and their classes; by default each query is searched among all others.
        metrics : str or sequence
            Metrics by name.
        level, replicates, seed
            Confidence level, resamples and seed of the intervals.

        Returns
        -------
        Evaluation
            Means over queries.
        """
        model = self._fitted()
        classes = np.asarray(y).astype(str)
        names, of_queries = np.unique(classes, return_inverse=True)
        vectors, rows, of_gallery = self.transform(X), None, np.empty(0, dtype=np.uint32)
        if gallery is not None:
            rows = self.transform(gallery[0])
            _, both = np.unique(np.concatenate([classes, np.asarray(gallery[1]).astype(str)]), return_inverse=True)
            of_queries, of_gallery = both[: classes.size], both[classes.size :]
        numbers = [np.ascontiguousarray(of, dtype=np.uint32) for of in (of_queries, of_gallery)]
        if numbers[0].size != len(vectors) or rows is not None and numbers[1].size != len(rows):
            raise ValueError("y: expected the class of each row")
        return Evaluation(model.evaluate(vectors, rows, *numbers, metric_names(metrics), replicates, level, seed))

    def score(self, X: Any, y: Any) -> float:
        """Return the metric of validation for a search of each row among the others."""
        self._fitted()
        return next(iter(self.evaluate(X, y, metrics=self.config_["valid-metric"], replicates=0).values()))

    def export(self, to: str, path: Any, **options: Any) -> Any:
        """Write the model in the format of another tool: see `toprank.export`."""
        from ._command import export

        return export(self, to, path, **options)

    def plot(self, ax: Any = None) -> Any:
        """Plot the learning curve with matplotlib; returns its axes."""
        from ._plot import curve

        return curve(self, ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file: `load` and the command (``toprank embed``, ``retrieve``) read it."""
        self._fitted().save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Embedder:
        """Load a fitted embedder from a model file of the command or of `save`."""
        found = cls()
        found._take(_toprank.Embedder.load(os.fspath(path)))
        adopt(found, SETTINGS, found.config_)
        return found

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        if "model_" in state:
            state["model_"] = to_bytes(state["model_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "model_" in state:
            self.model_ = from_bytes(_toprank.Embedder, state["model_"])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


Embedder.__doc__ = with_settings(Embedder.__doc__, SETTINGS)


def _whole(features: Features, labels: np.ndarray) -> Any:
    offsets = np.array([0, len(labels)], dtype=np.uint64)
    return _toprank.Table(*features[:3], labels, offsets, None, [], None, None)


def _vectors(values: Any) -> np.ndarray:
    vectors = np.ascontiguousarray(values, dtype=np.float32)
    if vectors.ndim != 2:
        raise ValueError(f"found the shape {vectors.shape}, expected vectors as rows")
    return vectors
