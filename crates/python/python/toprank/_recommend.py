"""`toprank.Recommender`: which items should a user be shown next?"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from . import _toprank
from ._catalog import metric_names
from ._command import command
from ._estimators import _Run
from ._files import from_bytes, to_bytes
from ._frames import column, column_names, features_of, without
from ._html import table_html
from ._judge import Evaluation
from ._progress import progress, watcher
from ._settings import adopt, as_json, constructor, parameter, settings_of, with_settings
from ._sklearn import BaseEstimator, NotFittedError

#: Settings that may be given without their name.
FIRST = ("model", "objective")
SETTINGS = {name: settings_of("recommend")[name] for name in (*FIRST, *settings_of("recommend"))}

#: Usual names of the columns, the command's.
USUAL = {
    "user": ("user_id", "user", "uid", "userId"),
    "item": ("item_id", "item", "iid", "movieId", "movie_id"),
    "rating": ("rating", "label", "score"),
    "time": ("timestamp", "time"),
}


class Recommendations(Mapping[str, list[tuple[Any, float]]]):
    """For each user the recommended items with their scores, best first."""

    def __init__(self, users: list[Any], found: list[tuple[list[Any], list[float], bool]]) -> None:
        self._of = {user: list(zip(items, scores)) for user, (items, scores, _) in zip(users, found)}
        self.by_popularity = {user for user, (*_, popular) in zip(users, found) if popular}
        """Users nothing was known about: their items are the most popular ones, with the number of their interactions."""

    def __getitem__(self, user: Any) -> list[tuple[Any, float]]:
        return self._of[user]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)

    def items_of(self, user: Any) -> list[Any]:
        """Return the items of a user without their scores."""
        return [item for item, _ in self._of[user]]

    def to_frame(self) -> Any:
        """Return a pandas table with the columns user, rank (from 1), item and score."""
        import pandas

        lines = [(user, rank, item, score) for user, top in self._of.items() for rank, (item, score) in enumerate(top, 1)]
        return pandas.DataFrame(lines, columns=["user", "rank", "item", "score"])

    def __repr__(self) -> str:
        shown = [f"{user}: {', '.join(str(item) for item, _ in top)}" for user, top in list(self._of.items())[:10]]
        more = [] if len(self) <= 10 else [f"… and {len(self) - 10} more users"]
        return "\n".join([*shown, *more])

    def _repr_html_(self) -> str:
        import html

        lines = [[html.escape(str(user)), html.escape(", ".join(str(item) for item, _ in top))] for user, top in self._of.items()]
        return table_html(["user", "items"], lines[:20])


class Recommender(BaseEstimator):
    """Learns which items to recommend to users from their interactions: every model of ``toprank recommend train``.

    Settings; None selects the default, and after fit `config_` has every value:

    SETTINGS

    Parameters of the package alone:

    split: How `fit` divides interactions where no valid or test is given: "leave-last", "random:fractions=80/10/10", "none". None: leave-last.
    verbose: Whether to show progress; None shows it in terminals and notebooks, once a fit takes longer than a second.

    After fit: `config_`, `history_` (a record per epoch), `users_`, `items_` (names).

    >>> recommender = toprank.Recommender("mf:width=64", "ndcg@20").fit(ratings)        # columns user, item[, rating][, time]
    >>> recommender.recommend(["ann", "bob"], k=10).to_frame()
    """

    __init__ = constructor(
        [
            *(parameter(n, f"{s.kind.annotation} | None", positional=n in FIRST) for n, s in SETTINGS.items()),
            parameter("split", "str | None"),
            parameter("verbose", "bool | None"),
        ],
        SETTINGS,
    )

    def fit(
        self,
        interactions: Any,
        y: Any = None,
        *,
        valid: Any = None,
        test: Any = None,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        time: str | None = None,
        user_features: Any = None,
        item_features: Any = None,
        from_model: Any = None,
        checkpoint: Any = None,
        resume: bool = False,
        callbacks: Any = None,
    ) -> Recommender:
        """Train on interactions.

        Parameters
        ----------
        interactions : frame, sparse matrix, or sequence of rows
            A frame with a column of users and one of items, and perhaps of ratings and times; a sparse matrix of users × items, whose
            values are ratings (users and items are called by their numbers from 0); or rows (user, item[, rating[, time]]).
        y : None
            Not used.
        valid, test : like `interactions`, optional
            Held-out interactions; by default `split` takes them out of `interactions`.
        user, item, rating, time : str, optional
            Names of the columns, if they are not the usual ones (user or user_id, item or item_id, rating, time or timestamp).
        user_features, item_features : frame, optional
            Numbers known about users or items, for the model two-tower: a column user or item with the names, and columns of numbers.
        from_model : path, optional
            Model file of a recommender to warm-start from.
        checkpoint : path, optional
            Model file to write; a checkpoint stands beside it while training, which an interrupted fit leaves there.
        resume : bool
            Resume the interrupted fit of this checkpoint; settings and data must be the same, and so is the model.
        callbacks : function or list of functions, optional
            Called after every epoch with a `toprank.Epoch`; one that returns True ends training.

        Returns
        -------
        Recommender
            Itself.
        """
        names = {"user": user, "item": item, "rating": rating, "time": time}
        train, kinds = _rows(interactions, "interactions", names)
        parts = [None if part is None else _rows(part, name, names)[0] for part, name in ((valid, "valid"), (test, "test"))]
        given = any(part is not None for part in parts)
        if given and self.split is not None:
            raise ValueError("split divides the interactions: expected neither valid nor test with it")
        split = None if given else self.split or "leave-last"
        sides = [_side(table, name) for table, name in ((user_features, "user"), (item_features, "item"))]
        seed = SETTINGS["seed"].fixed_default if self.seed is None else int(self.seed)
        data = _toprank.Interactions(train, *parts, split, seed, *sides)
        run = _Run(from_model, checkpoint, resume)
        shown = progress(self.verbose)
        with shown:
            model, records = _toprank.train_recommender(
                as_json(self, SETTINGS),
                data,
                None if from_model is None else os.fspath(from_model),
                run.files(),
                shown.show if shown.wanted else None,
                watcher(callbacks),
            )
        self._take(model, kinds)
        self.history_ = json.loads(records)
        return self

    def _take(self, model: Any, kinds: tuple[type, type] = (str, str)) -> None:
        self.model_ = model
        self.header_: dict[str, Any] = json.loads(model.header())
        self.config_: dict[str, Any] = self.header_["config"]
        self._kinds = kinds
        users, items = model.names()
        self.users_ = np.array([kinds[0](name) for name in users], dtype=object if kinds[0] is str else None)
        self.items_ = np.array([kinds[1](name) for name in items], dtype=object if kinds[1] is str else None)

    def _fitted(self) -> Any:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit or load first")
        return self.model_

    def _found(self, found: list[tuple[list[str], list[float], bool]]) -> list[tuple[list[Any], list[float], bool]]:
        kind = self._kinds[1]
        return [([kind(item) for item in items], scores, popular) for items, scores, popular in found]

    def recommend(self, users: Any = None, k: int = 10, *, filter: Any = None) -> Recommendations:
        """Return the best items of users that they have in no part of the data.

        Parameters
        ----------
        users : sequence, optional
            Names of users; by default all.
        k : int
            Number of items of each.
        filter : sequence or function, optional
            The items that may be recommended, or a function of an item that says so.

        Returns
        -------
        Recommendations
            Items and scores by user. Users without training interactions get the most popular items.
        """
        model = self._fitted()
        names = self.users_ if users is None else _names(users)
        excluded: list[str] = []
        if filter is not None:
            allowed = filter if callable(filter) else set(filter).__contains__
            excluded = [str(item) for item in self.items_.tolist() if not allowed(item)]
        asked = [str(name) for name in names]
        return Recommendations(list(names), self._found(model.recommend(asked, k, excluded)))

    def recommend_new(self, histories: Any, k: int = 10) -> Recommendations:
        """Return the best items for people who are not in the data.

        Parameters
        ----------
        histories : mapping or sequence
            For each of them the items, first to last: ``{name: [item, …]}`` or ``[[item, …], …]``, which are then called by their place.
        k : int
            Number of items of each.

        Returns
        -------
        Recommendations
            Items and scores; an empty history gives the most popular items.
        """
        model = self._fitted()
        known = histories if isinstance(histories, Mapping) else dict(enumerate(histories))
        found = model.recommend_new([[str(item) for item in history] for history in known.values()], k)
        return Recommendations(list(known), self._found(found))

    def similar_items(self, items: Any, k: int = 10) -> Recommendations:
        """Return for each item the items most like it, by the cosine of the vectors that the model scores with.

        Parameters
        ----------
        items : sequence
            Names of items.
        k : int
            Number of items.

        Returns
        -------
        Recommendations
            Items and cosines by item.
        """
        names = _names(items)
        found = self._fitted().similar([str(name) for name in names], k)
        return Recommendations(list(names), self._found([(*pair, False) for pair in found]))

    def vectors(self, side: str = "items") -> np.ndarray:
        """Return the vectors of all "items" or "users", in the order of `items_` or `users_`, for an index of nearest neighbours."""
        if side not in ("items", "users"):
            raise ValueError(f'side: found {side!r}, expected "items" or "users"')
        return self._fitted().vectors(side == "items")

    def evaluate(
        self,
        metrics: Any = ("ndcg@10", "ndcg@20", "recall@20"),
        *,
        on: str = "test",
        valid_unseen: bool = False,
        sampled: int | None = None,
        k: int = 10,
        history: str = "train+valid",
        level: float = 0.95,
        replicates: int = 1000,
        seed: int = 1,
    ) -> Evaluation:
        """Evaluate by full ranking: every item that a user has not interacted with is ranked.

        Parameters
        ----------
        metrics : str or sequence
            Metrics by name.
        on : {"test", "valid"}
            The part to evaluate on.
        valid_unseen : bool
            Rank the items of the validation part, too, as some other tools do.
        sampled : int, optional
            Rank against that many drawn unseen items instead of all; such values are not those of full rankings.
        k : int
            Number of recommended items per user for coverage, novelty and popularity.
        history : {"train+valid", "train"}
            From which items of a user the test part is scored by a model that reads histories (ease, knn, als, sequence).
        level, replicates, seed
            Confidence level, resamples and seed of the intervals; seed also draws the items of `sampled`.

        Returns
        -------
        Evaluation
            Means over users; `beyond` has coverage, novelty, popularity, popularity_lift, gini, intra_list_distance and serendipity.
        """
        return self._evaluated(metrics, on, valid_unseen, sampled, k, False, history, replicates, level, seed)

    def evaluate_popularity(self, metrics: Any = ("ndcg@10", "ndcg@20", "recall@20"), *, on: str = "test", k: int = 10) -> Evaluation:
        """Evaluate the baseline that recommends to everybody the most popular unseen items, on the same users."""
        return self._evaluated(metrics, on, False, None, k, True, "train+valid", 1000, 0.95, 1)

    def _evaluated(
        self, metrics: Any, on: str, valid_unseen: bool, sampled: int | None, k: int, popularity: bool, *intervals: Any
    ) -> Evaluation:
        if on not in ("test", "valid"):
            raise ValueError(f'on: found {on!r}, expected "test" or "valid"')
        drawn = None if sampled is None else (int(sampled), int(intervals[-1]))
        report = self._fitted().evaluate(metric_names(metrics), on == "test", valid_unseen, drawn, k, popularity, *intervals)
        found = Evaluation(report, np.array(report["names"], dtype=object))
        found.beyond = report["beyond"]
        return found

    def score(self, X: Any = None, y: Any = None) -> float:
        """Return the metric of validation on the test part."""
        self._fitted()
        return next(iter(self.evaluate(self.config_["valid-metric"], replicates=0).values()))

    def compare(self, others: Any, metrics: Any = "ndcg@20", *, on: str = "test") -> Any:
        """Compare with other recommenders of the same interactions and split, or with popularity, user by user.

        Parameters
        ----------
        others : Recommender, path, "popularity", or a mapping or list of them
            What to compare with.
        metrics : str or sequence
            Metrics by name.
        on : {"test", "valid"}
            The part to evaluate on.

        Returns
        -------
        dict
            What ``toprank recommend evaluate --against … --json`` prints: metrics, and for each pair the difference, its interval and p.
        """
        if isinstance(others, (str, os.PathLike, Recommender)):
            others = [others]
        named = others.items() if isinstance(others, Mapping) else [(f"other{n}", other) for n, other in enumerate(others, 1)]
        with tempfile.TemporaryDirectory() as folder:
            own, against = os.path.join(folder, "this.toprank"), []
            self.save(own)
            for name, other in named:
                if isinstance(other, Recommender):
                    against.append(os.path.join(folder, f"{name}.toprank"))
                    other.save(against[-1])
                else:
                    against.append(os.fspath(other))
            return command("recommend", "evaluate", own, metrics=metric_names(metrics), on=on, against=against)

    def export(self, to: str, path: Any, **options: Any) -> Any:
        """Write the model in the format of another tool: see `toprank.export`."""
        from ._command import export

        return export(self, to, path, **options)

    def plot(self, ax: Any = None) -> Any:
        """Plot the learning curve with matplotlib; returns its axes."""
        from ._plot import curve

        return curve(self, ax)

    @property
    def best_iteration_(self) -> int | None:
        """The epoch, from 1, that was best on validation data; None without such data."""
        self._fitted()
        best = self.header_["reached"].get("best")
        return None if best is None else int(best[0])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file: `load` and the command (``toprank recommend``) read it."""
        self._fitted().save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recommender:
        """Load a fitted recommender from a model file of the command or of `save`; users and items are then called by strings."""
        found = cls()
        found._take(_toprank.Recommender.load(os.fspath(path)))
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
            self.model_ = from_bytes(_toprank.Recommender, state["model_"])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


