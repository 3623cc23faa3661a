"""polars: a frame with strings goes in as it is, scores come back as a column."""

import numpy as np
import polars as pl

import toprank


def main() -> pl.DataFrame:
    random = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "query": [f"q{k}" for k in np.repeat(np.arange(40), 10)],
            "price": random.lognormal(size=400),
            "kind": random.choice(["book", "film"], 400),
        }
    )
    worth = -frame["price"].to_numpy() + (frame["kind"] == "film").to_numpy() + 0.3 * random.normal(size=400)
    label = np.digitize(worth, [-1.0, 0.0])
    features = frame.select("price", "kind")
    ranker = toprank.Ranker("trees", "ndcg@5", trees=20, leaves=6).fit(features, label, qid=frame["query"])
    scored = frame.with_columns(score=ranker.predict(features, qid=frame["query"]), label=label)
    top = scored.sort("query", "score", descending=[False, True]).group_by("query", maintain_order=True).head(3)
    print(top)
    return top


if __name__ == "__main__":
    main()
