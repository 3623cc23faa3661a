"""PyTorch peers in double precision."""

import contextlib

import torch

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


@contextlib.contextmanager
def double_precision():
    """The peers write `torch.float32` and `.float()` into their code: both mean 64 bits in here."""
    saved = torch.float, torch.float32, torch.Tensor.float
    torch.float = torch.float32 = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.float, torch.float32, torch.Tensor.float = saved
