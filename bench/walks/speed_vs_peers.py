"""PageRank of two generated graphs of 10 million edges beside igraph, networkx (scipy), networkit, rustworkx and
fast-pagerank, at one 1-norm error: solve only, and file to result.

    cargo build --release -p toprank-walks --example pagerank_bench
    python bench/walks/speed_vs_peers.py [--edges 10000000] [--rounds 3] [--error 1e-8]

Every peer's result is compared with ours (1-norm); a peer that stops earlier than asked is named, not timed as equal.
Times are of the clock, best of the rounds; run it on a machine at rest. Peers that are not installed are left out.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
BENCH = HERE.parents[1] / "target/release/examples/pagerank_bench"
ALPHA = 0.15


def load(file):
    flat = np.fromstring(Path(file).read_text(), dtype=np.int64, sep=" ")
    return flat.reshape(-1, 2)


def peers(error):
    """name -> (read: file -> graph, solve: graph -> scores)."""
    found = {}
    try:
        import igraph

        def read(file):
            return igraph.Graph.Read_Edgelist(str(file), directed=True)

        def solve(graph):
            return np.array(graph.pagerank(damping=1 - ALPHA, implementation="prpack"))

        found[f"igraph {igraph.__version__}"] = (read, solve)
    except ImportError:
        pass
    try:
        import networkit

        def read(file):
            reader = networkit.graphio.EdgeListReader(" ", 0, directed=True)
            return reader.read(str(file))

        def solve(graph):
            # The 2-norm of the change stops it: chosen so that the 1-norm error is the one asked for.
            rank = networkit.centrality.PageRank(
                graph, 1 - ALPHA, error / np.sqrt(graph.numberOfNodes()),
                distributeSinks=networkit.centrality.SinkHandling.DistributeSinks)
            rank.norm = networkit.centrality.Norm.L1Norm if hasattr(networkit.centrality, "Norm") else rank.norm
            rank.run()
            return np.array(rank.scores())

        found[f"networkit {networkit.__version__}"] = (read, solve)
    except ImportError:
        pass
    try:
        import fast_pagerank
        import scipy.sparse as sparse

        def read(file):
            edges = load(file)
            n = int(edges.max()) + 1
            return sparse.csr_matrix((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))

        def solve(graph):
            return fast_pagerank.pagerank_power(graph, p=1 - ALPHA, tol=error)

        found["fast-pagerank 1.0.0"] = (read, solve)
    except ImportError:
        pass
    try:
        import networkx
        import scipy.sparse as sparse  # noqa: F811

        def read(file):
            edges = load(file)
            n = int(edges.max()) + 1
            return sparse.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))

        def solve(graph):
            # networkx's own loop (_pagerank_scipy) without its dictionaries, which would take minutes to build.
            n = graph.shape[0]
            out = graph.sum(axis=1)
            scale = np.where(out > 0, 1.0 / np.where(out > 0, out, 1), 0.0)
            matrix = sparse.diags_array(scale) @ graph
            x = np.full(n, 1.0 / n)
            dangling = np.where(out == 0)[0]
            for _ in range(1000):
                last = x
                x = (1 - ALPHA) * (x @ matrix + x[dangling].sum() / n) + ALPHA / n
                if np.abs(x - last).sum() * (1 - ALPHA) / ALPHA < error:
                    break
            return x

        found[f"networkx {networkx.__version__} (its scipy loop)"] = (read, solve)
    except ImportError:
        pass
    try:
        import rustworkx

        def read(file):
            edges = load(file)
            graph = rustworkx.PyDiGraph()
            graph.add_nodes_from([None] * (int(edges.max()) + 1))
            graph.add_edges_from_no_data([tuple(edge) for edge in edges.tolist()])
            return graph

        def solve(graph):
            n = graph.num_nodes()
            scores = rustworkx.pagerank(graph, alpha=1 - ALPHA, tol=error / n, max_iter=1000)
            return np.array([scores[i] for i in range(n)])

        found[f"rustworkx {rustworkx.__version__}"] = (read, solve)
    except ImportError:
        pass
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--error", type=float, default=1e-8)
    parser.add_argument("--out", default=str(HERE / "speed_vs_peers.csv"))
    args = parser.parse_args()
    triad = json.loads(subprocess.check_output([BENCH, "triad"]))
    print(triad)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in ["tail", "core"]:
            file = os.path.join(folder, f"{kind}.txt")
            subprocess.check_call([BENCH, "make", file, str(args.nodes), str(args.edges), kind, "1"])
            ours = json.loads(subprocess.check_output([BENCH, "time", file, str(args.error), str(args.rounds)]))
            best = min(ours, key=lambda run: run["solve_s"])
            whole = min(run["read_s"] + run["solve_s"] for run in ours)
            gb = best["product_bytes_per_s"] / 1e9
            print(kind, best, f"one product moves {gb:.1f} GB/s beside a triad of {triad['triad_bytes_per_s'] / 1e9:.1f}")
            rows.append([kind, "toprank", best["solve_s"], whole, "", "", "", best["products"], gb])
            exact = None
            for name, (read, solve) in peers(args.error).items():
                solving, reading = [], []
                for _ in range(args.rounds):
                    start = time.perf_counter()
                    graph = read(file)
                    reading.append(time.perf_counter() - start)
                    start = time.perf_counter()
                    scores = solve(graph)
                    solving.append(time.perf_counter() - start)
                    del graph
                scores = np.asarray(scores, dtype=float).ravel()
                if exact is None and name.startswith("igraph"):
                    exact = scores
                apart = "" if exact is None else float(np.abs(scores - exact).sum())
                total = min(a + b for a, b in zip(reading, solving))
                row = [kind, name, min(solving), total, min(solving) / best["solve_s"], total / whole, apart, "", ""]
                rows.append(row)
                print(*row)
                sys.stdout.flush()
    with open(args.out, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["graph", "tool", "solve_s", "file_to_result_s", "times_slower_solve", "times_slower_whole",
                         "norm1_to_igraph", "products", "product_gb_per_s"])
        writer.writerows(rows)
    for kind, wanted in [("tail", 3.0), ("core", 1.5)]:
        peers_only = [row for row in rows if row[0] == kind and row[1] != "toprank"]
        if peers_only:
            print(kind, "fastest peer over ours: solve", min(row[4] for row in peers_only), "whole",
                  min(row[5] for row in peers_only), "wanted", wanted)


if __name__ == "__main__":
    main()
