"""Data that several tests share."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest


@pytest.fixture(scope="session")
def lists():
    """Lists whose labels follow two of five features: (X, y, sizes) for a seed."""

    def make(count=60, seed=1):
        random = np.random.default_rng(seed)
        sizes = random.integers(5, 15, count)
        X = random.normal(size=(sizes.sum(), 5)).astype(np.float32)
        worth = X[:, 0] + np.abs(X[:, 1]) + 0.3 * random.normal(size=len(X))
        return X, np.digitize(worth, [0.5, 1.5]), sizes

    return make


@pytest.fixture(scope="session")
def command():
    """The command of the same build."""
    found = os.environ.get("TOPRANK_COMMAND")
    if not found:
        pytest.skip("the command is not built beside the package: cargo build --workspace, or TOPRANK_COMMAND")
    return found


@pytest.fixture(scope="session")
def predict(command):
    """Runs `toprank predict`, or `toprank GROUP predict`, on a model."""

    def run(folder, model, *flags, group=()):
        call = [command, *group, "predict", "--model", str(model), *flags]
        subprocess.run(call, cwd=folder, check=True, capture_output=True)

    return run


# A program started in the background of a shell ignores Ctrl-C, and so would the programs it starts.
HEED_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


@pytest.fixture
def interrupted():
    """Runs a program that prints `ready` and then works for long, presses Ctrl-C, returns what else it printed.

    Ctrl-C comes after a second, or once the file `begun` exists.
    """

    def run(program, begun=None):
        process = subprocess.Popen([sys.executable, "-c", HEED_CTRL_C + program], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout.readline() == "ready\n"
            deadline = time.monotonic() + (1.0 if begun is None else 60.0)
            while time.monotonic() < deadline and not (begun is not None and begun.exists()):
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[0]
            assert process.returncode == 0
            return said
        finally:
            process.kill()

    return run
