"""A run of MLflow: settings, a curve per epoch, the metrics of the test data with their intervals, and the model file."""

import tempfile

import mlflow
import numpy as np

import toprank


def main() -> dict[str, float]:
    random = np.random.default_rng(1)
    X = random.normal(size=(600, 5)).astype(np.float32)
    y, q = np.digitize(X[:, 0] + 0.5 * random.normal(size=600), [0.5, 1.5]), np.repeat(np.arange(60), 10)
    train, valid, test = (q < 40), (q >= 40) & (q < 50), q >= 50

    def log(epoch: toprank.Epoch) -> None:
        mlflow.log_metric("loss", epoch.loss, step=epoch.epoch)
        if epoch.metric is not None:
            mlflow.log_metric("valid_ndcg", epoch.metric, step=epoch.epoch)

    with mlflow.start_run():
        ranker = toprank.Ranker("trees", "ndcg@5", trees=20, leaves=8)
        ranker.fit(X[train], y[train], qid=q[train], eval_set=(X[valid], y[valid]), eval_qid=q[valid], callbacks=log)
        mlflow.log_params({name: value for name, value in ranker.config_.items() if value not in (None, "")})
        found = toprank.evaluate(y[test], ranker.predict(X[test], qid=q[test]), qid=q[test], metrics="ndcg@5,map")
        for metric, value in found.results.items():
            low, high = value.interval
            name = metric.replace("@", "_at_")
            mlflow.log_metrics({name: value.mean, f"{name}_low": low, f"{name}_high": high})
        with tempfile.TemporaryDirectory() as folder:
            ranker.save(f"{folder}/model.toprank")
            mlflow.log_artifact(f"{folder}/model.toprank")
    print(found)
    return found.mean


if __name__ == "__main__":
    main()
