"""Memory of evaluating 100 million rows in Python: the peak beyond the arrays that were handed over.

    python bench/python/many_rows.py [-o bench/python/many_rows.csv] [--rows 100000000]

Labels (float32), scores (float64) and sizes of lists of 100 are made in the process, then `toprank.evaluate` evaluates
ndcg@10, map and mrr. Printed and written: the arrays' bytes, the highest resident memory before and after the call, seconds.
"""

import argparse
import csv
import pathlib
import resource
import time

import numpy as np

import toprank


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("-o", type=pathlib.Path)
    args = parser.parse_args()
    random = np.random.default_rng(1)
    labels, scores = np.empty(args.rows, np.float32), np.empty(args.rows)
    for start in range(0, args.rows, 1_000_000):
        part = slice(start, min(start + 1_000_000, args.rows))
        scores[part] = random.normal(size=part.stop - part.start)
        labels[part] = (scores[part] + random.normal(size=part.stop - part.start) > 2).astype(np.float32)
    group = np.full(args.rows // 100, 100)
    before, start = peak(), time.perf_counter()
    result = toprank.evaluate(labels, scores, group=group, metrics="ndcg@10,map,mrr", replicates=0)
    line = {
        "rows": args.rows,
        "lists": group.size,
        "arrays_mb": round((labels.nbytes + scores.nbytes + group.nbytes) / 1e6),
        "peak_before_mb": round(before / 1e6),
        "peak_after_mb": round(peak() / 1e6),
        "beyond_arrays": f"{(peak() - before) / (labels.nbytes + scores.nbytes + group.nbytes):.3f}",
        "seconds": f"{time.perf_counter() - start:.1f}",
        "ndcg@10": f"{result['ndcg@10']:.6f}",
    }
    print(line)
    if args.o:
        with args.o.open("w", newline="") as file:
            writer = csv.DictWriter(file, line.keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerow(line)


if __name__ == "__main__":
    main()
