"""Graphs with features, seeds and judgements, as the library takes them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _toprank
from ._arrays import vector
from ._frames import features_of


class Graph:
    """A graph with edges sources[e] → targets[e], their features, seeds and judgements.

    weights: One per edge, 0 or above; for a learned walk they are an additional feature of edges.
    edge_features: A row per edge, 0 or above; an array or a frame, whose column names are kept.
    nodes: Names of all nodes, if some have no edge, or to fix their order.
    node_features: A row for each of `nodes`, 0 or above.
    seeds: Where walks start: nodes, {node: weight} (plain walks), or {list: nodes}; omitted, all nodes with equal probability.
    judgements: What walks are learned from: {node: label}, or {list: {node: label}} for several lists over the graph.
    """

    def __init__(
        self,
        sources: Any,
        targets: Any,
        *,
        weights: Any = None,
        edge_features: Any = None,
        nodes: Any = None,
        node_features: Any = None,
        seeds: Any = None,
        judgements: Mapping[Any, Any] | None = None,
    ) -> None:
        sources, targets = np.asarray(sources), np.asarray(targets)
        if sources.ndim != 1 or sources.shape != targets.shape:
            raise ValueError(
                f"edges: found sources of the shape {sources.shape} and targets of {targets.shape}, "
                "expected one of each per edge"
            )
        self.nodes, ends = _numbered(sources, targets, nodes)
        self.sources, self.targets = np.ascontiguousarray(ends[0::2]), np.ascontiguousarray(ends[1::2])
        self.weights = None if weights is None else vector(weights, "weights", np.float32)
        if self.weights is not None and self.weights.size != sources.size:
            raise ValueError(f"weights: found {self.weights.size} numbers, expected one for each of {sources.size} edges")
        if node_features is not None and nodes is None:
            raise ValueError("node_features: expected nodes beside them, the name of the node of each row")
        self.node_columns, self.node_values = _features(node_features, self.nodes.size, "node_features", "nodes")
        self.edge_columns, self.edge_values = _features(edge_features, sources.size, "edge_features", "edges")
        self.has_features = bool(self.node_columns or self.edge_columns)
        self.place = {_plain(name): code for code, name in enumerate(self.nodes.tolist())}
        self.seeds = seeds
        if judgements is not None and not isinstance(judgements, Mapping):
            found = type(judgements).__name__
            raise TypeError(f"judgements: found {found}, expected {{node: label}} or {{list: {{node: label}}}}")
        self.judgements = judgements

    def __repr__(self) -> str:
        features = [f", {what}: {', '.join(names)}" for what, names in self._columns() if names]
        judged = "" if self.judgements is None else ", judged"
        return f"<Graph of {self.nodes.size} nodes and {self.sources.size} edges{''.join(features)}{judged}>"

    def _columns(self) -> list[tuple[str, list[str]]]:
        return [("features of nodes", self.node_columns), ("of edges", self.edge_columns)]

    def number(self, name: Any, what: str) -> int:
        """The node of that name."""
        code = self.place.get(_plain(name))
        if code is None:
            raise ValueError(f"{what}: {name!r} is not a node of the graph")
        return code

    def own_columns(self) -> tuple[list[str], np.ndarray]:
        """The edges' own features, weights among them."""
        if self.weights is None:
            return self.edge_columns, self.edge_values
        values = np.column_stack([self.edge_values, self.weights]).astype(np.float32)
        return [*self.edge_columns, "weight"], values

    def judged(self) -> dict[str, Mapping[Any, Any]]:
        """The lists over this graph with their judgements; one without a name is called all, as by the command."""
        said = self.judgements or {}
        nested = [isinstance(labels, Mapping) for labels in said.values()]
        if not any(nested):
            return {"all": said}
        if not all(nested):
            raise TypeError("judgements: found labels beside lists, expected {node: label} or {list: {node: label}}")
        return {str(name): labels for name, labels in said.items()}

    def seeds_of(self, name: str) -> np.ndarray:
        """Numbers of the nodes where walks of a list start, ascending."""
        seeds = self.seeds
        if isinstance(seeds, Mapping):
            by_list = {str(key): value for key, value in seeds.items()}
            if any(np.isscalar(value) for value in by_list.values()):
                raise ValueError("seeds: found weights; a learned walk weighs seeds by their features, expected names alone")
            if name not in by_list:
                raise ValueError(f"seeds: found none for the list {name}, expected some for every list")
            seeds = by_list[name]
        if seeds is None:
            return np.arange(self.nodes.size, dtype=np.uint32)
        return np.unique([self.number(seed, "seeds") for seed in seeds]).astype(np.uint32)


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _numbered(sources: np.ndarray, targets: np.ndarray, nodes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Names of the nodes, in the order in which edges name them unless given, and the numbers of source, target, source …"""
    ends = np.stack([sources, targets], axis=1).reshape(-1)
    names, first, codes = np.unique(ends, return_index=True, return_inverse=True)
    if nodes is None:
        order = np.argsort(first)
        place = np.empty(names.size, dtype=np.uint32)
        place[order] = np.arange(names.size, dtype=np.uint32)
        return names[order], place[codes.reshape(-1)]
    given = np.asarray(nodes)
    numbers = {name: code for code, name in enumerate(given.tolist())}
    unknown = [name for name in names.tolist() if name not in numbers]
    if unknown or len(numbers) != given.size:
        what = f"{unknown[0]!r} of an edge is not among them" if unknown else "a name occurs twice"
        raise ValueError(f"nodes: {what}; expected every node once")
    place = np.array([numbers[name] for name in names.tolist()], dtype=np.uint32)
    return given, place[codes.reshape(-1)]


def _features(table: Any, rows: int, name: str, of: str) -> tuple[list[str], np.ndarray]:
    if table is None:
        return [], np.zeros((rows, 0), dtype=np.float32)
    features = features_of(table)
    if features.levels:
        columns = ", ".join(features.names[place] for place in features.levels)
        raise TypeError(f"{name}: found strings in {columns}, expected numbers: features of a walk are 0 or above")
    if len(features.values) != rows:
        raise ValueError(f"{name}: found {len(features.values)} rows, expected one for each of {rows} {of}")
    bad = np.argwhere(~(features.values >= 0))
    if bad.size:
        row, column = bad[0]
        raise ValueError(
            f"{name}: row {row} has {features.values[row, column]} in column {features.names[column]}, expected finite "
            "numbers of 0 or above: weights of a walk are sums of them"
        )
    return features.names, features.values


def query_graphs(graphs: Any, ends: bool | None) -> Any:
    """Graphs for the library: from a folder of tables, one graph, or {list: graph}."""
    if isinstance(graphs, (str, os.PathLike)):
        return _toprank.Graphs.read(os.fspath(graphs), ends)
    if isinstance(graphs, Graph):
        lists = {name: (graphs, labels) for name, labels in graphs.judged().items()}
        return _columns([graphs], True, lists, ends)
    lists = {}
    for name, graph in graphs.items():
        if not isinstance(graph, Graph):
            raise TypeError(f"graphs: found {type(graph).__name__} under {name!r}, expected {{list: toprank.Graph}}")
        judged = graph.judged()
        if len(judged) != 1:
            raise ValueError(f"graphs: the graph of {name!r} has {len(judged)} lists, expected {{node: label}}")
        lists[str(name)] = (graph, *judged.values())
    return _columns([graph for graph, _ in lists.values()], False, lists, ends)


def _columns(graphs: list[Graph], shared: bool, lists: dict[str, Any], ends: bool | None) -> Any:
    if not graphs:
        raise ValueError("graphs: found none, expected at least one")
    first = graphs[0]
    for graph in graphs[1:]:
        if graph._columns() != first._columns():
            raise ValueError(f"graphs: found {graph!r} beside {first!r}, expected the same features in all")
    parts = np.concatenate([[0], np.cumsum([graph.nodes.size for graph in graphs])])
    starts = dict(zip(map(id, graphs), parts.tolist()))
    seeds, judged, labels, missed = [], [], [], []
    for name, (graph, said) in lists.items():
        start = starts[id(graph)]
        bad = [node for node, label in said.items() if label != label]
        if bad:
            raise ValueError(f"judgements: node {bad[0]!r} has the label NaN, expected a number")
        seeds.append(graph.seeds_of(name) + np.uint32(start))
        there = [(graph.place[_plain(node)], label) for node, label in said.items() if _plain(node) in graph.place]
        there.sort(key=lambda pair: pair[0])
        judged.append(np.array([start + code for code, _ in there], dtype=np.uint32))
        labels.append(vector([label for _, label in there], "judgements", np.float32))
        # Judged nodes that are not in the graph count as not retrieved, as the command has it.
        others = [label for node, label in said.items() if _plain(node) not in graph.place]
        missed.append(vector(others, "judgements", np.float32))
    own = [graph.own_columns() for graph in graphs]
    shift = [np.uint32(start) for start in parts[:-1]]
    return _toprank.Graphs(
        list(lists),
        shared,
        parts.tolist(),
        [str(name) for graph in graphs for name in graph.nodes.tolist()],
        first.node_columns,
        np.ascontiguousarray(np.concatenate([graph.node_values for graph in graphs])),
        np.concatenate([graph.sources + start for graph, start in zip(graphs, shift)]),
        np.concatenate([graph.targets + start for graph, start in zip(graphs, shift)]),
        own[0][0],
        np.ascontiguousarray(np.concatenate([values for _, values in own])),
        ends,
        _cut(seeds),
        (*_cut(judged), np.concatenate(labels)),
        _cut(missed),
    )


def _cut(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([[0], np.cumsum([part.size for part in parts])]).astype(np.uint64), np.concatenate(parts)
