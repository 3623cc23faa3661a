"""What do two processes cost beside two threads? The model is the same; both run in turn, so that noise of the machine hits both alike.

python bench/many/overhead.py TOPRANK DIR [--lists 2000] [--trees 40] [--runs 7]

TOPRANK is a release build of the command, DIR an empty folder, in which data of MSLR's shape (120 documents a list, 136 features) are
made. The seconds of training, from the data in memory to the model (median and lowest of the runs, and their ratios), the
CPU seconds of all processes (which the load of the machine hardly changes), the calls and the bytes that a worker sends go to overhead.csv:
one process with 2 threads, two processes with 1 thread each over TCP, and the same started by mpirun, if that is installed.
"""

import argparse
import csv
import hashlib
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess

TRAIN = "train --data mslr.toprank-data --model trees --leaves 31 --objective lambdamart --trees {trees} --seed 1 --force --json --quiet -o {name}.toprank"


def address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def one_process(toprank, folder, trees):
    words = TRAIN.format(trees=trees, name="one").split()
    return [subprocess.Popen([toprank, "--threads", "2", *words], cwd=folder, stdout=subprocess.PIPE)]


def two_processes(toprank, folder, trees):
    words, meet = TRAIN.format(trees=trees, name="two").split(), address()
    return [
        subprocess.Popen(
            [toprank, "--threads", "1", *words, "--workers", "2", "--worker", str(worker), "--meet", meet],
            cwd=folder,
            stdout=subprocess.PIPE,
        )
        for worker in range(2)
    ]


def by_mpirun(toprank, folder, trees):
    words = TRAIN.format(trees=trees, name="mpi").split()
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"]
    return [subprocess.Popen([*mpirun, toprank, "--threads", "1", *words, "--meet", address()], cwd=folder, stdout=subprocess.PIPE)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("toprank", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--lists", type=int, default=2000)
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--runs", type=int, default=7)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if not (given.folder / "mslr.toprank-data").exists():
        generate = f"generate letor --lists {given.lists} --length 120 --features 136 --seed 1 -o text --force --quiet"
        subprocess.run([given.toprank, *generate.split()], cwd=given.folder, check=True)
        subprocess.run([given.toprank, "convert", "text/train.txt", "mslr.toprank-data", "--quiet"], cwd=given.folder, check=True)
    kinds = {"1 process, 2 threads": one_process, "2 processes, 1 thread each": two_processes}
    if shutil.which("mpirun"):
        kinds["the same by mpirun"] = by_mpirun
    seconds, cpu = ({name: [] for name in kinds} for _ in range(2))
    said, models = {}, set()
    for run in range(given.runs):
        for name, start in kinds.items():
            children = start(given.toprank, given.folder, given.trees)
            said[name] = json.loads(children[0].stdout.read())
            usages = [os.wait4(child.pid, 0)[2] for child in children]
            cpu[name].append(sum(usage.ru_utime + usage.ru_stime for usage in usages))
            seconds[name].append(said[name]["seconds"])
            models.add(hashlib.sha256((given.folder / said[name]["model"]).read_bytes()).hexdigest())
            print(run, name, seconds[name][-1], cpu[name][-1], flush=True)
    assert len(models) == 1, "the same model"
    first = next(iter(kinds))
    with open(pathlib.Path(__file__).with_name("overhead.csv"), "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["workers", "rows", "median seconds", "lowest seconds", "median ratio", "ratio of the lowest", "CPU seconds", "median ratio of CPU seconds", "calls a tree", "bytes a tree", "sha256"])
        for name in kinds:
            ratios = [own / base for own, base in zip(seconds[name], seconds[first])]
            of_cpu = [own / base for own, base in zip(cpu[name], cpu[first])]
            sent = said[name]["workers"]
            table.writerow(
                [
                    name,
                    said[name]["rows"],
                    *(f"{value:.2f}" for value in (statistics.median(seconds[name]), min(seconds[name]))),
                    *(f"{value:.3f}" for value in (statistics.median(ratios), min(seconds[name]) / min(seconds[first]))),
                    f"{statistics.median(cpu[name]):.2f}",
                    f"{statistics.median(of_cpu):.3f}",
                    round(sent["calls"] / given.trees),
                    round(sent["bytes"] / given.trees),
                    next(iter(models))[:16],
                ]
            )


if __name__ == "__main__":
    main()
