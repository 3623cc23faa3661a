"""Walks on graphs: PageRank, and walks whose weights are learned as the command learns them."""

import csv
import json
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

import toprank


def dense_pagerank(n, edges, restart, seeds=None):
    """The definition: the linear system solved whole."""
    P = np.zeros((n, n))
    for s, t, w in edges:
        P[s, t] += w
    start = np.full(n, 1 / n) if seeds is None else seeds / seeds.sum()
    out = P.sum(axis=1)
    P = np.where(out[:, None] > 0, P / np.where(out > 0, out, 1)[:, None], start)
    return np.linalg.solve(np.eye(n) - (1 - restart) * P.T, restart * start)


def test_pagerank_is_the_solution_of_its_equation():
    random = np.random.default_rng(3)
    edges = [(s, t, w) for s, t, w in zip(*random.integers(0, 8, (2, 20)), random.uniform(0.1, 2, 20).astype(np.float32))]
    sources, targets, weights = map(list, zip(*edges))
    ranked = toprank.PageRank(restart=0.2).fit(sources, targets, weights=weights, nodes=range(8))
    assert np.abs(ranked.scores_ - dense_pagerank(8, edges, 0.2)).sum() <= ranked.error_bound_ + 1e-12 <= 2e-9
    names = [f"n{i}" for i in range(8)]
    named = toprank.PageRank().fit(
        [names[s] for s in sources], [names[t] for t in targets], weights=weights, seeds={"n1": 2, "n3": 1}, nodes=names
    )
    seeds = np.zeros(8)
    seeds[[1, 3]] = 2, 1
    assert np.abs(named.scores_ - dense_pagerank(8, edges, 0.15, seeds)).sum() <= 2e-9
    assert list(named.nodes_) == names


def test_graphs_that_are_none_are_refused():
    with pytest.raises(ValueError, match="one of each per edge"):
        toprank.PageRank().fit([1, 2], [1])
    with pytest.raises(ValueError, match="is no node"):
        toprank.PageRank().fit([1], [2], seeds=[3])
    with pytest.raises(ValueError, match="restart"):
        toprank.PageRank(restart=0).fit([1], [2])
    with pytest.raises(ValueError, match="weight"):
        toprank.PageRank().fit([1], [2], weights=[-1])
    with pytest.raises(ValueError, match="not among them"):
        toprank.PageRank().fit([1], [2], nodes=[1])
    with pytest.raises(TypeError, match="list without targets"):
        toprank.PageRank().fit([1, 2])
    with pytest.raises(ValueError, match="dangling must be restart or uniform"):
        toprank.PageRank(dangling="no").fit([1], [2])


def test_plain_scores_are_those_of_the_command(command, tmp_path):
    edges = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("a", "e")]
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{s},{t}\n" for s, t in edges))
    call = "pagerank rank --edges edges.csv --top 5 --json".split()
    report = json.loads(subprocess.run([command, *call], cwd=tmp_path, check=True, capture_output=True).stdout)
    ranked = toprank.PageRank().fit(*zip(*edges))
    ours = dict(zip(ranked.nodes_.tolist(), ranked.scores_.tolist()))
    assert {line["name"]: line["score"] for line in report["top"]} == ours


@pytest.fixture(scope="module")
def folder(command, tmp_path_factory):
    """Graphs of 25 queries, in tables."""
    place = tmp_path_factory.mktemp("walks")
    for name, seed in (("graphs", 2), ("other", 3)):
        call = f"generate graphs --queries 25 --nodes 12 --seed {seed} -o {name} --quiet".split()
        subprocess.run([command, *call], cwd=place, check=True, capture_output=True)
    return place


def read(folder):
    """The tables as graphs by query."""
    tables = {}
    for name in ("nodes", "edges", "judgements"):
        with open(folder / f"{name}.tsv", newline="") as file:
            tables[name] = list(csv.DictReader(file, delimiter="\t"))
    of = lambda name, query: [row for row in tables[name] if row["query"] == query]
    number = lambda row, others: [float(value) for key, value in row.items() if key not in others]
    graphs = {}
    for query in dict.fromkeys(row["query"] for row in tables["nodes"]):
        nodes, edges = of("nodes", query), of("edges", query)
        frame = lambda rows, others: Frame([k for k in rows[0] if k not in others], [number(row, others) for row in rows])
        graphs[query] = toprank.Graph(
            [row["from"] for row in edges],
            [row["to"] for row in edges],
            edge_features=frame(edges, ("query", "from", "to")),
            nodes=[row["node"] for row in nodes],
            node_features=frame(nodes, ("query", "node", "seed")),
            seeds=[row["node"] for row in nodes if row["seed"] == "1"],
            judgements={row["node"]: float(row["label"]) for row in of("judgements", query)},
        )
    return graphs


