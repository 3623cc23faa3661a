"""Does quickstart find what it claims, whatever the seed?

python bench/quickstart/run.py TOPRANK [--tasks search,fraud,recommendation,graph] [--seeds 20] [--first 1]

TOPRANK is a built command, better of the debug profile: quickstart is to take less than ten seconds there. For every task and seed the
verdicts that quickstart prints, its wall clock seconds and whether each ranking beats a simpler one by an interval that excludes 0 go
to bench/quickstart/result.csv. The exit code is 1 if one does not.
"""

import argparse
import csv
import pathlib
import re
import subprocess
import sys
import tempfile
import time

RESULT = pathlib.Path(__file__).with_name("result.csv")
FIELDS = ["task", "seed", "winner", "loser", "metric", "difference", "low", "high", "p", "seconds", "holds"]
# Which ranking is to beat which. What learning adds to a walk is printed, too, and is significant for most seeds only.
CLAIMS = {
    "search": [("linear", "best-feature"), ("trees", "linear")],
    "fraud": [("linear", "best-feature"), ("trees", "linear")],
    "recommendation": [("mf", "popularity")],
    "graph": [("untuned", "in-degree"), ("learned", "in-degree")],
}
VERDICT = re.compile(r"^(\S+) beats (\S+) on (\S+) by (\S+) \[(\S+), (\S+)\], p (\S+)", re.MULTILINE)


def told(task, text):
    """What the verdict of each claim says, with `holds`."""
    found = {(winner, loser): rest for winner, loser, *rest in VERDICT.findall(text)}
    for winner, loser in CLAIMS[task]:
        metric, difference, low, high, p = found.get((winner, loser), ["", "", "", "", ""])
        holds = bool(low) and float(low) > 0
        yield dict(winner=winner, loser=loser, metric=metric, difference=difference, low=low, high=high, p=p, holds="yes" if holds else "NO")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("toprank", type=pathlib.Path)
    parser.add_argument("--tasks", default=",".join(CLAIMS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--with", dest="more", default="", help="further arguments of quickstart")
    parser.add_argument("--out", type=pathlib.Path, default=RESULT)
    given = parser.parse_args()
    command, rows = given.toprank.resolve(), []
    for task in given.tasks.split(","):
        for seed in range(given.first, given.first + given.seeds):
            with tempfile.TemporaryDirectory() as folder:
                start = time.monotonic()
                words = [command, "quickstart", "--task", task, "--seed", str(seed), "--quiet", *given.more.split()]
                run = subprocess.run(words, cwd=folder, capture_output=True, text=True)
                seconds = f"{time.monotonic() - start:.1f}"
            if run.returncode != 0:
                sys.exit(f"{task}, seed {seed}: {run.stderr}")
            for row in told(task, run.stdout):
                rows.append(dict(task=task, seed=seed, seconds=seconds, **row))
                print(*[rows[-1][field] for field in FIELDS], flush=True)
    with open(given.out, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    failed = [row for row in rows if row["holds"] != "yes"]
    print(f"{len(rows) - len(failed)} of {len(rows)} hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
