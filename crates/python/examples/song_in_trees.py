"""SONG and AP inside LightGBM and XGBoost: their trees, toprank's objectives and metrics."""

import lightgbm
import numpy as np
import xgboost

import toprank
import toprank.lightgbm
import toprank.xgboost


def queries(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    features = random.normal(size=(count * 20, 10)).astype(np.float32)
    worth = features[:, 0] + np.abs(features[:, 1]) + 0.5 * random.normal(size=len(features))
    return features, np.digitize(worth, [1.0, 2.0, 3.0]), np.full(count, 20)


def main() -> dict[str, float]:
    X, y, sizes = queries(150, 1)
    V, v, valid_sizes = queries(100, 2)
    found = {}
    for name in ("song", "ap"):
        data = lightgbm.Dataset(X, y, group=sizes)
        params = {"objective": toprank.lightgbm.objective(name), "metric": "None", "verbose": -1, "seed": 1}
        trees = lightgbm.train(
            params,
            data,
            40,
            valid_sets=[lightgbm.Dataset(V, v, group=valid_sizes, reference=data)],
            feval=toprank.lightgbm.metric("ndcg@10"),
        )
        found[f"LightGBM, {name}"] = trees.best_score["valid_0"]["ndcg@10"]

        data, valid = xgboost.DMatrix(X, y), xgboost.DMatrix(V, v)
        data.set_group(sizes)
        valid.set_group(valid_sizes)
        log: dict = {}
        xgboost.train(
            {"base_score": 0, "eta": 0.1, "disable_default_eval_metric": 1},
            data,
            40,
            obj=toprank.xgboost.objective(name),
            custom_metric=toprank.xgboost.metric("ndcg@10"),
            evals=[(valid, "valid")],
            evals_result=log,
            verbose_eval=False,
        )
        found[f"XGBoost, {name}"] = log["valid"]["ndcg@10"][-1]
    for name, value in found.items():
        print(f"{name}: ndcg@10 {value:.4f} on other lists")
    return found


if __name__ == "__main__":
    main()
