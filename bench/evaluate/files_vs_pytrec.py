"""Qrels and run files to printed ndcg@10, map, mrr: `toprank evaluate` against a Python script with pytrec_eval.

    python bench/evaluate/files_vs_pytrec.py target/release/toprank [--queries 20000] [--docs 100] [--repeats 7]

Makes the two files (seeded), then runs both programs in turn as fresh processes, and prints medians of wall and CPU
seconds, the ratios and the values; stops with an error if the values differ in the sixth digit. pytrec_eval knows no
bootstrap intervals, so the ratio is that of toprank without them; the default with intervals is timed as well.
`--csv FILE` appends one line per run. The interpreter that runs this script also runs the Python side, so it
needs pytrec_eval (bench/peers/requirements.txt).
"""

import argparse
import csv
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

# What a careful user writes: one pass over each file, split, nested dicts.
PYTHON_SIDE = """
import json, sys
import pytrec_eval

qrels = {}
with open(sys.argv[1]) as lines:
    for line in lines:
        query, _, doc, relevance = line.split()
        if query not in qrels:
            qrels[query] = {}
        qrels[query][doc] = int(relevance)
run = {}
with open(sys.argv[2]) as lines:
    for line in lines:
        query, _, doc, _, score, _ = line.split()
        if query not in run:
            run[query] = {}
        run[query][doc] = float(score)
measures = {"ndcg_cut_10", "map", "recip_rank"}
results = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
mean = {m: sum(r[m] for r in results.values()) / len(results) for m in measures}
print(json.dumps({"ndcg@10": mean["ndcg_cut_10"], "map": mean["map"], "mrr": mean["recip_rank"]}))
"""


def make_files(folder, queries, docs, seed):
    """Every retrieved document is judged; judgements stand in name order, the run in score order."""
    draw = random.Random(seed)
    qrels_path, run_path = os.path.join(folder, "qrels.txt"), os.path.join(folder, "run.txt")
    with open(qrels_path, "w") as qrels, open(run_path, "w") as run:
        for query in range(queries):
            names = [f"doc{number:08d}" for number in draw.sample(range(10**8), docs)]
            scores = sorted((draw.random() for _ in names), reverse=True)
            for name in sorted(names):
                qrels.write(f"q{query} 0 {name} {draw.choice((0, 0, 0, 0, 0, 1, 1, 1, 2, 3))}\n")
            for rank1, (name, score) in enumerate(zip(names, scores), 1):
                run.write(f"q{query} Q0 {name} {rank1} {score} bench\n")
    return qrels_path, run_path


def timed(command):
    """Wall and CPU seconds of a process, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed with {done.returncode}: {done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("toprank", help="the release binary")
    parser.add_argument("--queries", type=int, default=20000)
    parser.add_argument("--docs", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv", help="append one line per run to this file")
    given = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        qrels, run = make_files(folder, given.queries, given.docs, given.seed)
        evaluate = [given.toprank, "evaluate", "--qrels", qrels, "--run", run, "--like", "trec_eval"]
        evaluate += ["--metrics", "ndcg@10,map,mrr", "--json"]
        sides = {
            "python": [sys.executable, "-c", PYTHON_SIDE, qrels, run],
            "toprank": [*evaluate, "--replicates", "0"],
            "with intervals": evaluate,
        }
        seconds = {side: [] for side in sides}
        values = {}
        for repeat in range(given.repeats):
            for side, command in sides.items():
                wall, cpu, printed = timed(command)
                seconds[side].append((wall, cpu))
                values[side] = printed.get("metrics", printed)
                if given.csv:
                    with open(given.csv, "a", newline="") as out:
                        row = [given.queries, given.docs, repeat, side, f"{wall:.4f}", f"{cpu:.4f}"]
                        csv.writer(out).writerow(row)

    print(f"{given.queries} queries x {given.docs} documents, median of {given.repeats} runs")
    median = {s: [statistics.median(column) for column in zip(*seconds[s])] for s in sides}
    for side in sides:
        wall, cpu = median[side]
        ratios = [python / own for python, own in zip(median["python"], median[side])]
        print(f"{side:14} wall {wall:.3f} s (ratio {ratios[0]:.1f})  cpu {cpu:.3f} s (ratio {ratios[1]:.1f})")
    print(values["toprank"])
    for metric, value in values["python"].items():
        if abs(value - values["toprank"][metric]) > 5e-7:
            sys.exit(f"{metric} differs: {value} and {values['toprank'][metric]}")


if __name__ == "__main__":
    main()
