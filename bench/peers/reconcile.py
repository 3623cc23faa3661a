"""Does `toprank reconcile` find each peer's conventions from nothing but the number that the peer printed?

    python bench/peers/reconcile.py --toprank target/release/toprank --seed 1 [--digits 7] [PEER …]

Draws lists from the seed (cases.py), lets each peer evaluate them with its own code and hands the mean alone, rounded to `--digits`
decimals, to `toprank reconcile`. Three things are checked for each number: the peer's preset is among those named; every convention
named gives the number when `toprank evaluate` is told its rules; and a number that no convention gives is answered by "none found".
reconcile.csv has a line for each peer and metric; ends with 1 if a check fails.
"""

import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import agree
import cases
import peers

RESULT = pathlib.Path(__file__).with_name("reconcile.csv")
# Rules that reconcile looks for itself; other parts of a key say which metric it is.
SOUGHT = re.compile(r":(gain|empty|ties)=[^:]*")
#: Conventions of a number that are computed again.
REPLAYED = 3


def run(words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}")
    return json.loads(done.stdout)


def files_of(folder, lists):
    if "names" in lists[0]:
        return agree.write_trec(folder, lists)
    if "weight" in lists[0] or "item_weights" in lists[0]:
        return agree.write_csv(folder, lists)
    return agree.write_letor(folder, lists)


def check(command, peer, case, lists, theirs, digits, seen):
    with tempfile.TemporaryDirectory() as name:
        files = files_of(pathlib.Path(name), lists)
        for key, (value, _) in theirs.items():
            metric = SOUGHT.sub("", key)
            row = seen.setdefault((peer, metric), dict(numbers=0, preset=0, replayed=0, reproduced=0, wrong=0, refused=0, conventions=0))
            printed = f"{value:.{digits}f}"
            half = 0.5000001 * 10.0**-digits
            found = run([command, "reconcile", *files, "-m", metric, "--value", printed, "--json", "--quiet"])
            row["numbers"] += 1
            row["conventions"] += len(found["conventions"])
            # `xgboost:empty=zero` is XGBoost with an option of its own.
            named = any(name.split(":")[0] == peer for name in found["presets"])
            row["preset"] += named
            if not named:
                print(f"not found: {peer}, {case}: {key} = {printed}, named {list(found['presets'])}", file=sys.stderr)
            for convention in found["conventions"][:REPLAYED]:
                rules = metric + "".join(f":{rule}={setting}" for rule, setting in convention["rules"].items())
                again = run([command, "evaluate", *files, "-m", rules, "--json", "--quiet", "--replicates", "0"])
                row["replayed"] += 1
                row["reproduced"] += abs(next(iter(again["metrics"].values())) - float(printed)) <= half
            # Close by: a number beyond all values of the metric would be too easy.
            wrong = f"{value + 0.00312345:.{digits}f}"
            none = run([command, "reconcile", *files, "-m", metric, "--value", wrong, "--json", "--quiet"])
            row["wrong"] += 1
            row["refused"] += not none["conventions"] and not none["presets"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toprank", required=True, help="path of the binary")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--digits", type=int, default=7)
    parser.add_argument("peers", nargs="*", default=list(peers.PEERS))
    asked = parser.parse_args()
    seen = {}
    for peer in asked.peers:
        _, function = peers.PEERS[peer]
        for case, lists in cases.of(peer, asked.seed, 1):
            if "edges" not in case and len(lists) > 1:
                check(asked.toprank, peer, case, lists, function(lists), asked.digits, seen)
    with open(RESULT, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["peer", "metric", *next(iter(seen.values()))])
        writer.writerows([*key, *row.values()] for key, row in seen.items())
    total = {field: sum(row[field] for row in seen.values()) for field in next(iter(seen.values()))}
    print(", ".join(f"{field} {value}" for field, value in total.items()))
    sys.exit(0 if total["preset"] == total["numbers"] and total["reproduced"] == total["replayed"] else 1)


if __name__ == "__main__":
    main()