class Frame:
    """As little of a frame as names need, so that the test asks for no package."""

    def __init__(self, columns, rows):
        self.columns, self.values = columns, np.array(rows, dtype=np.float32)
        self.dtypes = None

    def __len__(self):
        return len(self.values)

    def __getitem__(self, name):
        return self.values[:, self.columns.index(name)]


@pytest.mark.parametrize(
    ("params", "flags"),
    [
        ({"steps": 15}, "--steps 15"),
        ({"objective": "song", "steps": 10, "restart": 0.2}, "--objective song --steps 10 --restart 0.2"),
        ({"method": "gfn", "steps": 40, "seed": 5}, "--method gfn --steps 40 --seed 5"),
        ({"method": "gbp", "step_size": 20.0, "steps": 5}, "--method gbp --step-size 20 --steps 5"),
        (
            {"objective": "ranknet", "steps": 5, "scores": "log", "dangling": "uniform", "radius": 0.5, "scale": False},
            "--objective ranknet --steps 5 --score log --dangling uniform --radius 0.5 --no-scale",
        ),
    ],
)
def test_the_learned_walk_is_that_of_the_command_byte_for_byte(command, folder, tmp_path, params, flags):
    call = [command, *f"pagerank train --graphs graphs -o {tmp_path}/command.toprank --json".split(), *flags.split()]
    report = json.loads(subprocess.run(call, cwd=folder, check=True, capture_output=True).stdout)
    for graphs in (folder / "graphs", read(folder / "graphs")):
        walk = toprank.PageRank(**params).fit(graphs)
        walk.save(tmp_path / "python.toprank")
        assert (tmp_path / "python.toprank").read_bytes() == (tmp_path / "command.toprank").read_bytes()
        assert walk.weights_ == report["weights"]
        assert walk.loss_ == report["loss"]
        assert {key: walk.metric_[key] for key in ("untuned", "learned")} == report["train"]


def test_validation_graphs_choose_the_weights_as_the_command_does(command, folder, tmp_path):
    flags = "--objective ndcg@5 --steps 8 --valid other"
    call = [command, *f"pagerank train --graphs graphs -o {tmp_path}/command.toprank {flags}".split()]
    subprocess.run(call, cwd=folder, check=True, capture_output=True)
    walk = toprank.PageRank(objective="ndcg@5", steps=8).fit(read(folder / "graphs"), valid=folder / "other")
    walk.save(tmp_path / "python.toprank")
    assert (tmp_path / "python.toprank").read_bytes() == (tmp_path / "command.toprank").read_bytes()
    assert walk.score(folder / "other") == pytest.approx(walk.header_["metric"][1], abs=1e-12)


def test_scores_of_other_graphs_are_those_of_the_command(command, folder, tmp_path):
    walk = toprank.PageRank(steps=5).fit(folder / "graphs")
    walk.save(tmp_path / "walk.toprank")
    call = [command, *f"pagerank predict {tmp_path}/walk.toprank --graphs other -o {tmp_path}/scores.txt".split()]
    subprocess.run(call, cwd=folder, check=True, capture_output=True)
    with open(tmp_path / "scores.txt", newline="") as file:
        theirs = {(row["query"], row["node"]): float(row["score"]) for row in csv.DictReader(file, delimiter="\t")}
    graphs = read(folder / "other")
    for loaded in (walk, toprank.PageRank.load(tmp_path / "walk.toprank"), pickle.loads(pickle.dumps(walk))):
        ours = loaded.predict(graphs)
        pairs = {(q, node): s for q, scores in ours.items() for node, s in zip(graphs[q].nodes.tolist(), scores.tolist())}
        assert pairs == theirs
        loaded.save(tmp_path / "again.toprank")
        assert (tmp_path / "again.toprank").read_bytes() == (tmp_path / "walk.toprank").read_bytes()


def clicks(seed=1):
    """A graph whose heavy edges lead to what is wanted."""
    random = np.random.default_rng(seed)
    sources, targets = random.integers(0, 30, (2, 300))
    wanted = np.arange(30) % 3 == 0
    features = np.stack([random.uniform(0, 1, 300), np.where(wanted[targets], 1.0, 0.05)], axis=1)
    return sources, targets, features, {node: int(wanted[node]) for node in range(30)}


