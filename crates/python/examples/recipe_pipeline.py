"""scikit-learn: columns of a frame prepared in a pipeline, settings chosen by a grid search whose folds keep lists whole."""

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import toprank


def main() -> GridSearchCV:
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "query": np.repeat(np.arange(40), 10),
            "price": random.lognormal(size=400),
            "kind": random.choice(["book", "film"], 400),
        }
    )
    label = np.digitize(-frame.price + (frame.kind == "film") + 0.3 * random.normal(size=400), [-1.0, 0.0])
    columns = ColumnTransformer(
        [
            ("query", "passthrough", ["query"]),
            ("numbers", StandardScaler(), ["price"]),
            ("kinds", OneHotEncoder(sparse_output=False), ["kind"]),
        ],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    # The list of each row is a column, so that pipeline and search pass it on.
    ranker = toprank.Ranker("linear", "listnet", list_column="query", valid_metric="ndcg@5", epochs=5)
    search = GridSearchCV(
        Pipeline([("columns", columns), ("ranker", ranker)]),
        {"ranker__learning_rate": [0.001, 0.1]},
        cv=GroupKFold(3),
    )
    search.fit(frame, label, groups=frame["query"])
    print(search.best_params_, search.best_score_)
    return search


if __name__ == "__main__":
    main()
