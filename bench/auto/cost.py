"""What a fit of each member costs: CPU seconds of one thread, for the table in crates/train/src/rank/auto/cost.rs.

python bench/auto/cost.py RESULTS.csv [--toprank PATH]

Two members of the same kind on two folds of generated data, with few and with more epochs: their difference is what epochs cost.
"""

import argparse
import csv
import os
import pathlib
import resource
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = [(4000, 10), (4000, 60), (40000, 10), (40000, 60)]
#: Member, epochs that are compared.
LABELS = [("trees", 20, 80), ("trees-metric", 20, 80), ("trees-deep", 20, 80), ("linear", 2, 8), ("mlp", 2, 6), ("mlp-metric", 2, 6)]
QUERIES = [("trees", 20, 80), ("trees-lambda", 20, 80), ("linear", 2, 6), ("mlp", 2, 6), ("context", 1, 3)]


def cpu(program, arguments, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, *arguments], cwd=folder, check=True, env={**os.environ, "RAYON_NUM_THREADS": "1"}, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--toprank", default=str(ROOT / "target/release/toprank"))
    args = parser.parse_args()
    program = str(pathlib.Path(args.toprank).resolve())
    with args.results.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["data", "rows", "features", "member", "seconds_per_epoch"])
        for size, width in SIZES:
            with tempfile.TemporaryDirectory() as folder:
                cpu(program, ["generate", "binary", "--rows", str(size), "--features", str(width), "--split", "1/0/0", "-o", "b", "--quiet"], folder)
                data = ["--data", "b/train.csv", "--label", "label", "--objective", "auprc"]
                one(program, folder, data, LABELS, ("binary", size, width), rows, out)
                lists = str(size // 40)
                cpu(program, ["generate", "letor", "--lists", lists, "--features", str(width), "-o", "l", "--quiet"], folder)
                one(program, folder, ["--data", "l/train.txt"], QUERIES, ("queries", size, width), rows, out)


def one(program, folder, data, members, about, rows, out):
    for member, few, more in members:
        common = ["train", *data, "--model", "auto", "--folds", "2", "--quiet", "--force", "-o", "m.toprank"]
        times = [cpu(program, [*common, "--members", f"{member}:epochs={n}"], folder) for n in (few, more)]
        # Two folds train on half of the rows each.
        seconds = (times[1] - times[0]) / (more - few)
        rows.writerow([*about, member, f"{seconds:.6f}"])
        out.flush()
        print(*about, member, f"{seconds:.6f}", flush=True)


if __name__ == "__main__":
    main()
