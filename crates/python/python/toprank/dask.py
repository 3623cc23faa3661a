"""Training on the workers of a Dask cluster: one model, the same to the byte for any number of workers."""

from __future__ import annotations

import os
import time
from typing import Any

from . import _launch

__all__ = ["train"]


def train(
    client: Any,
    *,
    data: Any,
    output: Any,
    workers: int | None = None,
    retries: int = 3,
    **flags: Any,
) -> Any:
    """Train a model on workers of a Dask cluster, which see the same files.

    Each Dask worker must be a process of its own. If one dies, the attempt ends at once and another one continues from the last
    checkpoint, on the workers that are left or have been started in its place: the model does not depend on it.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    data : path or list of paths
        Training data: files that all workers see under this name, best in the memory-mapped format of `toprank.convert`.
    output : path
        The model file, in a folder that all workers see; its checkpoint stands beside it while it is trained.
    workers : int, optional
        How many Dask workers take part; by default all.
    retries : int
        Attempts after the first.
    **flags
        Further flags of ``toprank train`` with underscores: ``model="trees"``, ``objective="ndcg@10"``, ``force=True``.

    Returns
    -------
    Ranker
        The model.

    Raises
    ------
    OSError
        If workers were lost in every attempt.
    """
    paths = data if isinstance(data, (list, tuple)) else [data]
    flags["data"] = [os.path.abspath(os.fspath(path)) for path in paths]

    def submit(address: str, function: Any, *words: Any) -> Any:
        # Pinned: a process of each worker meets those of the others. Without a retry of Dask's, which could not tell them.
        return client.submit(function, *words, workers=[address], allow_other_workers=False, pure=False, retries=0)

    def present() -> list[str]:
        return sorted(client.scheduler_info(n_workers=-1)["workers"])

    def first_present() -> str:
        client.wait_for_workers(1, timeout=60)
        return present()[0]

    def attempt(secret: str, words: dict[str, Any]) -> bytes:
        client.wait_for_workers(1, timeout=60)
        chosen = present()[:workers]
        if any(address.startswith("inproc://") for address in chosen):
            raise ValueError("Dask workers that are threads of one process, expected a process each: LocalCluster(processes=True)")
        meet = _finished(client, [submit(chosen[0], _launch.address)], present, chosen[:1])
        tasks = [
            submit(address, _launch.work, number, len(chosen), meet, secret, words) for number, address in enumerate(chosen)
        ]
        return _finished(client, tasks, present, chosen)

    def exists(path: str) -> bool:
        address = first_present()
        return _finished(client, [submit(address, os.path.exists, path)], present, [address])

    return _launch.attempts(attempt, exists, output, retries, flags)


def _finished(client: Any, tasks: list[Any], present: Any, chosen: list[str]) -> Any:
    """The result of the first task once all are done. A task that is pinned to a worker that is gone would wait for ever."""
    lost = None
    while lost is None and not all(task.done() for task in tasks):
        gone = set(chosen) - set(present())
        if gone:
            lost = _launch.Lost(f"the Dask worker {min(gone)} is gone")
        time.sleep(0.05)
    if lost is not None:
        # The others notice it in their next call.
        until = time.monotonic() + 30
        while time.monotonic() < until:
            here = [task for task, address in zip(tasks, chosen) if address in present()]
            if all(task.done() for task in here):
                break
            time.sleep(0.05)
        client.cancel(tasks, force=True)
        raise lost
    errors = [task.exception() for task in tasks if task.status != "finished"]
    own = [error for error in errors if error is not None and not _launch.is_lost(error)]
    if own:
        raise own[0]
    if errors:
        raise _launch.Lost(str(errors[0]))
    return tasks[0].result()