Recommender.__doc__ = with_settings(Recommender.__doc__, SETTINGS)


def _names(names: Any) -> list[Any]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"found {names!r}, expected a list of names")
    return np.asarray(names).tolist() if hasattr(names, "dtype") else list(names)


def _rows(table: Any, name: str, names: Mapping[str, str | None]) -> tuple[tuple[Any, ...], tuple[type, type]]:
    """Users, items, ratings and times row by row, and the types that names of users and items have."""
    if hasattr(table, "tocoo"):  # scipy
        entries = table.tocsr().tocoo()
        users, items = entries.row.astype(str).tolist(), entries.col.astype(str).tolist()
        return (users, items, np.ascontiguousarray(entries.data, dtype=np.float32), None), (int, int)
    known = column_names(table)
    if known is None:
        return _plain_rows(table, name)
    chosen: dict[str, Any] = {}
    for role, given in names.items():
        if given is not None and given not in known:
            raise ValueError(f"{name}: has no column {given}, expected it to hold the {role} of each row")
        usual = next((word for word in USUAL[role] if word in known), None)
        chosen[role] = given if given is not None else usual
        if chosen[role] is None and role in ("user", "item"):
            found = ", ".join(map(str, known))
            raise ValueError(f"{name}: found the columns {found}, expected one called {' or '.join(USUAL[role])}, or {role}=")
    columns = {role: None if word is None else np.asarray(column(table, word)) for role, word in chosen.items()}
    return _typed(columns["user"], columns["item"], columns["rating"], columns["time"], name)


