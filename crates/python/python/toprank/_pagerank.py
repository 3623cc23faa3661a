"""`toprank.PageRank`: the stationary distribution of a random walk on a graph, and walks with learned weights."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _toprank
from ._files import from_bytes, to_bytes
from ._graphs import Graph, query_graphs
from ._progress import progress
from ._settings import adopt, as_json, constructor, parameter, settings_of, with_settings


SETTINGS = settings_of("walk")


class PageRank:
    """PageRank with a certified error: classical, weighted, personalised, or with weights learned from judgements.

    error: Largest error of the distribution in the 1-norm.
    ends: Whether edges have the features of the nodes they join; None: if they have none of their own.
    verbose: Whether to show progress, as in `Ranker`.

    Settings; `restart` and `dangling` belong to every walk, the others to learned ones, and None selects a default that depends on
    other settings:

    SETTINGS

    >>> ranked = toprank.PageRank().fit(["a", "b", "c"], ["b", "c", "b"])
    >>> dict(zip(ranked.nodes_, ranked.scores_))

    >>> walk = toprank.PageRank(objective="song").fit(sources, targets, edge_features=clicks, judgements={"a": 2, "c": 0})
    >>> walk.save("walk.toprank")                      # the file of `toprank pagerank train`
    """

    __init__ = constructor(
        [
            *(parameter(name, s.kind.annotation + " | None" * (s.fixed_default is None), s.fixed_default)
              for name, s in SETTINGS.items()),
            parameter("error", "float", 1e-9),
            parameter("ends", "bool | None"),
            parameter("verbose", "bool | None"),
        ],
        SETTINGS,
    )

    def __repr__(self) -> str:
        params = inspect.signature(PageRank).parameters.values()
        values = {param.name: getattr(self, param.name) for param in params if getattr(self, param.name) != param.default}
        return f"PageRank({', '.join(f'{name}={value!r}' for name, value in values.items())})"

    def fit(
        self,
        graph: Any,
        targets: Any = None,
        *,
        weights: Any = None,
        edge_features: Any = None,
        nodes: Any = None,
        node_features: Any = None,
        seeds: Any = None,
        judgements: Any = None,
        valid: Any = None,
    ) -> PageRank:
        """Ranks the nodes of a graph; with judgements, learns the weights of its features first.

        graph: Sources of the edges, beside their targets; then the other arguments are those of `toprank.Graph`. Or a
            `toprank.Graph`, {list: Graph}, or a folder of tables as `toprank pagerank train --graphs` takes it.
        valid: Validation data of the same form: the weights that are best on them are kept.

        Afterwards `nodes_` names the nodes, `scores_` holds their scores (several lists: dictionaries by list) and `error_bound_`
        bounds the error of a list's probabilities; plain walks have `iterations_`. Learned walks also have `config_`, `weights_`
        by feature, `loss_` and `metric_` (of the untuned and the learned walk) and `history_` (step, loss, gradient_norm,
        learning_rate).
        """
        graphs = _graphs(graph, targets, weights, edge_features, nodes, node_features, seeds, judgements)
        if isinstance(graphs, Graph) and graphs.judgements is None:
            if graphs.has_features or valid is not None:
                raise ValueError("features and valid are for learned walks: expected judgements beside them")
            return self._rank(graphs)
        there = query_graphs(graphs, self.ends)
        watch = None if valid is None else query_graphs(valid, self.ends)
        shown = progress(self.verbose)
        with shown:
            walk, metric, values, lines = _toprank.learn_walk(
                as_json(self, SETTINGS), there, watch, shown.show if shown.wanted else None
            )
        self._take(walk)
        self.history_ = [dict(zip(("step", "loss", "gradient_norm", "learning_rate"), line)) for line in lines]
        self.metric_ = {"name": metric, "untuned": values[0], "learned": values[1]}
        self.scores_, self.error_bound_ = self._scores(graphs, there)
        self.nodes_ = _by_list(graphs, there, [names for _, names in there.names()])
        return self

    def _rank(self, graph: Graph) -> PageRank:
        if self.dangling not in ("restart", "uniform"):
            raise ValueError(f"dangling must be restart or uniform, but is {self.dangling}")
        for name in ("walk_", "header_", "config_", "weights_", "loss_", "metric_", "history_"):
            vars(self).pop(name, None)
        self.scores_, self.error_bound_, self.iterations_ = _toprank.pagerank(
            graph.nodes.size,
            graph.sources,
            graph.targets,
            graph.weights,
            _seeds(graph),
            self.restart,
            self.dangling == "uniform",
            self.error,
        )
        self.nodes_ = graph.nodes
        return self

    def _take(self, walk: Any) -> None:
        vars(self).pop("iterations_", None)
        self.walk_ = walk
        self.header_: dict[str, Any] = json.loads(walk.header())
        self.config_: dict[str, Any] = self.header_["config"]
        self.weights_: dict[str, float] = {name: weight for name, weight, _ in walk.weights()}
        self.loss_: dict[str, float] = dict(zip(("untuned", "learned"), self.header_["about"]["loss"]))

    def _learned(self) -> Any:
        if not hasattr(self, "walk_"):
            raise ValueError("this PageRank has learned nothing yet: call fit with judgements or load first")
        return self.walk_

    def _scores(self, graphs: Any, there: Any) -> tuple[Any, float]:
        scores, bound = self._learned().scores(there, self.error)
        return _by_list(graphs, there, scores), bound

    def predict(
        self,
        graph: Any,
        targets: Any = None,
        *,
        weights: Any = None,
        edge_features: Any = None,
        nodes: Any = None,
        node_features: Any = None,
        seeds: Any = None,
        judgements: Any = None,
    ) -> Any:
        """Returns the scores of the nodes of other graphs by the learned walk; the arguments are those of `fit`."""
        self._learned()
        graphs = _graphs(graph, targets, weights, edge_features, nodes, node_features, seeds, judgements)
        return self._scores(graphs, query_graphs(graphs, self.header_["about"]["ends"]))[0]

    def score(self, graph: Any, targets: Any = None, *, metric: str | None = None, **columns: Any) -> float:
        """Returns the mean of a metric over the lists of judged graphs; the other arguments are those of `fit`.

        metric: That of validation, unless given; the mean is NaN if no list has a value.
        """
        walk = self._learned()
        there = query_graphs(_graphs(graph, targets, **columns), self.header_["about"]["ends"])
        if not there.is_judged():
            raise ValueError("nothing is judged: expected judgements")
        value = walk.value(there, metric or self.config_["valid-metric"])
        return float("nan") if value is None else value

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a walk file: `load` and the command (`toprank pagerank predict`) read it."""
        self._learned().save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PageRank:
        """Loads a learned walk from a file of the command or of `save`."""
        loaded = cls()
        loaded._take(_toprank.Walk.load(os.fspath(path)))
        adopt(loaded, SETTINGS, loaded.config_)
        loaded.ends = loaded.header_["about"]["ends"]
        return loaded

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        if "walk_" in state:
            state["walk_"] = to_bytes(state["walk_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "walk_" in state:
            self.walk_ = from_bytes(_toprank.Walk, state["walk_"])


PageRank.__doc__ = with_settings(PageRank.__doc__, SETTINGS)


def _graphs(
    graph: Any,
    targets: Any,
    weights: Any = None,
    edge_features: Any = None,
    nodes: Any = None,
    node_features: Any = None,
    seeds: Any = None,
    judgements: Any = None,
) -> Any:
    """A graph from its columns, or what was given instead."""
    columns = {
        "weights": weights,
        "edge_features": edge_features,
        "nodes": nodes,
        "node_features": node_features,
        "seeds": seeds,
        "judgements": judgements,
    }
    if targets is not None:
        return Graph(graph, targets, **columns)
    if not isinstance(graph, (str, os.PathLike, Graph, Mapping)):
        raise TypeError(
            f"graph: found {type(graph).__name__} without targets, expected sources and targets of edges, a toprank.Graph, "
            "{list: Graph} or a folder of tables"
        )
    beside = [name for name, value in columns.items() if value is not None]
    if beside:
        raise ValueError(f"{', '.join(beside)}: belongs into the graph that was given; expected it there")
    return graph


def _by_list(graphs: Any, there: Any, values: list[Any]) -> Any:
    """One list without a name: its values; else values by list."""
    names = [name for name, _ in there.names()]
    if isinstance(graphs, Graph):
        values = [graphs.nodes if isinstance(value, list) else value for value in values]
        if names == ["all"]:
            return values[0]
    elif isinstance(graphs, Mapping):
        known = {str(name): graph.nodes for name, graph in graphs.items()}
        values = [known[name] if isinstance(value, list) else value for name, value in zip(names, values)]
    return dict(zip(names, values))


def _seeds(graph: Graph) -> list[tuple[int, float]] | None:
    if graph.seeds is None:
        return None
    pairs = graph.seeds.items() if isinstance(graph.seeds, Mapping) else [(seed, 1.0) for seed in graph.seeds]
    return [(graph.number(name, "seeds"), float(weight)) for name, weight in pairs]
