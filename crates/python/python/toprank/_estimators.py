"""`toprank.Ranker` and `toprank.Classifier`: the command's trainer with scikit-learn's interface."""

from __future__ import annotations

import json
import os
import re
import warnings
from typing import Any, NamedTuple

import numpy as np

from . import _toprank
from ._arrays import labels_of, regrouped, reordered, weights_of
from ._catalog import name_of, table
from ._files import from_bytes, to_bytes
from ._frames import Features, column, column_names, features_of, without
from ._judge import evaluate
from ._progress import progress, watcher
from ._sklearn import BaseEstimator, ClassifierMixin, DataConversionWarning, NotFittedError
from ._settings import adopt, as_json, constructor, parameter, settings_of, with_settings

#: Settings that may be given without their name.
FIRST = ("model", "objective")
SETTINGS = {name: settings_of("rank")[name] for name in (*FIRST, *settings_of("rank"))}


class _Run(NamedTuple):
    """Files of a fit."""

    from_model: Any
    checkpoint: Any
    resume: bool
    callbacks: Any = None

    def files(self) -> tuple[str, bool] | None:
        """The model to write and whether the run resumes from the checkpoint beside it."""
        if self.checkpoint is None:
            if self.resume:
                raise ValueError("resume: found no checkpoint beside it, expected the one that the interrupted fit was given")
            return None
        return os.fspath(self.checkpoint), bool(self.resume)


