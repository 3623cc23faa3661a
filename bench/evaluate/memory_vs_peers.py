"""ndcg@10, map and mrr of 20,000 lists x 100 items, everything in memory, one thread: toprank, pytrec_eval, ranx.

    cargo build --release -p toprank-bench --no-default-features
    python bench/evaluate/memory_vs_peers.py [--out bench/evaluate/memory_vs_peers.csv] [--repeats 5]

All tools get the same seeded numbers in one run. No two scores of a list are equal and all of them are exact in 32 bits,
so that every tool sees the same order; all take the label as gain. First each tool evaluates the lists once, and the script
stops if a mean differs by more than 1e-12: nothing is timed unless the values are equal. Then each tool is timed on the call
alone, with its own structures ready made (dictionaries for pytrec_eval, Qrels and Run for ranx, which has compiled its
functions in the first call). Times are medians of CPU seconds (toprank: the mean), so that a busy machine does not blur them;
wall-clock seconds are in the table as well. Needs numpy, pytrec-eval-terrier and ranx.
"""

import argparse
import csv
import importlib.metadata
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import harness  # noqa: E402

LISTS, ITEMS, SEED = 20_000, 100, 1
METRICS = ["ndcg@10", "map", "mrr"]
ALLOWED = 1e-12  # of a mean over all lists; the tools add in another order


def draw():
    """Uniform scores of 32 bits, all different within a list; half of the items relevant, grades 1 to 4."""
    random = np.random.default_rng(SEED)
    scores = random.random((LISTS, ITEMS), dtype=np.float32)
    while len(tied := np.flatnonzero((np.diff(np.sort(scores)) == 0).any(axis=1))):
        scores[tied] = random.random((len(tied), ITEMS), dtype=np.float32)
    grades = random.integers(1, 5, (LISTS, ITEMS)) * random.integers(0, 2, (LISTS, ITEMS))
    return scores.astype(np.float64), grades


class Toprank:
    name, package = "toprank", None

    def __init__(self, scores, grades):
        items = np.empty(LISTS * ITEMS, dtype=[("score", "<f8"), ("label", "<f4")])
        items["score"], items["label"] = scores.ravel(), grades.ravel()
        self.file = tempfile.NamedTemporaryFile()
        items.tofile(self.file.name)

    def call(self, repeats):
        command = [*harness.command("evaluate"), str(LISTS), str(ITEMS), self.file.name]
        command += ["--metrics", "ndcg@10:gain=linear,map,mrr", "--threads", "1", "--repeats", str(repeats)]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def means(self):
        return self.call(1)["means"]

    def seconds(self, repeats):
        # A call takes some hundredths of a second: more of them for the same accuracy.
        found = self.call(4 * repeats + 1)
        return found["cpu_seconds"], found["median_seconds"]


class Peer:
    def seconds(self, repeats):
        cpu, wall = [], []
        for _ in range(repeats):
            start = time.process_time(), time.perf_counter()
            self.call()
            cpu.append(time.process_time() - start[0])
            wall.append(time.perf_counter() - start[1])
        return statistics.median(cpu), statistics.median(wall)


class PytrecEval(Peer):
    name, package = "pytrec_eval", "pytrec-eval-terrier"

    def __init__(self, scores, grades):
        import pytrec_eval

        names = [f"d{i}" for i in range(ITEMS)]
        qrels = {f"q{q}": dict(zip(names, map(int, grades[q]))) for q in range(LISTS)}
        self.run = {f"q{q}": dict(zip(names, map(float, scores[q]))) for q in range(LISTS)}
        self.evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map", "recip_rank"})

    def call(self):
        return self.evaluator.evaluate(self.run)

    def means(self):
        values = self.call().values()
        return [float(np.mean([of[name] for of in values])) for name in ("ndcg_cut_10", "map", "recip_rank")]


class Ranx(Peer):
    name, package = "ranx", "ranx"

    def __init__(self, scores, grades):
        import ranx

        names = [f"d{i}" for i in range(ITEMS)]
        relevant = {f"q{q}": {n: int(y) for n, y in zip(names, grades[q]) if y > 0} for q in range(LISTS)}
        qrels = ranx.Qrels(relevant)
        run = ranx.Run({f"q{q}": dict(zip(names, map(float, scores[q]))) for q in range(LISTS)})
        self.call = lambda: ranx.evaluate(qrels, run, METRICS, threads=1)

    def means(self):
        values = self.call()
        return [float(values[name]) for name in METRICS]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    scores, grades = draw()
    tools = [make(scores, grades) for make in (Toprank, PytrecEval, Ranx)]
    means = {tool.name: tool.means() for tool in tools}
    for name, values in means.items():
        for metric, value, ours in zip(METRICS, values, means["toprank"]):
            if not abs(value - ours) <= ALLOWED:
                sys.exit(f"{metric} of {name} is {value!r}, of toprank {ours!r}: nothing is timed unless they are equal")
    print(f"means of all tools are equal within {ALLOWED}: {dict(zip(METRICS, means['toprank']))}")
    seconds = {tool.name: tool.seconds(args.repeats) for tool in tools}
    table = [
        {
            "tool": tool.name,
            "version": importlib.metadata.version(tool.package) if tool.package else "",
            "cpu_seconds": round(seconds[tool.name][0], 4),
            "wall_seconds": round(seconds[tool.name][1], 4),
            "times_our_cpu": round(seconds[tool.name][0] / seconds["toprank"][0], 1),
            **{metric: round(value, 9) for metric, value in zip(METRICS, means[tool.name])},
        }
        for tool in tools
    ]
    for row in table:
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    if args.out:
        with args.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, table[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)


if __name__ == "__main__":
    main()
