"""Training on a Ray cluster: one model, the same to the byte for any number of workers."""

from __future__ import annotations

import os
from typing import Any

from . import _launch

__all__ = ["train"]


class _Worker:
    """One process of a run."""

    def address(self) -> str:
        return _launch.address()

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def work(self, *words: Any) -> bytes | None:
        return _launch.work(*words)


def train(
    *,
    data: Any,
    output: Any,
    workers: int,
    retries: int = 3,
    num_cpus: float = 1,
    **flags: Any,
) -> Any:
    """Train a model with actors on a Ray cluster, which see the same files.

    If an actor dies, the attempt ends at once and another one continues from the last checkpoint: the model does not depend on it.

    Parameters
    ----------
    data : path or list of paths
        Training data: files that all nodes see under this name, best in the memory-mapped format of `toprank.convert`.
    output : path
        The model file, in a folder that all nodes see; its checkpoint stands beside it while it is trained.
    workers : int
        How many actors take part.
    retries : int
        Attempts after the first.
    num_cpus : float
        CPUs that Ray reserves for each actor.
    **flags
        Further flags of ``toprank train`` with underscores: ``model="trees"``, ``objective="ndcg@10"``, ``force=True``.

    Returns
    -------
    Ranker
        The model.

    Raises
    ------
    OSError
        If actors were lost in every attempt.
    """
    import ray

    paths = data if isinstance(data, (list, tuple)) else [data]
    flags["data"] = [os.path.abspath(os.fspath(path)) for path in paths]
    actor = ray.remote(num_cpus=num_cpus, max_restarts=0, max_task_retries=0)(_Worker)

    def attempt(secret: str, words: dict[str, Any]) -> bytes:
        actors = [actor.remote() for _ in range(workers)]
        try:
            meet = ray.get(actors[0].address.remote())
            tasks = [one.work.remote(number, workers, meet, secret, words) for number, one in enumerate(actors)]
            waiting, lost, own = list(tasks), None, None
            while waiting:
                # After the first loss the others end by themselves.
                done, waiting = ray.wait(waiting, num_returns=1, timeout=30 if lost else None)
                if not done:
                    break
                try:
                    ray.get(done[0])
                except ray.exceptions.RayActorError as error:
                    lost = _launch.Lost(str(error).splitlines()[0])
                except ray.exceptions.RayTaskError as error:
                    if _launch.is_lost(error.cause):
                        lost = lost or _launch.Lost(str(error.cause))
                    else:
                        own = error.cause
            if own is not None:
                raise own
            if lost is not None:
                raise lost
            model: bytes = ray.get(tasks[0])
            return model
        except ray.exceptions.RayActorError as error:
            raise _launch.Lost(str(error).splitlines()[0]) from error
        finally:
            for one in actors:
                ray.kill(one)

    def exists(path: str) -> bool:
        one = actor.remote()
        try:
            found: bool = ray.get(one.exists.remote(path))
            return found
        finally:
            ray.kill(one)

    return _launch.attempts(attempt, exists, output, retries, flags)
