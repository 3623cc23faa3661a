"""What a step with SONG costs inside PyTorch: toprank.torch.loss beside the Rust kernel alone and beside LibAUC, one thread.

    cargo build --release -p toprank-bench --no-default-features
    pip install .
    python bench/python/song_in_torch.py [-o bench/python/song_in_torch.csv] [--rounds 9]

For each shape, in turn, round after round in one run, on the same seeded scores (32 bits) and labels:

    kernel    loss and gradient by the Rust library alone (the harness `objective`, a process of its own)
    call      loss(scores) inside PyTorch: the gradient is known when it returns
    step      the same with .backward()
    floor     scores.sum().backward(): what PyTorch's own machinery takes for a loss that costs nothing
    libauc    forward and backward of LibAUC's NDCGLoss

CPU seconds of a call, median over the rounds: on a busy machine wall-clock time is unfair to the longer of two jobs. The
gradients of toprank and LibAUC are compared before the timing.
"""

import os

os.environ["RAYON_NUM_THREADS"] = "1"

import argparse  # noqa: E402
import csv  # noqa: E402
import importlib.metadata  # noqa: E402
import json  # noqa: E402
import pathlib  # noqa: E402
import statistics  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402

import toprank  # noqa: E402
import toprank.torch  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench/objectives")]
import harness  # noqa: E402
from song_of_libauc import libauc, seconds_of, write  # noqa: E402

# Lists, relevant items, other items, and repetitions of a round.
SHAPES = [(64, 10, 90, 2000), (64, 48, 52, 1000), (1, 200, 19_800, 500), (1, 20, 19_980, 1000)]
MOST = 1.2


def kernel(shape, repeats, file):
    command = [*harness.command("objective"), "song:gamma=0.1", *map(str, shape), str(repeats), "--data", file]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["cpu_seconds"]


def measure(shape, repeats, rounds):
    lists, relevant, others = shape
    scores = np.random.default_rng(1).normal(size=(lists, relevant + others)).astype(np.float32)
    labels = np.zeros_like(scores)
    labels[:, :relevant] = 1
    leaf = torch.tensor(scores.ravel(), requires_grad=True)
    prepare = lambda gamma: toprank.torch.loss("song", gamma=gamma).prepare(labels.ravel(), group=[relevant + others] * lists)
    prepare(1)(leaf).backward()
    theirs, their_leaf = libauc(scores, relevant, 1.0)
    theirs()
    apart = float((their_leaf.grad.ravel() - leaf.grad).abs().max() / leaf.grad.abs().max())
    assert apart < 1e-3, f"the gradients differ: {apart}"
    loss = prepare(0.1)
    theirs, _ = libauc(scores, relevant, 0.1)

    def step():
        leaf.grad = None
        loss(leaf).backward()

    def floor():
        leaf.grad = None
        leaf.sum().backward()

    with tempfile.TemporaryDirectory() as folder:
        file = write(folder, scores, labels)
        calls = {
            "kernel": lambda: kernel(shape, repeats, file),
            "call": lambda: seconds_of(lambda: loss(leaf), repeats),
            "step": lambda: seconds_of(step, repeats),
            "floor": lambda: seconds_of(floor, repeats),
            "libauc": lambda: seconds_of(theirs, max(5, repeats // 50)),
        }
        found = {name: [] for name in calls}
        for _ in range(rounds):
            for name, call in calls.items():
                found[name].append(call())
    median = {name: statistics.median(times) for name, times in found.items()}
    ratios = sorted(call / alone for call, alone in zip(found["call"], found["kernel"]))
    line = {"shape": f"{lists} × ({relevant} + {others})"}
    line |= {f"{name}_us": f"{1e6 * seconds:.1f}" for name, seconds in median.items()}
    line["call_over_kernel"] = f"{median['call'] / median['kernel']:.2f}"
    line["lowest_round"], line["highest_round"] = f"{ratios[0]:.2f}", f"{ratios[-1]:.2f}"
    line["step_less_floor_over_kernel"] = f"{(median['step'] - median['floor']) / median['kernel']:.2f}"
    line["libauc_over_step"] = f"{median['libauc'] / median['step']:.1f}"
    line["promised_call_over_kernel"] = MOST
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("-o", type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    print({name: importlib.metadata.version(name) for name in ("torch", "libauc")}, "toprank", toprank.__version__)
    table = []
    for lists, relevant, others, repeats in SHAPES:
        table.append(measure((lists, relevant, others), repeats, args.rounds))
        print(*(f"{key} {value}" for key, value in table[-1].items()), sep="  ", flush=True)
    if args.o:
        with args.o.open("w", newline="") as file:
            writer = csv.DictWriter(file, table[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)


if __name__ == "__main__":
    main()
