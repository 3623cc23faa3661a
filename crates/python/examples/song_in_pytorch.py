"""SONG inside a PyTorch module: toprank gives the gradient of NDCG, PyTorch trains the network."""

import numpy as np
import torch

import toprank
import toprank.torch


def queries(count: int, seed: int) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
    """Lists of 20 documents whose grade follows a curved function of ten features."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(count * 20, 10)).astype(np.float32)
    worth = features[:, 0] + np.abs(features[:, 1]) + 0.5 * random.normal(size=len(features))
    labels = np.digitize(worth, [1.0, 2.0, 3.0])
    return torch.from_numpy(features), labels, np.full(count, 20)


def main() -> tuple[float, float]:
    torch.manual_seed(1)
    features, labels, sizes = queries(200, 1)
    others, other_labels, other_sizes = queries(100, 2)
    network = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    # The loss knows all lists, so that each keeps its trackers from batch to batch; its state_dict holds them.
    loss = toprank.torch.loss("song", gamma=0.3).prepare(labels, group=sizes)

    def judged() -> float:
        with torch.no_grad():
            scores = network(others).squeeze(1).numpy()
        return toprank.evaluate(other_labels, scores, group=other_sizes, metrics="ndcg@5")["ndcg@5"]

    before = judged()
    rows = torch.arange(len(labels)).reshape(-1, 20)
    for _ in range(10):
        for lists in torch.randperm(200).split(25):
            scores = network(features[rows[lists].reshape(-1)]).squeeze(1)
            optimiser.zero_grad()
            loss(scores, lists=lists).backward()
            optimiser.step()
    after = judged()
    print(f"ndcg@5 on other lists: {before:.4f} before, {after:.4f} after")
    return before, after


if __name__ == "__main__":
    main()
