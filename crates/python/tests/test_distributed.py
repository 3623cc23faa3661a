"""Several processes train the model of one, to the byte: over objects of one's own, MPI and Dask."""

import multiprocessing
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import toprank
from toprank import _launch

FLAGS = dict(model="trees:leaves=5", objective="lambdamart", seed=3)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Training data, and the model that one worker makes of them."""
    folder = tmp_path_factory.mktemp("distributed")
    random = np.random.default_rng(1)
    lines = []
    for query in range(80):
        for x, y in random.random((1 + query % 9, 2)):
            lines.append(f"{int(x + 0.3 * random.random() > 0.7)} qid:{query} 1:{x:.4f} 2:{y:.4f}\n")
    data = folder / "train.txt"
    data.write_text("".join(lines))
    toprank.command("train", data=data, output=folder / "one.toprank", trees=40, **FLAGS)
    return data, (folder / "one.toprank").read_bytes()


class Pipes:
    """Workers that a hub connects: the smallest object that moves numbers."""

    def __init__(self, rank, size, pipe):
        self.rank, self.size, self.pipe = rank, size, pipe

    def gather(self, own):
        self.pipe.send(own)
        return self.pipe.recv()

    def sum(self, words):
        words[:] = np.sum([np.frombuffer(part, np.uint64) for part in self.gather(words.tobytes())], axis=0, dtype=np.uint64)


def by_pipe(rank, size, pipe, data, output, results):
    from toprank import distributed

    found = distributed.command(Pipes(rank, size, pipe), "train", data=data, output=output, trees=40, **FLAGS)
    results.put((rank, None if found is None else found["model"]))


def test_processes_over_an_object_of_ones_own_train_the_model_of_one(files, tmp_path):
    data, expected = files
    context = multiprocessing.get_context("spawn")
    output, results, size = str(tmp_path / "m.toprank"), context.Queue(), 3
    ends = [context.Pipe() for _ in range(size)]
    children = [
        context.Process(target=by_pipe, args=(rank, size, ends[rank][1], str(data), output, results)) for rank in range(size)
    ]
    for child, (_, theirs) in zip(children, ends):
        child.start()
        theirs.close()
    hub = [ours for ours, _ in ends]
    try:
        while True:
            parts = [pipe.recv() for pipe in hub]
            for pipe in hub:
                pipe.send(parts)
    except (EOFError, ConnectionError):
        pass
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    said = dict(results.get(timeout=10) for _ in range(size))
    assert said == {0: output, 1: None, 2: None}, "the first one speaks"
    assert pathlib.Path(output).read_bytes() == expected


def test_an_object_that_fails_is_an_error_that_says_why(files, tmp_path):
    class Wrong:
        rank, size = 2, 2

    with pytest.raises(ValueError, match="expected a rank below the size"):
        toprank.distributed.command(Wrong(), "train", data=files[0], output=tmp_path / "m", trees=2, **FLAGS)

    class Broken:
        rank, size = 0, 2

        def gather(self, own):
            return [own, own]

        def sum(self, words):
            raise RuntimeError("no route to the others")

    with pytest.raises(OSError, match="no route to the others"):
        toprank.distributed.command(Broken(), "train", data=files[0], output=tmp_path / "m", trees=2, **FLAGS)
    with pytest.raises(ValueError, match="its caller brings the workers"):
        toprank.distributed.command(Broken(), "train", data=files[0], output=tmp_path / "n", workers=2, trees=2, **FLAGS)


def test_the_command_under_mpirun_is_that_of_one_process(files, tmp_path):
    pytest.importorskip("mpi4py")
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not installed")
    data, expected = files
    output = tmp_path / "m.toprank"
    flags = ["--data", data, "--output", output, "--trees", "40", *(f"--{name}={value}" for name, value in FLAGS.items())]
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", sys.executable, "-m", "toprank.distributed", "train"]
    done = subprocess.run([*command, *flags], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert output.read_bytes() == expected


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    os.environ["TOPRANK_HOST"] = "127.0.0.1"
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            yield client
    del os.environ["TOPRANK_HOST"]


def test_dask_workers_train_the_model_of_one(files, client, tmp_path):
    data, expected = files
    ranker = toprank.dask.train(client, data=data, output=tmp_path / "m.toprank", trees=40, **FLAGS)
    assert (tmp_path / "m.toprank").read_bytes() == expected
    assert np.isfinite(ranker.predict(np.zeros((3, 2)))).all()
    with pytest.raises(Exception, match="objective"):
        toprank.dask.train(client, data=data, output=tmp_path / "n.toprank", objective="lambdmart", model="trees")


def test_a_dask_worker_that_is_killed_changes_nothing(files, client, tmp_path):
    import threading

    data, _ = files
    toprank.command("train", data=data, output=tmp_path / "one.toprank", trees=1500, **FLAGS)
    output = tmp_path / "m.toprank"
    killed = []

    def kill():
        checkpoint = pathlib.Path(f"{output}.checkpoint")
        while not checkpoint.exists():
            time.sleep(0.01)
        time.sleep(0.2)
        pids = client.run(os.getpid)
        for number in [pids[max(pids)]]:
            os.kill(number, signal.SIGKILL)
            killed.append(number)

    thread = threading.Thread(target=kill)
    thread.start()
    toprank.dask.train(client, data=data, output=output, trees=1500, **FLAGS)
    thread.join()
    assert killed and output.read_bytes() == (tmp_path / "one.toprank").read_bytes()


def test_an_attempt_that_loses_a_process_is_followed_by_one_that_resumes(files, tmp_path):
    data, model = files
    seen = []

    def attempt(secret, words):
        seen.append(words)
        if len(seen) < 3:
            raise _launch.Lost("worker 1 has ended")
        return model

    output = tmp_path / "m.toprank"
    ranker = _launch.attempts(attempt, lambda path: len(seen) > 1, output, 3, {"trees": 40})
    assert ranker.predict(np.zeros((2, 2))).shape == (2,)
    started, resumed = {"trees": 40, "output": str(output)}, {"resume": str(output), "trust_paths": True}
    assert seen == [started, started, resumed]
    with pytest.raises(OSError, match="processes were lost in 2 attempts"):
        _launch.attempts(lambda *_: (_ for _ in ()).throw(_launch.Lost("gone")), lambda _: False, output, 1, {})
