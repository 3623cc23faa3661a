"""PageRank of two generated graphs of 10 million edges beside igraph, networkx (scipy), networkit, rustworkx and
fast-pagerank, at one 1-norm error: solve only, and file to result.

    cargo build --release -p toprank-bench --no-default-features
    python bench/walks/speed_vs_peers.py [--edges 10000000] [--rounds 3] [--error 1e-8]

Ours stops when its own bound says that the error is at most the one asked for. Every peer gets the loosest tolerance
(powers of ten) with which its true error, against our scores at 1e-13, is that small: what it can certify itself does
not count against it. Times are wall-clock and CPU seconds, best of the rounds, in which the tools take turns; run it on a
machine at rest. Peers that are not installed are skipped.
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
sys.path.insert(0, str(HERE.parent))
import harness  # noqa: E402
ALPHA = 0.15
PATIENCE = 8.0  # seconds after which a peer gets no further round


def load(file):
    """Two columns of integers, by the fastest reader at hand."""
    try:
        import pyarrow.csv as table

        columns = table.read_csv(
            file, table.ReadOptions(autogenerate_column_names=True), table.ParseOptions(delimiter=" "))
        return columns[0].to_numpy(), columns[1].to_numpy()
    except ImportError:
        flat = np.fromstring(Path(file).read_text(), dtype=np.int64, sep=" ").reshape(-1, 2)
        return flat[:, 0], flat[:, 1]


def matrix(file):
    import scipy.sparse as sparse

    sources, targets = load(file)
    n = int(max(sources.max(), targets.max())) + 1
    return sparse.csr_matrix((np.ones(len(sources)), (sources, targets)), shape=(n, n))


def fast_pagerank():
    import fast_pagerank

    return matrix, lambda graph, tolerance: fast_pagerank.pagerank_power(graph, p=1 - ALPHA, tol=tolerance)


def networkx():
    import scipy.sparse as sparse

    def solve(graph, tolerance):
        # networkx's own loop (_pagerank_scipy) without its dictionaries, which would take minutes to build.
        n = graph.shape[0]
        out = np.asarray(graph.sum(axis=1)).ravel()
        scale = np.where(out > 0, 1.0 / np.where(out > 0, out, 1), 0.0)
        step = sparse.diags_array(scale) @ graph
        x = np.full(n, 1.0 / n)
        dangling = np.where(out == 0)[0]
        for _ in range(1000):
            last = x
            x = (1 - ALPHA) * (x @ step + x[dangling].sum() / n) + ALPHA / n
            if np.abs(x - last).sum() < tolerance:
                break
        return x

    return matrix, solve


def igraph():
    import igraph

    # prpack has one tolerance, its own.
    return (lambda file: igraph.Graph.Read_Edgelist(str(file), directed=True),
            lambda graph, _: graph.pagerank(damping=1 - ALPHA, implementation="prpack"))


def networkit():
    import networkit

    def solve(graph, tolerance):
        rank = networkit.centrality.PageRank(
            graph, 1 - ALPHA, tolerance, distributeSinks=networkit.centrality.SinkHandling.DistributeSinks)
        rank.norm = networkit.centrality.Norm.l1norm
        rank.run()
        return rank.scores()

    def read(file):
        # Its EdgeListReader leaves out duplicates and numbers the nodes anew.
        sources, targets = (column.astype(np.uint64) for column in load(file))
        n = int(max(sources.max(), targets.max())) + 1
        return networkit.GraphFromCoo((np.ones(len(sources)), (sources, targets)), n=n, directed=True)

    return read, solve


def rustworkx():
    import rustworkx

    def read(file):
        sources, targets = load(file)
        graph = rustworkx.PyDiGraph()
        graph.add_nodes_from([None] * (int(max(sources.max(), targets.max())) + 1))
        graph.add_edges_from_no_data(list(zip(sources.tolist(), targets.tolist())))
        return graph

    def solve(graph, tolerance):
        scores = rustworkx.pagerank(graph, alpha=1 - ALPHA, tol=tolerance, max_iter=1000)
        return [scores[i] for i in range(graph.num_nodes())]

    return read, solve


PEERS = {"fast-pagerank": fast_pagerank, "networkit": networkit, "networkx (its scipy loop)": networkx,
         "igraph": igraph, "rustworkx": rustworkx}


def timed(call, *arguments):
    clock, cpu = time.perf_counter(), time.process_time()
    result = call(*arguments)
    return result, time.perf_counter() - clock, time.process_time() - cpu


class Peer:
    """A tool, what its rounds took, and the tolerance it needs."""

    def __init__(self, name, tools, error):
        self.name, (self.read, self.solve) = name, tools
        self.reading, self.solving, self.tolerance, self.spent = [], [], error, 0.0

    def round(self, file, exact, error):
        if self.spent > PATIENCE:
            return
        graph, *spent = timed(self.read, file)
        self.reading.append(spent)
        while True:
            scores, *spent = timed(self.solve, graph, self.tolerance)
            self.apart = float(np.abs(np.asarray(scores, dtype=float).ravel() - exact).sum())
            if self.apart <= error or self.tolerance < error * 1e-8:
                break
            self.tolerance /= 10
        self.solving.append(spent)
        self.spent += self.reading[-1][0] + spent[0]

    def best(self):
        """Seconds of reading and of solving: clock, CPU."""
        return [min(column) for runs in (self.reading, self.solving) for column in zip(*runs)]


def found(names, error):
    for name in names:
        try:
            yield Peer(name, PEERS[name](), error)
        except ImportError as absent:
            print(f"{name}: {absent}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--error", type=float, default=1e-8)
    parser.add_argument("--graphs", default="tail,core", help="rows of others are kept in the table")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--out", default=str(HERE / "speed_vs_peers.csv"))
    args = parser.parse_args()
    rows, bench = [], harness.command("pagerank")
    with tempfile.TemporaryDirectory() as folder:
        for kind in args.graphs.split(","):
            wanted = {"tail": 3.0, "core": 1.5}[kind]
            file, exact = os.path.join(folder, f"{kind}.txt"), os.path.join(folder, f"{kind}.f64")
            subprocess.check_call([*bench, "make", file, str(args.nodes), str(args.edges), kind, "1"])
            subprocess.check_call([*bench, "scores", file, "1e-13", exact])
            exact = np.fromfile(exact)
            tools, own = list(found(args.peers.split(","), args.error)), []
            for _ in range(args.rounds):
                own += json.loads(subprocess.check_output([*bench, "time", file, str(args.error), "1"]))
                for tool in tools:
                    tool.round(file, exact, args.error)
            triad = json.loads(subprocess.check_output(harness.command("memory")))["gb_per_s"]
            best = lambda key: min(run[key] for run in own)  # noqa: E731
            read, solve = best("read_s"), best("solve_s")
            moved = max(run["product_bytes_per_s"] for run in own) / 1e9
            print(f"{kind}: one matrix–vector product moves {moved:.1f} GB/s; a = b + s·c moves {triad:.1f}", flush=True)
            rows.append([kind, "toprank", read, best("read_cpu_s"), solve, best("solve_cpu_s"), read + solve, 1, 1,
                         args.error, own[0]["error_bound"], own[0]["products"], moved, triad])
            print(*rows[-1], flush=True)
            ratios = []
            for tool in tools:
                r, r_cpu, s, s_cpu = tool.best()
                ratios.append((s / solve, (r + s) / (read + solve)))
                rows.append([kind, tool.name, r, r_cpu, s, s_cpu, r + s, *ratios[-1], tool.tolerance, tool.apart,
                             "", "", ""])
                print(*rows[-1], flush=True)
            for i, what in enumerate(["solve", "file to result"]):
                print(f"{kind}, {what}: fastest peer over ours {min(r[i] for r in ratios):.2f}, wanted {wanted}")
    head = ["graph", "tool", "read_s", "read_cpu_s", "solve_s", "solve_cpu_s", "file_to_result_s",
            "solve_over_ours", "file_to_result_over_ours", "tolerance", "norm1_error", "products", "product_gb_per_s",
            "triad_gb_per_s"]
    kept = []
    if Path(args.out).exists():
        with open(args.out, newline="") as table:
            kept = [row for row in list(csv.reader(table))[1:] if row[0] not in args.graphs.split(",")]
    with open(args.out, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(kept)
        writer.writerows([[f"{x:.5g}" if isinstance(x, float) else x for x in row] for row in rows])


if __name__ == "__main__":
    main()
