"""Do the command and its peers compute the same values on fresh random lists?

    python bench/peers/agree.py --toprank target/release/toprank --seed 1 [--times 10] [PEER …]

Draws lists from the seed, lets each peer evaluate them with its own code, writes them to files (LETOR and scores, CSV where
there are weights, qrels and a run) and asks `toprank evaluate --like PEER --json`. Prints, for each peer and measure,
the largest difference of a mean over all cases; ends with 1 if one is above 1e-9.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import cases
import peers

ALLOWED = 1e-9


def write_letor(folder, lists):
    with open(folder / "data.txt", "w") as data, open(folder / "scores.txt", "w") as scores:
        for q, one in enumerate(lists):
            for y, s in zip(one["labels"], one["scores"]):
                data.write(f"{y} qid:{q + 1} 1:{s}\n")
                scores.write(f"{s!r}\n")
    return ["--data", folder / "data.txt", "--scores", folder / "scores.txt"]


def write_csv(folder, lists):
    with open(folder / "data.csv", "w", newline="") as data, open(folder / "scores.txt", "w") as scores:
        out = csv.writer(data)
        out.writerow(["query", "grade", "of_item", "of_list", "f1"])
        for q, one in enumerate(lists):
            items = one.get("item_weights", [1.0] * len(one["labels"]))
            for y, s, w in zip(one["labels"], one["scores"], items):
                out.writerow([f"q{q}", y, w, one.get("weight", 1.0), s])
                scores.write(f"{s!r}\n")
    columns = ["--list", "query", "--label", "grade", "--list-weight", "of_list"]
    if "item_weights" in lists[0]:
        columns += ["--weight", "of_item"]
    return ["--data", folder / "data.csv", "--scores", folder / "scores.txt", *columns]


def write_trec(folder, lists):
    qrels, run = peers.qrels_and_run(lists)
    with open(folder / "qrels", "w") as out:
        for q, judged in qrels.items():
            out.writelines(f"{q} 0 {name} {y}\n" for name, y in judged.items())
    with open(folder / "run", "w") as out:
        for q, found in run.items():
            # The rank column is what trec_eval ignores; the order of lines is what ranx's ties follow.
            out.writelines(f"{q} Q0 {name} {rank} {s!r} x\n" for rank, (name, s) in enumerate(found.items(), 1))
    return ["--qrels", folder / "qrels", "--run", folder / "run"]


def ask_toprank(command, peer, lists, metrics):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if "names" in lists[0]:
            files = write_trec(folder, lists)
        elif "weight" in lists[0] or "item_weights" in lists[0]:
            files = write_csv(folder, lists)
        else:
            files = write_letor(folder, lists)
        line = [command, "evaluate", *files, "--like", peer, "--metrics", ",".join(metrics), "--json", "--quiet", "--replicates", "0"]
        done = subprocess.run([str(word) for word in line], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, line))}\n{done.stderr}")
        return json.loads(done.stdout)["metrics"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toprank", required=True, help="path of the binary")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=10, help="so many times the lists of the golden files")
    parser.add_argument("peers", nargs="*", default=list(peers.PEERS))
    asked = parser.parse_args()
    version = subprocess.run([asked.toprank, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{version}, seed {asked.seed}, {asked.times} x the lists\n")
    print("| peer | measure | cases | lists | max difference |\n| --- | --- | --- | --- | --- |")
    worst = 0.0
    for peer in asked.peers:
        packages, function = peers.PEERS[peer]
        named = ", ".join(map(peers.version, packages))
        seen = {}
        for case, lists in cases.of(peer, asked.seed, asked.times):
            theirs = function(lists)
            if not theirs:
                continue
            ours = ask_toprank(asked.toprank, peer, lists, list(theirs))
            for metric, (value, _) in theirs.items():
                mine = ours[metric]
                difference = float("inf") if mine is None else abs(mine - value)
                count, total, largest = seen.get(metric, (0, 0, 0.0))
                seen[metric] = (count + 1, total + len(lists), max(largest, difference))
                if not difference <= ALLOWED:
                    print(f"differs: {peer}, {case}: {metric} is {mine}, the peer says {value}", file=sys.stderr)
        for metric, (count, total, largest) in seen.items():
            worst = max(worst, largest)
            print(f"| {named} | {metric} | {count} | {total} | {largest:.1e} |")
    print(f"\nlargest difference {worst:.1e}")
    sys.exit(0 if worst <= ALLOWED else 1)


if __name__ == "__main__":
    main()
