"""LibAUC's NDCG loss on given scores, and how a call is timed: what the benches of SONG share."""

import os
import time

import numpy as np
import torch


def write(folder, scores, labels):
    items = np.empty(scores.size, dtype=[("score", "<f8"), ("label", "<f4")])
    items["score"], items["label"] = scores.ravel(), labels.ravel()
    file = os.path.join(folder, "lists.bin")
    items.tofile(file)
    return file


def seconds_of(call, repeats):
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


def libauc(scores, relevant, gamma):
    """A call that does one forward and backward pass, and the scores that hold the gradient."""
    from libauc.losses.ranking import NDCGLoss

    lists, length = scores.shape
    ideal = sum(1 / np.log2(2 + rank) for rank in range(relevant))
    loss = NDCGLoss(lists * relevant, lists, length, relevant, gamma0=gamma, topk=-1, device="cpu")
    leaf = torch.tensor(scores, dtype=torch.float32, requires_grad=True)
    rating = torch.zeros(lists, length)
    rating[:, :relevant] = 1
    ids = torch.zeros(lists, length, dtype=torch.long)
    ids[:, :relevant] = torch.arange(lists * relevant).reshape(lists, relevant)
    batch = {
        "rating": rating,
        "user_id": torch.arange(lists),
        "num_pos_items": torch.full((lists,), float(relevant)),
        "ideal_dcg": torch.full((lists,), ideal),
        "user_item_id": ids,
    }

    def step():
        leaf.grad = None
        loss(leaf, batch).backward()

    return step, leaf
