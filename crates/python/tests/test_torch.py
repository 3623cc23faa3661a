"""Objectives inside PyTorch."""

import numpy as np
import pytest

import toprank

torch = pytest.importorskip("torch")
import toprank.torch  # noqa: E402

LABELS = np.array([2, 0, 1, 0, 1, 0, 0], dtype=np.float32)
SCORES = [0.3, 0.1, -0.2, 0.4, 0.0, 0.5, -0.6]
SIZES = [4, 3]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gradient_is_ours(dtype):
    scores = torch.tensor(SCORES, dtype=dtype, requires_grad=True)
    loss = toprank.torch.loss("song", margin=1)(scores, LABELS, group=SIZES)
    (3 * loss).backward()
    ours = toprank.gradient("song:margin=1", scores.detach().numpy(), LABELS, group=SIZES)
    assert loss.dtype == dtype and float(loss.detach()) == pytest.approx(ours.loss, rel=1e-6)
    assert np.allclose(scores.grad.numpy(), 3 * ours.gradient, rtol=1e-6)


def test_autograd_agrees_with_finite_differences():
    loss = toprank.torch.loss("listnet")
    scores = torch.tensor(SCORES, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: loss(s, LABELS, group=SIZES), (scores,))


def test_rows_of_a_masked_tensor_are_lists():
    padded = torch.zeros(2, 4, dtype=torch.float64)
    mask = torch.tensor([[True] * 4, [True, True, True, False]])
    labels = torch.full((2, 4), -1.0)
    padded[mask] = torch.tensor(SCORES, dtype=torch.float64)
    labels[mask] = torch.from_numpy(LABELS)
    padded.requires_grad_()
    loss = toprank.torch.loss("listnet")(padded, labels, mask=mask)
    loss.backward()
    ours = toprank.gradient("listnet", SCORES, LABELS, group=SIZES)
    assert float(loss.detach()) == ours.loss
    assert np.array_equal(padded.grad[mask].numpy(), ours.gradient)
    assert padded.grad[1, 3] == 0
    with pytest.raises(ValueError, match="mask: found the shape"):
        toprank.torch.loss("listnet")(padded, labels, mask=mask[:1])


def test_trackers_are_part_of_the_state_dict():
    make = lambda: torch.nn.ModuleDict({"loss": toprank.torch.loss("song", gamma=0.3)})
    first = make()
    first["loss"].prepare(LABELS, group=SIZES)
    scores = torch.tensor(SCORES, requires_grad=True)
    first["loss"](scores, lists=[1, 0]).backward()
    kept = first.state_dict()
    second = make()
    second.load_state_dict(kept)
    second["loss"].prepare(LABELS, group=SIZES)
    moved = torch.tensor(SCORES[::-1], dtype=torch.float64)
    want, found = (float(module["loss"](moved)) for module in (first, second))
    assert want == found
    fresh = make()
    fresh["loss"].prepare(LABELS, group=SIZES)
    assert float(fresh["loss"](moved)) != want


def test_a_batch_without_labels_needs_prepare():
    with pytest.raises(RuntimeError, match="prepare"):
        toprank.torch.loss("song")(torch.tensor(SCORES))
    with pytest.raises(ValueError, match="scores were given for 7 items"):
        toprank.torch.loss("song")(torch.tensor(SCORES[:3]), LABELS, group=SIZES)
