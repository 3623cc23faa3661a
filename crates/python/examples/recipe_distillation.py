"""Distillation of a reranker: a small module of PyTorch learns the scores of a teacher by a listwise loss of the catalog."""

import torch

import toprank


def main() -> tuple[float, float]:
    torch.manual_seed(1)
    # 40 queries with 12 documents each, as a bi-encoder sees them: an embedding of the query and of each document.
    queries, documents = torch.randn(40, 1, 8), torch.randn(40, 12, 8)
    # The teacher reads both together; what it says stands for the labels.
    mixed = torch.randn(8, 8)
    teacher = torch.einsum("qad,de,qce->qc", queries, mixed, documents) / 8

    class Student(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.map = torch.nn.Linear(8, 8, bias=False)

        def forward(self, queries: torch.Tensor, documents: torch.Tensor) -> torch.Tensor:
            return (self.map(queries) * documents).sum(-1)

    student = Student()
    # Cross-entropy between the teacher's and the student's probabilities of being first.
    loss = toprank.torch.loss("listnet")
    optimiser = torch.optim.Adam(student.parameters(), lr=0.05)

    def agreement() -> float:
        """NDCG@5 of the student's order, the teacher's three best documents of a query being relevant."""
        with torch.no_grad():
            scores = student(queries, documents).flatten().double().numpy()
        best = (teacher >= teacher.topk(3).values[:, -1:]).flatten().int().numpy()
        return toprank.evaluate(best, scores, group=[12] * 40, metrics="ndcg@5", replicates=0)["ndcg@5"]

    before = agreement()
    for _ in range(60):
        optimiser.zero_grad()
        loss(student(queries, documents), teacher).backward()
        optimiser.step()
    after = agreement()
    print(f"agreement with the teacher: {before:.3f} before, {after:.3f} after")
    return before, after


if __name__ == "__main__":
    main()
