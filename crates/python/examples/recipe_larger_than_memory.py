"""Data larger than memory: a text file is converted to a memory-mapped one, trained on and scored; only scores come into memory."""

import pathlib
import tempfile

import numpy as np

import toprank


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        random = np.random.default_rng(1)
        with open(folder / "big.txt", "w") as file:
            for query in range(50):
                for _ in range(10):
                    a, b = random.normal(size=2)
                    file.write(f"{int(a > 0.5)} qid:{query} 1:{a:.4f} 2:{b:.4f}\n")
        # Line by line: the file is never in memory as a whole.
        toprank.convert(folder / "big.txt", folder / "big.toprank-data")
        toprank.command(
            "train", data=folder / "big.toprank-data", model="linear", objective="listnet", epochs=3, output=folder / "model.toprank"
        )
        # The model is an estimator like any other; here the mapped file is scored block by block.
        toprank.command("predict", folder / "model.toprank", data=folder / "big.toprank-data", output=folder / "scores.txt")
        scores = np.loadtxt(folder / "scores.txt")
        ranker = toprank.Ranker.load(folder / "model.toprank")
        print(f"{scores.size} scores of {ranker.n_features_in_} features")
        return scores.size


if __name__ == "__main__":
    main()