def test_a_walk_learns_from_judgements_of_one_graph():
    sources, targets, features, judgements = clicks()
    walk = toprank.PageRank(objective="song", steps=60)
    walk.fit(sources, targets, edge_features=features, nodes=range(30), judgements=judgements)
    assert walk.loss_["learned"] < walk.loss_["untuned"]
    assert walk.weights_["edge 2"] > 2 * walk.weights_["edge 1"]
    assert walk.scores_.shape == (30,) and list(walk.nodes_) == list(range(30))
    plain = toprank.PageRank().fit(sources, targets, nodes=range(30))
    labels = list(judgements.values())
    learned, untuned = (toprank.evaluate(labels, ranked.scores_, metrics="auroc")["auroc"] for ranked in (walk, plain))
    assert learned > 0.95 > untuned
    assert [line["step"] for line in walk.history_] == list(range(1, 61))
    other = clicks(seed=2)
    assert walk.score(*other[:2], edge_features=other[2], nodes=range(30), judgements=other[3], metric="auroc") > 0.95


def test_lists_share_a_graph_and_have_seeds_of_their_own():
    sources, targets, features, judgements = clicks()
    graph = toprank.Graph(
        sources,
        targets,
        edge_features=features,
        nodes=range(30),
        seeds={"near": [0, 1], "far": [20, 21]},
        judgements={"near": judgements, "far": {**judgements, "nowhere": 1}},
    )
    walk = toprank.PageRank(objective="song", steps=5).fit(graph)
    assert set(walk.scores_) == {"near", "far"} and walk.scores_["near"].shape == (30,)
    assert walk.scores_["near"][0] > walk.scores_["far"][0], "walks restart at their own seeds"
    assert list(walk.nodes_["far"]) == list(range(30))


def test_weights_of_edges_are_a_feature_of_learned_walks():
    sources, targets, features, judgements = clicks()
    walk = toprank.PageRank(steps=5).fit(sources, targets, weights=features[:, 1], judgements=judgements)
    assert list(walk.weights_) == ["edge weight"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"edge_features": [[1.0], [-1.0]], "judgements": {1: 1}}, "row 1 has -1.0 in column 1, expected finite numbers"),
        ({"edge_features": [[1.0]], "judgements": {1: 1}}, "found 1 rows, expected one for each of 2 edges"),
        ({"node_features": [[1.0]], "judgements": {1: 1}}, "expected nodes beside them"),
        ({"edge_features": [[1.0], [1.0]]}, "expected judgements"),
        ({"judgements": {1: 1}}, "graphs without features"),
        ({"edge_features": [[1.0], [1.0]], "judgements": {1: math.nan}}, "node 1 has the label NaN"),
        ({"edge_features": [[1.0], [1.0]], "judgements": {1: 1}, "seeds": [7]}, "7 is no node"),
        ({"edge_features": [[1.0], [1.0]], "judgements": {1: 1}, "seeds": {1: 0.5}}, "expected names alone"),
        ({"weights": [1.0]}, "found 1 numbers, expected one for each of 2 edges"),
    ],
)
def test_what_no_walk_can_be_learned_from_is_a_clear_exception(columns, words):
    with pytest.raises((ValueError, TypeError), match=words):
        toprank.PageRank().fit([1, 2], [2, 1], **columns)


def test_settings_and_files_that_are_none_are_refused(folder, tmp_path):
    for params, words in (
        ({"method": "sgd"}, "method must be one of gbn, gfn, gbp, adam, but is sgd"),
        ({"scores": "rank"}, "score must be one of"),
        ({"radius": 2.0}, "radius must be above 0 and below 1"),
        ({"objective": "sonng"}, "did you mean song"),
        ({"restart": 1.0}, "restart"),
        ({"metric": "ndcg,map"}, "one metric"),
    ):
        with pytest.raises(ValueError, match=words):
            toprank.PageRank(**params).fit(folder / "graphs")
    with pytest.raises(OSError, match="nowhere"):
        toprank.PageRank().fit(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="learned nothing yet"):
        toprank.PageRank().predict([1], [2])
    with pytest.raises(ValueError, match="belongs into the graph"):
        toprank.PageRank().fit(folder / "graphs", seeds=[1])
    (tmp_path / "odd").write_bytes(b"odd")
    with pytest.raises(ValueError, match="odd"):
        toprank.PageRank.load(tmp_path / "odd")


def test_the_representation_names_what_was_changed():
    assert repr(toprank.PageRank(restart=0.2, objective="song")) == "PageRank(restart=0.2, objective='song')"
    graph = toprank.Graph([1, 2], [2, 3], edge_features=[[1.0], [2.0]], judgements={1: 1})
    assert repr(graph) == "<Graph of 3 nodes and 2 edges, of edges: 1, judged>"


LONG_WALK = """
import numpy as np, toprank
random = np.random.default_rng(1)
sources, targets = random.integers(0, 300, (2, 3000))
print("ready", flush=True)
try:
    toprank.PageRank(method="gfn", steps=10**9).fit(
        sources, targets, edge_features=random.uniform(size=(3000, 4)), judgements={i: i % 3 for i in range(100)}
    )
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_ctrl_c_stops_a_walk_that_learns(interrupted):
    assert interrupted(LONG_WALK) == "stopped\n"
