"""Is a build slower than the one before it? Both binaries run in turn, so that noise of the machine hits both alike.

python bench/regression/run.py BEFORE AFTER DIR [--runs 15]

BEFORE and AFTER are two builds of the command, DIR is an empty folder. For reading, loading and training, CPU seconds of both, the
median of the ratios after/before of neighbouring runs and its 95 % interval (10,000 bootstrap draws, fixed seed) go to result.csv.
"""

import argparse
import csv
import os
import pathlib
import random
import statistics
import subprocess

WORK = [
    ("read LETOR text", "inspect text/train.txt --quiet"),
    ("read CSV", "inspect table.csv --list query --label label --quiet"),
    ("convert text to a memory-mapped file", "convert text/train.txt {own}.toprank-data --quiet"),
    ("read packed text (.zst)", "inspect packed.txt.zst --quiet"),
    ("read edges, rank", "pagerank rank --edges edges.csv --top 5 --quiet"),
    ("load trees, score text", "predict {own}.model --data text/test.txt -o {own}.scores --quiet"),
    ("train trees from text", "train --data text/train.txt --model trees --objective lambdamart:k=10 --trees 50 -o {own}.trained --quiet"),
    ("train matrix factorisation", "recommend train --data shop/interactions.csv --split leave-last --model mf --epochs 5 -o {own}.rec --quiet"),
]


def cpu_seconds(binary, words, folder):
    child = subprocess.Popen([binary, *words.split()], cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, f"{binary} {words}"
    return usage.ru_utime + usage.ru_stime


def interval(ratios, draws=10_000):
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws)]


def prepare(binaries, folder):
    made = binaries["after"]
    run = lambda binary, words: subprocess.run([binary, *words.split()], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    run(made, "generate letor --lists 8000 --seed 1 -o text --quiet")
    run(made, "generate interactions --users 6000 --items 2000 --length 40 --seed 1 -o shop --quiet")
    run(made, "convert text/train.txt packed.txt.zst --quiet")
    rng = random.Random(1)
    with open(folder / "table.csv", "w") as table:
        table.write("query,label," + ",".join(f"f{i}" for i in range(20)) + "\n")
        for row in range(300_000):
            table.write(f"q{row // 50},{row % 3}," + ",".join(f"{rng.random():.5f}" for _ in range(20)) + "\n")
    with open(folder / "edges.csv", "w") as edges:
        edges.write("from,to\n")
        edges.writelines(f"{rng.randrange(200_000)},{rng.randrange(200_000)}\n" for _ in range(3_000_000))
    for name, binary in binaries.items():
        run(binary, f"train --data text/train.txt --model trees --objective lambdamart:k=10 --trees 100 -o {name}.model --quiet")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    binaries = {"before": os.path.abspath(options.before), "after": os.path.abspath(options.after)}
    options.folder.mkdir(parents=True, exist_ok=True)
    prepare(binaries, options.folder)
    rows = []
    for name, words in WORK:
        seconds = {"before": [], "after": []}
        for turn in range(-1, options.runs):
            # The order changes from turn to turn; the first turn fills the caches and does not count.
            for which in ["before", "after"] if turn % 2 else ["after", "before"]:
                for left in options.folder.glob(f"{which}.t*"):
                    left.unlink()
                (options.folder / f"{which}.rec").unlink(missing_ok=True)
                taken = cpu_seconds(binaries[which], words.format(own=which), options.folder)
                if turn >= 0:
                    seconds[which].append(taken)
        ratios = [a / b for a, b in zip(seconds["after"], seconds["before"])]
        low, high = interval(ratios)
        medians = [statistics.median(seconds[which]) for which in ("before", "after")]
        rows.append([name, *(f"{m:.3f}" for m in medians), f"{statistics.median(ratios):.3f}", f"{low:.3f}", f"{high:.3f}"])
        print(*rows[-1], sep="\t", flush=True)
    with open(pathlib.Path(__file__).with_name("result.csv"), "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["work", "before_cpu_s", "after_cpu_s", "ratio", "low", "high"])
        out.writerows(rows)


if __name__ == "__main__":
    main()
