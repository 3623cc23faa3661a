"""A worker is killed with -9 at ten moments on MPI, Dask and Ray: does the job end by itself, with the same model?

python bench/many/kills.py DIR [mpi] [dask] [ray]      with the package toprank installed, and mpi4py, dask[distributed], ray, psutil

MPI ends all processes if one is killed; the script then starts `train --resume`, as the launchers for Dask and Ray do. kills.csv has for each moment the number of attempts, the seconds from the kill to the end of the job, and whether the model is that of one
worker, byte for byte.
"""

import csv
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = dict(model="trees:leaves=15", objective="lambdamart", seed=3, trees=80, checkpoint_every=0.2)
MOMENTS = 10


def write_data(file):
    draw = np.random.default_rng(1)
    with open(file, "w") as target:
        for query in range(400):
            for values in draw.random((20, 6)):
                label = int(values[0] * values[1] + 0.2 * draw.random() > 0.5)
                target.write(f"{label} qid:{query} " + " ".join(f"{k}:{value:.5f}" for k, value in enumerate(values, 1)) + "\n")


def dask_workers():
    import distributed

    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    client = distributed.Client(cluster)

    def train(data, output):
        import toprank

        return toprank.dask.train(client, data=data, output=output, **FLAGS)

    return train, lambda: list(client.run(os.getpid).values()), lambda: (client.close(), cluster.close())


def mpi_workers():
    import psutil

    from toprank import _launch

    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", "2", sys.executable, "-m", "toprank.distributed", "train", "--quiet"]

    def train(data, output):
        words = ["--data", str(data), "-o", str(output)]
        words += [f"--{name.replace('_', '-')}={value}" for name, value in FLAGS.items()]
        while _launch.secrets.token_hex(1) and subprocess.run([*mpirun, *words], stderr=subprocess.DEVNULL).returncode != 0:
            if pathlib.Path(f"{output}.checkpoint").exists():
                words = ["--resume", str(output)]

    def pids():
        return [child.pid for child in psutil.Process().children(recursive=True) if "toprank.distributed" in child.cmdline()[:4]]

    return train, pids, lambda: None


def ray_workers():
    import psutil
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

    def train(data, output):
        import toprank

        return toprank.ray.train(data=data, output=output, workers=2, **FLAGS)

    def pids():
        return [child.pid for child in psutil.Process().children(recursive=True) if child.name().startswith("ray::_Worker")]

    return train, pids, ray.shutdown


def write(rows):
    with open(HERE / "kills.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["engine", "moment", "seconds after the run has begun", "attempts", "seconds from kill to end", "model"])
        table.writerows(rows)


def main():
    import toprank
    from toprank import _launch

    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["TOPRANK_HOST"] = "127.0.0.1"
    data = folder / "train.txt"
    write_data(data)
    started = time.monotonic()
    toprank.command("train", data=data, output=folder / "one.toprank", force=True, **FLAGS)
    alone = time.monotonic() - started
    expected = (folder / "one.toprank").read_bytes()
    rows = []
    for engine in sys.argv[2:] or ["mpi", "dask", "ray"]:
        train, pids, close = {"mpi": mpi_workers, "dask": dask_workers, "ray": ray_workers}[engine]()
        draw = random.Random(1)
        for moment in range(int(os.environ.get("MOMENTS", MOMENTS))):
            output = folder / f"{engine}{moment}.toprank"
            for old in folder.glob(f"{output.name}*"):
                old.unlink()
            wait, victim, killed = draw.random() * 0.4 * alone, draw.randrange(2), []

            def kill():
                while not pathlib.Path(f"{output}.checkpoint").exists() and not output.exists():
                    time.sleep(0.005)
                time.sleep(wait)
                there = sorted(pids())
                if there:
                    os.kill(there[victim % len(there)], signal.SIGKILL)
                    killed.append(time.monotonic())

            attempts = []
            real = _launch.secrets.token_hex
            _launch.secrets.token_hex = lambda size: attempts.append(1) or real(size)
            thread = threading.Thread(target=kill)
            thread.start()
            train(data, output)
            ended = time.monotonic()
            thread.join()
            _launch.secrets.token_hex = real
            seconds = ended - killed[0] if killed else float("nan")
            same = output.read_bytes() == expected
            rows.append([engine, moment, f"{wait:.2f}", len(attempts), f"{seconds:.1f}", "same" if same else "another"])
            print(*rows[-1], flush=True)
            write(rows)
            time.sleep(1)
        close()
    assert all(row[-1] == "same" for row in rows)


if __name__ == "__main__":
    main()