class _Estimator(BaseEstimator):
    __init__ = constructor(
        [
            *(parameter(n, f"{s.kind.annotation} | None", positional=n in FIRST) for n, s in SETTINGS.items()),
            parameter("list_column", "str | None"),
            parameter("verbose", "bool | None"),
        ],
        SETTINGS,
    )

    # Data.

    def _cut(self, X: Any, group: Any, qid: Any) -> tuple[Features, np.ndarray, np.ndarray | None]:
        """Features, where lists begin and end, and the order that brings the rows of lists together if they are not."""
        if self.list_column is not None:
            if group is not None or qid is not None:
                raise ValueError("list_column and group or qid were both given; expected one of them")
            if self.list_column not in (column_names(X) or ()):
                raise ValueError(f"X: has no column {self.list_column}, expected it to hold the list of each row")
            qid = np.asarray(column(X, self.list_column))
            X = without(X, self.list_column)
        features = features_of(X)
        offsets, _, order = regrouped(len(features.values), group, qid)
        return features._replace(values=reordered(features.values, order)), offsets, order

    def _table(
        self, X: Any, y: Any, group: Any, qid: Any, sample_weight: Any, pairs: Any = None, position: Any = None
    ) -> tuple[Features, Any]:
        features, offsets, order = self._cut(X, group, qid)
        if y is None and pairs is not None:
            y = np.full(len(features.values), np.nan)
        labels = labels_of(_flat(y), unjudged=pairs is not None)
        _same_length(features, labels)
        labels = reordered(labels, order)
        items, lists = None, None
        if sample_weight is not None:
            weights = np.asarray(sample_weight)
            # As LightGBM has it, a weight per row; as XGBoost has it, a weight per list.
            if weights.shape == (offsets.size - 1,) and offsets.size - 1 != labels.size:
                lists = _some(weights_of(weights, offsets.size - 1, "sample_weight"))
            else:
                items = reordered(_some(weights_of(weights, labels.size, "sample_weight")), order)
        table = _toprank.Table(*features[:3], labels, offsets, None, [], items, lists)
        if position is not None:
            table.set_positions(reordered(_positions(position, labels.size), order))
        if pairs is not None:
            better, worse, weights = _pairs_of(pairs, labels.size)
            if order is not None:
                place = np.empty(labels.size, dtype=np.uint32)
                place[order] = np.arange(labels.size, dtype=np.uint32)
                better, worse = place[better], place[worse]
            table.set_pairs(better, worse, weights)
        return features, table

    # Training.

    def _fit(self, features: Features, table: Any, valid: Any, settings: str, run: _Run) -> Any:
        path = None if run.from_model is None else os.fspath(run.from_model)
        shown = progress(self.verbose)
        with shown:
            show = shown.show if shown.wanted else None
            epochs = watcher(run.callbacks)
            model, records, held = _toprank.train(settings, table, valid, path, run.files(), show, epochs)
        self._take(model, features.named)
        self.history_ = json.loads(records)
        vars(self).pop("oof_scores_", None)
        if held is not None:
            self.oof_scores_ = held
        return self

    def _take(self, model: Any, named: bool) -> None:
        header = json.loads(model.header())
        self.model_ = model
        self.config_: dict[str, Any] = header["config"]
        self.header_: dict[str, Any] = header
        self.n_features_in_: int = header["about"]["width"]
        vars(self).pop("feature_names_in_", None)
        if named:
            self.feature_names_in_ = np.array(header["about"]["features"], dtype=object)

    def _fitted(self) -> Any:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit or load first")
        return self.model_

    def _scores(self, X: Any, group: Any, qid: Any, probability: bool = False) -> np.ndarray:
        model = self._fitted()
        table, order = self._to_score(X, None, group, qid)
        scores = model.predict(table, probability)
        outputs = self.header_["about"]["outputs"]
        scores = scores if outputs < 2 else scores.reshape(outputs, -1).T
        if order is None:
            return scores
        restored = np.empty_like(scores)
        restored[order] = scores
        return restored

    def _to_score(self, X: Any, y: Any, group: Any, qid: Any) -> tuple[Any, np.ndarray | None]:
        """A table with the features of the model, and the order of its rows if that is not the order of X."""
        features, offsets, order = self._cut(X, group, qid)
        if not features.named and features.values.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {features.values.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        names = features.names
        if not features.named:
            names = self.header_["about"]["features"]
        count = len(features.values)
        if count == 0:
            raise ValueError("X: found array with 0 rows, expected at least one")
        labels = np.full(count, np.nan, dtype=np.float32) if y is None else labels_of(_flat(y), unjudged=True)
        if labels.size != count:
            raise ValueError(f"X has {count} rows and y {labels.size} labels, expected one label per row")
        labels = reordered(labels, order)
        return _toprank.Table(features.values, names, features.levels, labels, offsets, None, [], None, None), order

    # What the model looks at, and how it was trained.

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the gain of a model of trees (how much its splits lowered the training loss); adds up to 1."""
        found = self._fitted().tree_importance()
        if found is None:
            raise AttributeError("feature_importances_ is of models of trees; `explain` has the permutation importance of any model")
        gains = np.array(found[0])
        return gains / gains.sum() if gains.sum() > 0 else gains

    @property
    def best_iteration_(self) -> int | None:
        """The epoch or boosting round, from 1, that was best on validation data; None without such data."""
        self._fitted()
        best = self.header_["reached"].get("best")
        return None if best is None else int(best[0])

    @property
    def best_score_(self) -> float | None:
        """The metric of validation in that epoch."""
        self._fitted()
        best = self.header_["reached"].get("best")
        return None if best is None else float(best[1])

    @property
    def evals_result_(self) -> dict[str, dict[str, list[float | None]]]:
        """The curve of the fit: {"train": {"loss": …}, "valid": {metric: …}}, a number per epoch or boosting round."""
        self._fitted()
        if not hasattr(self, "history_"):
            raise AttributeError("evals_result_ is kept by fit, not in a model file")
        result: dict[str, dict[str, list[float | None]]] = {"train": {"loss": [line["loss"] for line in self.history_]}}
        if any(value is not None for line in self.history_ for value in line["metrics"]):
            metric = self.config_["valid-metric"]
            result["valid"] = {metric: [line["metrics"][0] if line["metrics"] else None for line in self.history_]}
        return result

    def explain(
        self,
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
    ) -> Any:
        """Explain the model on data: see `toprank.explain`."""
        from ._explain import explain

        return explain(self, X, y, group=group, qid=qid, metric=metric, rounds=rounds, seed=seed, shap=shap,
                       samples=samples, dependence=dependence, values=values)  # fmt: skip

    def export(self, to: str, path: Any, **options: Any) -> Any:
        """Write the model in the format of another tool: see `toprank.export`."""
        from ._command import export

        return export(self, to, path, **options)

    def plot(self, ax: Any = None) -> Any:
        """Plot the learning curve with matplotlib; returns its axes."""
        from ._plot import curve

        return curve(self, ax)

    # Files.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file: `load` and the command (`toprank predict`) read it."""
        self._fitted().save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """Loads a fitted estimator from a model file of the command or of `save`."""
        return cls()._loaded(_toprank.Model.load(os.fspath(path)))

    def _loaded(self, model: Any) -> Any:
        header = json.loads(model.header())
        adopt(self, SETTINGS, header["config"])
        about = header["about"]
        numbers = [str(place + 1) for place in range(about["width"])]
        self._take(model, about["features"] != numbers)
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        if "model_" in state:
            state["model_"] = to_bytes(state["model_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "model_" in state:
            self.model_ = from_bytes(_toprank.Model, state["model_"])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class Ranker(_Estimator):
    """Learns to put the items of each list in order. A list is a query with its documents, a user with items, and so on.

    Settings; None selects the default, and after fit `config_` has every value:

    SETTINGS

    Parameters of the package alone:

    list_column: Column of X that holds the list of each row, instead of qid= or group=: for cross-validation and grid searches.
    verbose: Whether to show progress; None shows it in terminals and notebooks, once a fit takes longer than a second.

    After fit: `config_`, `history_` (a record per epoch or boosting round), `feature_names_in_`, `n_features_in_`, and with
    folds `oof_scores_` (out-of-fold scores).

    >>> ranker = toprank.Ranker("trees", "ndcg@10", trees=300).fit(X, y, qid=query, eval_set=(V, v), eval_qid=w)
    >>> scores = ranker.predict(T, qid=t)
    """

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        group: Any = None,
        qid: Any = None,
        sample_weight: Any = None,
        pairs: Any = None,
        position: Any = None,
        eval_set: Any = None,
        eval_group: Any = None,
        eval_qid: Any = None,
        from_model: Any = None,
        checkpoint: Any = None,
        resume: bool = False,
        callbacks: Any = None,
    ) -> Ranker:
        """Trains on lists given by their sizes (group) or by a name per row (qid, in any order).

        eval_set: Validation data (X, y), with eval_group or eval_qid; the best model on them is kept, and early stopping looks
            at them.
        sample_weight: A weight per row, or per list.
        pairs: Preference pairs to learn from instead of y, which may then be None: an array with the columns better, worse and,
            if pairs are weighted, weight. Items are rows of X, from 0, both of the same list. For pairwise objectives.
        position: The position at which each row was shown, from 0, where labels are clicks: what positions add is learned beside the
            model (trees).
        from_model: Model file to warm-start from.
        callbacks: Functions that are called after every epoch or boosting round with a `toprank.Epoch`; one that returns True ends
            training, and the best model so far is kept.
        checkpoint: Model file to write. While training, a checkpoint stands beside it (its name with `.checkpoint` behind it),
            which an interrupted fit leaves there.
        resume: Resume the interrupted fit of this checkpoint; settings and data must be the same, and so is the model.
        """
        if self.list_column is None and group is None and qid is None and _needs_lists(self.objective):
            _warn_of_one_list("fit")
        features, table = self._table(X, y, group, qid, sample_weight, pairs, position)
        valid = None
        if eval_set is not None:
            V, v = _one_pair(eval_set)
            eval_group, eval_qid = _one(eval_group), _one(eval_qid)
            given = next((name for name, value in (("qid", qid), ("group", group)) if value is not None), None)
            if given is not None and eval_group is None and eval_qid is None:
                raise ValueError(
                    f"eval_set: found {given} for the training data, but neither eval_qid nor eval_group; expected eval_{given}, "
                    "or eval_group=[len(rows)] if the rows of eval_set are one list"
                )
            valid = self._table(V, v, eval_group, eval_qid, None)[1]
        elif eval_group is not None or eval_qid is not None:
            raise ValueError("eval_group and eval_qid belong to an eval_set, but there is none; expected eval_set=(X, y)")
        run = _Run(from_model, checkpoint, resume, callbacks)
        return self._fit(features, table, valid, as_json(self, SETTINGS), run)

    def predict(self, X: Any, *, group: Any = None, qid: Any = None) -> np.ndarray:
        """Returns one score per row, higher is better. Models that look at whole lists need group or qid."""
        self._fitted()
        if self.model_.looks_at_lists() and group is None and qid is None and self.list_column is None:
            raise ValueError(
                "this model looks at whole lists (its network or its transforms): expected qid or group; "
                "if all rows are one list, group=[len(X)]"
            )
        return self._scores(X, group, qid)

    def score(self, X: Any, y: Any, *, group: Any = None, qid: Any = None, sample_weight: Any = None) -> float:
        """Returns the metric of validation, `config_["valid-metric"]`, on these lists; negated if lower is better."""
        self._fitted()
        if self.list_column is not None:
            given = np.asarray(column(X, self.list_column))
        else:
            given = qid
            if group is None and qid is None and self.header_["reached"]["lists"] > 1:
                _warn_of_one_list("score")
        scores = self.predict(X, group=group, qid=qid)
        metric = self.config_["valid-metric"]
        result = evaluate(_flat(y), scores, group=group, qid=given, metrics=metric, replicates=0)
        value = next(iter(result.results.values()))
        return value.mean if value.higher_is_better else -value.mean


def _positions(position: Any, rows: int) -> np.ndarray:
    """Positions as the library takes them."""
    values = np.asarray(position)
    if values.shape != (rows,) or values.dtype.kind not in "iu" or values.size and values.min() < 0:
        found = f"{values.dtype} of the shape {values.shape}"
        raise ValueError(f"position: found {found}, expected one integer of 0 or above per row ({rows})")
    return np.ascontiguousarray(values, dtype=np.uint32)


def _pairs_of(pairs: Any, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Better rows, worse rows and weights."""
    values = np.asarray(pairs, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] not in (2, 3):
        raise ValueError(f"pairs: found an array of shape {values.shape}, expected two columns, better and worse, or three, with weight")
    numbers = values[:, :2]
    wrong = np.argwhere((numbers < 0) | (numbers >= rows) | (numbers != np.floor(numbers)))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(f"pairs: found {numbers[row, column]:g} in pair {row}, expected the number of a row, from 0 to {rows - 1}")
    better, worse = numbers.astype(np.uint32).T
    weights = values[:, 2] if values.shape[1] == 3 else np.ones(len(values))
    return np.ascontiguousarray(better), np.ascontiguousarray(worse), np.ascontiguousarray(weights, dtype=np.float32)


class Classifier(ClassifierMixin, _Estimator):
    """Learns to rank positives above negatives: binary data, or several labels over the same rows.

    The parameters are those of `Ranker`; the default objective is "auroc". Calibration uses rows that the model was not trained
    on: those of eval_set, or else out-of-fold scores (of five folds, unless folds is given).

    >>> model = toprank.Classifier("trees", "auprc").fit(X, y)
    >>> model.predict_proba(T)[:, 1]
    """

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        eval_set: Any = None,
        from_model: Any = None,
        checkpoint: Any = None,
        resume: bool = False,
        callbacks: Any = None,
    ) -> Classifier:
        """Trains; y holds two classes, or a column of 0 and 1 per label (NaN: not judged).

        The other arguments are those of `Ranker.fit`.
        """
        if self.list_column is not None:
            raise ValueError("list_column is for Ranker: a classifier has one list of all rows")
        labels = self._learn_classes(y)
        features, table = self._labelled(X, labels, sample_weight)
        valid = None
        if eval_set is not None:
            V, v = _one_pair(eval_set)
            valid = self._labelled(V, self._as_labels(v), None)[1]
        folds = self.folds
        # The folds of a portfolio follow from its budget.
        auto = str(self.model).split(":")[0] == "auto"
        if folds is None and valid is None and self.calibrate != "none" and from_model is None and not auto:
            folds = 5
        run = _Run(from_model, checkpoint, resume, callbacks)
        return self._fit(features, table, valid, as_json(self, SETTINGS, folds=folds), run)

    def _learn_classes(self, y: Any) -> np.ndarray:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        names = column_names(y)
        array = np.asarray(y)
        self.outputs_: list[str] | None = None
        if array.ndim == 2 and array.shape[1] > 1:
            self.outputs_ = [str(name) for name in names] if names else [str(k + 1) for k in range(array.shape[1])]
            self.classes_ = np.array([0, 1])
            return self._as_labels(y)
        array = _flat(y)
        if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
            raise ValueError("y: found NaN or inf, expected two classes")
        self.classes_ = np.unique(array)
        if self.classes_.size > 2:
            raise ValueError(
                f"Only binary classification is supported (or one column per label). y has {self.classes_.size} classes. "
                f"Unknown label type: {array.dtype}"
            )
        if self.classes_.size < 2:
            raise ValueError(f"y: found {self.classes_.size} class, expected two classes")
        return self._as_labels(y)

    def _as_labels(self, y: Any) -> np.ndarray:
        array = np.asarray(y)
        if self.outputs_ is not None:
            labels = np.asarray(array, dtype=np.float32)
            if labels.ndim != 2 or labels.shape[1] != len(self.outputs_):
                raise ValueError(f"y: found the shape {labels.shape}, expected {len(self.outputs_)} columns of labels")
            return labels
        array = _flat(y)
        known = np.isin(array, self.classes_)
        if not known.all():
            raise ValueError(f"y: found {array[~known][0]!r}, expected one of the classes {self.classes_.tolist()}")
        return (array == self.classes_[1]).astype(np.float32)

    def _labelled(self, X: Any, labels: np.ndarray, sample_weight: Any) -> tuple[Features, Any]:
        features = features_of(X)
        _same_length(features, labels)
        count = len(labels)
        weights = _some(weights_of(sample_weight, count, "sample_weight"))
        if self.outputs_ is None:
            if weights is not None and np.unique(labels[weights > 0]).size < 2:
                raise ValueError("y: found one class among the rows of weights above zero, expected two classes")
            offsets = np.array([0, count], dtype=np.uint64)
            return features, _toprank.Table(*features[:3], labels, offsets, None, [], weights, None)
        judged = ~np.isnan(labels.T)
        rows = np.nonzero(judged)[1].astype(np.uint32)
        offsets = np.concatenate([[0], np.cumsum(judged.sum(axis=1))]).astype(np.uint64)
        flat = np.ascontiguousarray(labels.T[judged])
        weights = None if weights is None else weights[rows]
        return features, _toprank.Table(*features[:3], flat, offsets, rows, self.outputs_, weights, None)

    def _take(self, model: Any, named: bool) -> None:
        super()._take(model, named)
        if not hasattr(self, "classes_"):
            self.classes_ = np.array([0, 1])
            self.outputs_ = self.header_["about"]["output_names"] or None

    def decision_function(self, X: Any) -> np.ndarray:
        """Returns one score per row, or per row and label; higher is more likely positive."""
        return self._scores(X, None, None)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Returns calibrated probabilities: of both classes, or of each label."""
        positive = self._scores(X, None, None, probability=True)
        return positive if positive.ndim == 2 else np.stack([1 - positive, positive], axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """Returns the class, or the labels, of probability above one half."""
        positive = self._scores(X, None, None, probability=True)
        chosen = (positive > 0.5).astype(int)
        return chosen if positive.ndim == 2 else self.classes_[chosen]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags


Ranker.__doc__ = with_settings(Ranker.__doc__, SETTINGS)


def _needs_lists(objective: Any) -> bool:
    """False for objectives of single rows (pointwise) and of binary data (areas under curves)."""
    name = re.split("[:@]", name_of(objective) or "")[0]
    entries = [entry for kind in ("metrics", "objectives") for entry in table(kind).values()]
    return not any(name in (e.name, *e.aliases) and e.family in ("areas", "pointwise") for e in entries)


def _warn_of_one_list(method: str) -> None:
    warnings.warn(
        f"Ranker.{method} was given neither qid, group nor list_column: all rows are one list. Pass qid (in GridSearchCV and "
        "cross_val_score by metadata routing: set_fit_request(qid=True), set_score_request(qid=True)), or make it a column of X "
        "and name that by list_column. If the rows are one list, pass group=[len(X)].",
        UserWarning,
        stacklevel=3,
    )


def _flat(y: Any) -> np.ndarray:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn("A column-vector y was passed when a 1d array was expected", DataConversionWarning, stacklevel=3)
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"y: found the shape {array.shape}, expected one label per row")
    return array


def _some(weights: np.ndarray | None) -> np.ndarray | None:
    if weights is not None and not np.any(weights > 0):
        raise ValueError("sample_weight: all weights are zero, expected some above it")
    return weights


def _same_length(features: Features, labels: np.ndarray) -> None:
    if len(features.values) != len(labels):
        raise ValueError(f"X has {len(features.values)} rows and y {len(labels)} labels, expected one label per row")
    if len(labels) == 0:
        raise ValueError("X: found array with 0 rows, expected at least one")
    if len(labels) == 1:
        raise ValueError("X: found n_samples=1, expected two rows or more: a single item has no order")
    if features.values.shape[1] == 0:
        raise ValueError(f"X: found 0 feature(s) (shape={features.values.shape}) while a minimum of 1 is required.")


def _one(value: Any) -> Any:
    """LightGBM and XGBoost take a list of these, one per evaluation set."""
    if isinstance(value, (list, tuple)) and len(value) == 1 and np.ndim(value[0]) == 1:
        return value[0]
    return value


def _one_pair(eval_set: Any) -> Any:
    if isinstance(eval_set, list) and len(eval_set) == 1:
        eval_set = eval_set[0]
    if not isinstance(eval_set, (tuple, list)) or len(eval_set) != 2:
        raise ValueError("eval_set: expected one pair (X, y)")
    return eval_set
