"""What the launchers for Dask and Ray share: the work of one process, and attempts that resume from the last checkpoint."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable
from typing import Any


class Lost(Exception):
    """A process that took part is gone."""


def address() -> str:
    """An address of this machine that other machines reach, with a port that is free now."""
    host = os.environ.get("TOPRANK_HOST") or _own_host()
    with socket.socket() as probe:
        probe.bind((host, 0))
        return f"{host}:{probe.getsockname()[1]}"


def _own_host() -> str:
    # No packet is sent: this asks which of the machine's addresses leads elsewhere.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 1))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def work(worker: int, workers: int, meet: str, secret: str, flags: dict[str, Any]) -> bytes | None:
    """Train as one of several processes; the model file from the first."""
    import toprank

    os.environ["TOPRANK_SECRET"] = secret
    output = flags.get("output") or flags.get("resume")
    toprank.command("train", worker=worker, workers=workers, meet=meet, **flags)
    if worker > 0:
        return None
    with open(os.fspath(output), "rb") as file:
        return file.read()


def is_lost(error: BaseException) -> bool:
    """True if an error of one process says that another one is gone, so that another attempt may succeed."""
    return any(words in str(error) for words in ("has ended", "is out of reach", "did not come", "cannot be reached"))


def attempts(
    attempt: Callable[[str, dict[str, Any]], bytes],
    exists: Callable[[str], bool],
    output: Any,
    retries: int,
    flags: dict[str, Any],
) -> Any:
    """Attempts until one succeeds; each after the first resumes from the last checkpoint. The model as a `Ranker`."""
    import tempfile

    from ._estimators import Ranker

    output, last = os.path.abspath(os.fspath(output)), None
    resumed = {"resume": output, "trust_paths": True}
    for number in range(retries + 1):
        words = resumed if number > 0 and exists(output + ".checkpoint") else {**flags, "output": output}
        try:
            model = attempt(secrets.token_hex(16), words)
        except Lost as lost:
            last = lost
            time.sleep(min(1.0, 0.2 * (number + 1)))
            continue
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "model.toprank")
            with open(file, "wb") as target:
                target.write(model)
            return Ranker.load(file)
    raise OSError(
        f"{output}: not trained, as processes were lost in {retries + 1} attempts ({last}); train(resume=True) continues from the checkpoint"
    ) from last
