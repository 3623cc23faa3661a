"""Loss and gradient in the scores, one thread: SONG against LibAUC on PyTorch, LambdaRank against LightGBM.

    cargo build --release -p toprank-bench --no-default-features
    python bench/objectives/speed_vs_peers.py [--out bench/objectives/speed_vs_peers.csv] [--rounds 7]

The same seeded lists for both sides, in turn, round after round in one run. Times are CPU seconds of a call, mean of a
round and median over the rounds, because on a busy machine wall-clock time is unfair to the longer of two jobs. LibAUC:
forward and backward of NDCGLoss on scores that are the leaf of the graph, nothing else.
LightGBM does not show its gradient pass, so it is the difference per iteration between the objectives lambdarank
(truncation 30, its default normalisation) and regression with trees of 2 leaves on the same data, from given scores with
a learning rate that leaves them where they are. The SONG gradients are compared before the timing; LambdaRank's are in the
golden file of the peers. Needs bench/peers/requirements-objectives.txt.
"""

import argparse
import csv
import importlib.metadata
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import lightgbm
import numpy as np
import torch

from song_of_libauc import libauc, seconds_of, write

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import harness  # noqa: E402
SEED = 1
# Lists, relevant items, other items, and how many times faster we promise to be.
SONG = [(1, 200, 19_800, 150), (1, 20, 19_980, 30), (100, 10, 90, 30)]
ROWS, LENGTH, FEATURES, ITERATIONS = 178_000, 120, 4, 100
GRADES = (0.52, 0.32, 0.13, 0.02, 0.01)


def toprank(objective, shape, repeats, file):
    """`shape`: lists, relevant, others."""
    command = [*harness.command("objective"), objective, *map(str, shape), str(repeats), "--data", file]
    alone = {**os.environ, "RAYON_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=alone)
    return json.loads(done.stdout)


def song_rows(rounds):
    draw = np.random.default_rng(SEED)
    for lists, relevant, others, wanted in SONG:
        scores = draw.normal(size=(lists, relevant + others))
        labels = np.zeros_like(scores)
        labels[:, :relevant] = 1
        shape = (lists, relevant, others)
        with tempfile.TemporaryDirectory() as folder:
            file = write(folder, scores, labels)
            exact, leaf = libauc(scores, relevant, gamma=1.0)
            exact()
            norm = leaf.grad.double().abs().sum().item()
            ours = toprank("song", shape, 1, file)["gradient_norm"]
            assert abs(norm / ours - 1) < 1e-4, f"gradients differ: {norm} and {ours}"
            step, _ = libauc(scores, relevant, gamma=0.1)
            step()
            pairs = []
            for _ in range(rounds):
                theirs = seconds_of(step, 21)
                pairs.append((theirs, toprank("song", shape, 1001, file)["cpu_seconds"]))
        yield row(f"song, {lists} × ({relevant} + {others})", "libauc", pairs, wanted)


def lambdarank_row(rounds):
    draw = np.random.default_rng(SEED)
    lists = ROWS // LENGTH
    scores = draw.normal(size=lists * LENGTH)
    labels = draw.choice(len(GRADES), size=scores.size, p=GRADES)
    features = draw.normal(size=(scores.size, FEATURES)) + labels[:, None]
    base = {"verbosity": -1, "num_threads": 1, "num_leaves": 2, "learning_rate": 1e-9, "force_col_wise": True}
    data = lightgbm.Dataset(features, label=labels, group=[LENGTH] * lists, init_score=scores, params=base)
    data.construct()

    def per_iteration(objective):
        booster = lightgbm.Booster({**base, "objective": objective, "lambdarank_truncation_level": 30}, data)
        booster.update()
        return seconds_of(booster.update, ITERATIONS)

    with tempfile.TemporaryDirectory() as folder:
        file = write(folder, scores, labels)
        pairs = []
        for _ in range(rounds):
            theirs = per_iteration("lambdarank") - per_iteration("regression")
            ours = toprank("lambdarank@30:norm=lightgbm", (lists, 1, LENGTH - 1), 51, file)
            pairs.append((theirs, ours["cpu_seconds"]))
    return row(f"lambdarank@30, {lists} × {LENGTH}", "lightgbm", pairs, 2)


def row(what, peer, pairs, wanted):
    theirs, ours = (statistics.median(column) for column in zip(*pairs))
    ratios = sorted(a / b for a, b in pairs)
    return {
        "what": what,
        "peer": peer,
        "version": importlib.metadata.version(peer),
        "peer_seconds": f"{theirs:.3e}",
        "toprank_seconds": f"{ours:.3e}",
        "ratio": f"{theirs / ours:.1f}",
        "lowest_round": f"{ratios[0]:.1f}",
        "highest_round": f"{ratios[-1]:.1f}",
        "promised": wanted,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    table = [*song_rows(args.rounds), lambdarank_row(args.rounds)]
    for line in table:
        print("  ".join(f"{key} {value}" for key, value in line.items()))
    if args.out:
        with args.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, table[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)


if __name__ == "__main__":
    main()
