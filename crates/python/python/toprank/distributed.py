"""Several processes train one model together, the same model to the byte for any number of them.

Every process calls `command` with the same words and its own *workers*: an object that moves numbers between them. It has

    rank, size         the number of this process, from 0, and how many there are
    sum(words)         add up a NumPy array of uint64 over all processes, in place, modulo 2**64
    gather(own)        a list of the bytes of all processes, in their order

`MPI` and `Torch` are such objects over mpi4py and torch.distributed. Without either, `toprank train --meet HOST:PORT` connects the
processes by itself. Under MPI, the command as a whole is

    mpirun -n 4 python -m toprank.distributed train --data train.toprank-data --model trees -o model.toprank
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from . import _toprank
from ._command import words_of

__all__ = ["MPI", "Torch", "command", "main"]


class MPI:
    """Workers that are the processes of an MPI job.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional
        The communicator; by default ``MPI.COMM_WORLD``.
    """

    def __init__(self, comm: Any = None) -> None:
        from mpi4py import MPI as mpi

        self._mpi = mpi
        self._comm = mpi.COMM_WORLD if comm is None else comm
        self.rank: int = self._comm.Get_rank()
        self.size: int = self._comm.Get_size()

    def sum(self, words: Any) -> None:
        """Add up over all processes, in place."""
        self._comm.Allreduce(self._mpi.IN_PLACE, [words, self._mpi.UINT64_T], op=self._mpi.SUM)

    def gather(self, own: bytes) -> list[bytes]:
        """The bytes of all processes."""
        import numpy as np

        lengths = np.zeros(self.size, np.int64)
        self._comm.Allgather(np.array([len(own)], np.int64), lengths)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        everything = np.empty(starts[-1], np.uint8)
        sizes, places = lengths.astype(int).tolist(), starts[:-1].astype(int).tolist()
        self._comm.Allgatherv(np.frombuffer(own, np.uint8), [everything, sizes, places, self._mpi.BYTE])
        data = everything.tobytes()
        return [data[start : start + size] for start, size in zip(places, sizes)]


class Torch:
    """Workers that are the processes of an initialised process group of torch.distributed (gloo: tensors on the CPU).

    Parameters
    ----------
    group : optional
        The process group; by default that of all processes.
    """

    def __init__(self, group: Any = None) -> None:
        import torch.distributed as dist

        self._dist, self._group = dist, group
        self.rank: int = dist.get_rank(group)
        self.size: int = dist.get_world_size(group)

    def sum(self, words: Any) -> None:
        """Add up over all processes, in place; sums of int64 wrap as those of uint64 do."""
        import numpy as np
        import torch

        self._dist.all_reduce(torch.from_numpy(words.view(np.int64)), group=self._group)

    def gather(self, own: bytes) -> list[bytes]:
        """The bytes of all processes."""
        found: list[Any] = [None] * self.size
        self._dist.all_gather_object(found, own, group=self._group)
        return found


def command(workers: Any, /, *words: Any, **flags: Any) -> Any:
    """Do the work of ``toprank train`` as one of several processes, who all call this with the same words.

    Parameters
    ----------
    workers
        `MPI()`, `Torch()` or an object of your own with ``rank``, ``size``, ``sum`` and ``gather``.
    *words, **flags
        As for `toprank.command`: ``command(MPI(), "train", data="train.toprank-data", model="trees", output="model.toprank")``.

    Returns
    -------
    dict or None
        What the command prints with ``--json`` in the first process, which writes the files; None in the others.

    Raises
    ------
    OSError
        If a process has ended early. ``command(workers, "train", resume="model.toprank", trust_paths=True)`` continues, with any
        number of processes.
    """
    said = [os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in words]
    text = _toprank.call_command_among([*said, *words_of(flags), "--json", "--quiet"], workers)
    return json.loads(text) if text else None


def main() -> int:
    """``python -m toprank.distributed``: the command ``toprank`` in every process of an MPI job."""
    workers = MPI()
    code = _toprank.run_command_among(["toprank", *sys.argv[1:]], workers)
    if code != 0 and workers.size > 1:
        # The others may wait for this process.
        workers._comm.Abort(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
