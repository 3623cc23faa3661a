"""A data frame of one's own: a ranker with trees, judged against the best single feature."""

import numpy as np
import pandas as pd

import toprank


def searches(count: int, seed: int) -> pd.DataFrame:
    """Hotels shown to people who search: cheap and near ones are booked, some prices are missing."""
    random = np.random.default_rng(seed)
    rows = count * 12
    frame = pd.DataFrame(
        {
            "search": np.repeat(np.arange(count), 12),
            "price": random.lognormal(4.5, 0.5, rows),
            "distance": random.exponential(3.0, rows),
            "stars": random.integers(1, 6, rows),
            "kind": random.choice(["hotel", "hostel", "flat"], rows),
        }
    )
    liking = frame.stars - frame.price / 60 - frame.distance / 2 + (frame.kind == "flat") + random.gumbel(size=rows)
    place = liking.groupby(frame.search).rank(ascending=False)
    frame["label"] = (place <= 1).astype(int) + (place <= 3)
    frame.loc[random.random(rows) < 0.1, "price"] = np.nan
    return frame


def main() -> toprank.Comparison:
    train, valid, test = searches(200, 1), searches(60, 2), searches(100, 3)
    features = ["price", "distance", "stars", "kind"]
    ranker = toprank.Ranker("trees", "ndcg@3", trees=60, leaves=15).fit(
        train[features],
        train.label,
        qid=train.search,
        eval_set=(valid[features], valid.label),
        eval_qid=valid.search,
    )
    runs = {"stars": test.stars, "ranker": ranker.predict(test[features], qid=test.search)}
    compared = toprank.compare(runs, test.label, qid=test.search, metrics="ndcg@3,mrr")
    print(compared)
    return compared


if __name__ == "__main__":
    main()
