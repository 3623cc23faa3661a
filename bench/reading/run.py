"""Reading 250 MB of LETOR text: toprank, LightGBM's Dataset and scikit-learn's reader, interleaved, in one run.

    cargo build --release -p toprank-bench --no-default-features --features parquet
    python bench/reading/run.py [--out FOLDER] [--repeats 3]        # needs numpy, lightgbm, scikit-learn

Each reading is a process of its own that reports its CPU seconds (user and system, all threads) for the reading
alone: no interpreter start, no imports. The file is in the page cache. LightGBM does not read
qids, so it gets the same rows without them; it also bins while it reads, so its CPU seconds hold more than reading.
Writes bench/reading/result.csv with the medians.
"""

import argparse
import csv
import json
import pathlib
import platform
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import harness  # noqa: E402

PEERS = {
    "lightgbm": """
import json, resource, sys, time, warnings
import lightgbm
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
cpu, wall = used(), time.perf_counter()
data = lightgbm.Dataset(sys.argv[1], params={"verbose": -1}).construct()
cpu, wall = used() - cpu, time.perf_counter() - wall
print(json.dumps({"rows": data.num_data(), "cpu": cpu, "wall": wall, "version": lightgbm.__version__}))
""",
    "scikit-learn": """
import json, resource, sys, time
import sklearn
from sklearn.datasets import load_svmlight_file
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
cpu, wall = used(), time.perf_counter()
x, y, qid = load_svmlight_file(sys.argv[1], query_id=True)
cpu, wall = used() - cpu, time.perf_counter() - wall
print(json.dumps({"rows": x.shape[0], "cpu": cpu, "wall": wall, "version": sklearn.__version__}))
""",
}


def generate(path, rows=178_000, features=136, seed=1):
    """Rows shaped like MSLR: counts, lengths, ratios with six digits, about 10 bytes a cell; 100 rows a list."""
    import numpy

    random = numpy.random.default_rng(seed)
    kinds = random.permutation(numpy.arange(features) % 10)
    with open(path, "w") as out:
        for first in range(0, rows, 1000):
            n = min(1000, rows - first)
            counts = random.poisson(3, (n, features))
            wide = random.lognormal(5, 2, (n, features))
            unit = random.random((n, features))
            labels = random.choice(5, n, p=[0.52, 0.32, 0.13, 0.02, 0.01])
            for i in range(n):
                cells = []
                for j, kind in enumerate(kinds):
                    if kind < 3:
                        value = str(counts[i, j])
                    elif kind == 3:
                        value = f"{wide[i, j]:.6f}"[:10].rstrip(".")
                    else:
                        value = f"{unit[i, j]:.6f}"
                    cells.append(f"{j + 1}:{value}")
                out.write(f"{labels[i]} qid:{(first + i) // 100 + 1} {' '.join(cells)}\n")


def measure(command):
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--out", default=str(HERE.parent / "out"))
    options.add_argument("--repeats", type=int, default=3)
    options = options.parse_args()
    folder = pathlib.Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / "reading.txt"
    if not text.exists():
        generate(text.with_suffix(".part"))
        text.with_suffix(".part").rename(text)
    bare = folder / "reading-without-qid.txt"
    if not bare.exists():
        with open(text) as rows, open(bare, "w") as out:
            for row in rows:
                label, _, cells = row.split(" ", 2)
                out.write(f"{label} {cells}")
    bench = harness.command("read")
    parquet = text.with_suffix(".parquet")
    commands = {"toprank": [*bench, str(text)]}
    if parquet.exists() or subprocess.run([*bench, str(text), str(parquet)]).returncode == 0:
        commands["toprank parquet"] = [*bench, str(parquet)]
    for peer, code in PEERS.items():
        commands[peer] = [sys.executable, "-c", code, str(bare if peer == "lightgbm" else text)]
    measured = {name: [] for name in commands}
    for repeat in range(options.repeats):
        for name, command in commands.items():
            measured[name].append(measure(command))
            print(repeat + 1, name, measured[name][-1], flush=True)
    report(measured, text.stat().st_size)


def report(measured, size):
    """Medians; a ratio is the median over rounds of the ratio within a round, for the machine changes between them."""
    text = [run["cpu"] for run in measured["toprank"]]
    first = measured["toprank"][0]
    print(f"\n{size / 1e6:.0f} MB of text, {platform.machine()}, medians of {len(text)} rounds")
    with open(HERE / "result.csv", "w", newline="") as out:
        table = csv.writer(out)
        table.writerow("reader version rows cpu_seconds wall_seconds times_toprank_text data_bytes peak_anonymous".split())
        for name, runs in measured.items():
            cpu, wall = (statistics.median(run[what] for run in runs) for what in ("cpu", "wall"))
            ratio = statistics.median(run["cpu"] / base for run, base in zip(runs, text))
            peak = max(run.get("peak", 0) for run in runs) or ""
            row = [name, runs[0].get("version", ""), runs[0]["rows"], f"{cpu:.3f}", f"{wall:.3f}", f"{ratio:.2f}"]
            table.writerow([*row, runs[0].get("bytes", ""), peak])
            print(f"  {name:16} {cpu:7.3f} CPU seconds, {ratio:6.2f} × toprank's text")
    print(f"  peak anonymous memory / data set: {first['peak'] / first['bytes']:.3f}")


if __name__ == "__main__":
    main()
