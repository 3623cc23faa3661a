"""ndcg@10, map and mrr of 20,000 lists x 100 items, everything in memory, one thread: toprank, pytrec_eval, ranx.

    cargo build --release -p toprank-metrics --example evaluate_bench
    python bench/evaluate/memory_vs_peers.py [--out bench/evaluate/memory_vs_peers.csv]

The same seeded numbers for all, in one run. Peers get their own structures ready made (dictionaries for
pytrec_eval, Qrels and Run for ranx, compiled by a first call) and are timed on the call alone. All take the label as
gain, and the script stops if a mean differs. Times are CPU seconds, so that a busy machine does not blur them; the wall
clock is in the table as well.
"""

import argparse
import csv
import importlib.metadata
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import numpy as np

LISTS, ITEMS, SEED, REPEATS = 20_000, 100, 1, 5
ROOT = pathlib.Path(__file__).resolve().parents[2]


def draw():
    """Uniform scores, all different in practice; half the items relevant, grades 1 to 4."""
    random = np.random.default_rng(SEED)
    scores = random.random((LISTS, ITEMS))
    grades = random.integers(1, 5, (LISTS, ITEMS)) * random.integers(0, 2, (LISTS, ITEMS))
    return scores, grades


def timed(call):
    """Median CPU and wall seconds of REPEATS calls, and the last result."""
    cpu, wall = [], []
    for _ in range(REPEATS):
        start = time.process_time(), time.perf_counter()
        result = call()
        cpu.append(time.process_time() - start[0])
        wall.append(time.perf_counter() - start[1])
    return statistics.median(cpu), statistics.median(wall), result


def toprank(scores, grades):
    items = np.empty(LISTS * ITEMS, dtype=[("score", "<f8"), ("label", "<f4")])
    items["score"], items["label"] = scores.ravel(), grades.ravel()
    with tempfile.NamedTemporaryFile() as file:
        items.tofile(file.name)
        program = ROOT / "target/release/examples/evaluate_bench"
        output = subprocess.run(
            [program, str(LISTS), str(ITEMS), file.name], check=True, capture_output=True, text=True
        ).stdout
    asked = "ndcg@10:gain=linear,map,mrr"
    line = next(line for line in output.splitlines() if line.startswith(asked) and "threads 1 " in line)
    number = lambda name: float(re.search(rf"{name} +([0-9.]+) ms", line).group(1)) / 1000
    means = [float(x) for x in re.search(r"means \[(.*)\]", line).group(1).split(",")]
    return number("cpu"), number("median"), means


def pytrec_eval(scores, grades):
    import pytrec_eval

    names = [f"d{i}" for i in range(ITEMS)]
    qrels = {f"q{q}": dict(zip(names, map(int, grades[q]))) for q in range(LISTS)}
    run = {f"q{q}": dict(zip(names, map(float, scores[q]))) for q in range(LISTS)}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map", "recip_rank"})
    cpu, wall, values = timed(lambda: evaluator.evaluate(run))
    mean = lambda name: float(np.mean([value[name] for value in values.values()]))
    return cpu, wall, [mean("ndcg_cut_10"), mean("map"), mean("recip_rank")]


def ranx(scores, grades):
    import ranx

    names = [f"d{i}" for i in range(ITEMS)]
    qrels = ranx.Qrels({f"q{q}": {n: int(y) for n, y in zip(names, grades[q]) if y > 0} for q in range(LISTS)})
    run = ranx.Run({f"q{q}": dict(zip(names, map(float, scores[q]))) for q in range(LISTS)})
    call = lambda: ranx.evaluate(qrels, run, ["ndcg@10", "map", "mrr"], threads=1)
    call()  # compiles
    cpu, wall, values = timed(call)
    return cpu, wall, [float(values[name]) for name in ("ndcg@10", "map", "mrr")]


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "?"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    scores, grades = draw()
    rows = []
    for name, package, measure in [
        ("toprank", None, toprank),
        ("pytrec_eval", "pytrec-eval-terrier", pytrec_eval),
        ("ranx", "ranx", ranx),
    ]:
        cpu, wall, means = measure(scores, grades)
        rows.append((name, version(package) if package else "", cpu, wall, *means))
    ours = rows[0]
    table = [
        {
            "tool": name,
            "version": release,
            "cpu_seconds": round(cpu, 4),
            "wall_seconds": round(wall, 4),
            "times_our_cpu": round(cpu / ours[2], 1),
            "ndcg@10": round(ndcg, 6),
            "map": round(average_precision, 6),
            "mrr": round(reciprocal, 6),
        }
        for name, release, cpu, wall, ndcg, average_precision, reciprocal in rows
    ]
    for row in rows[1:]:
        # pytrec_eval compares scores in f32: a few pairs of neighbours tie.
        allowed = 1e-5 if row[0] == "pytrec_eval" else 1e-12
        assert all(abs(theirs - mine) <= allowed for theirs, mine in zip(row[4:], ours[4:])), (row, ours)
    for row in table:
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    if args.out:
        with args.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, table[0].keys())
            writer.writeheader()
            writer.writerows(table)


if __name__ == "__main__":
    main()