def _plain_rows(table: Any, name: str) -> tuple[tuple[Any, ...], tuple[type, type]]:
    rows = table.tolist() if hasattr(table, "tolist") else [tuple(row) for row in table]
    widths = {len(row) for row in rows}
    if len(widths) != 1 or not widths <= {2, 3, 4}:
        raise ValueError(f"{name}: found rows of {sorted(widths)} fields, expected user, item[, rating[, time]] in each")
    columns = [np.array(values) for values in zip(*rows)]
    return _typed(*columns, *[None] * (4 - len(columns)), name)


def _typed(users: Any, items: Any, ratings: Any, times: Any, name: str) -> tuple[tuple[Any, ...], tuple[type, type]]:
    kinds = []
    texts = []
    for values, role in ((users, "user"), (items, "item")):
        if values.dtype.kind == "f" and np.all(np.isfinite(values)) and np.all(values == np.floor(values)):
            values = values.astype(np.int64)
        missing = [value is None or value != value for value in values.tolist()]
        if any(missing):
            raise ValueError(f"{name}: row {missing.index(True)} has no {role}, expected a name in each row")
        kinds.append(int if values.dtype.kind in "iu" else str)
        texts.append([str(value) for value in values.tolist()])
    if ratings is not None:
        ratings = np.ascontiguousarray(ratings, dtype=np.float32)
    if times is not None:
        if times.dtype.kind == "M":
            times = times.astype("datetime64[ns]").astype(np.int64) / 1e9
        times = np.ascontiguousarray(times, dtype=np.float64)
    return (*texts, ratings, times), (kinds[0], kinds[1])


def _side(table: Any, role: str) -> tuple[list[str], list[str], np.ndarray] | None:
    """What is known about users or items: names, names of the columns, numbers."""
    if table is None:
        return None
    known = column_names(table)
    word = None if known is None else next((word for word in USUAL[role] if word in known), None)
    if word is None:
        raise ValueError(f"{role}_features: expected a frame with a column {' or '.join(USUAL[role])} and columns of numbers")
    names = [str(value) for value in np.asarray(column(table, word)).tolist()]
    features = features_of(without(table, word))
    if features.levels:
        raise ValueError(f"{role}_features: column {features.names[min(features.levels)]} has strings, expected numbers")
    return names, features.names, features.values
