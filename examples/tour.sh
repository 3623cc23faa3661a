#!/usr/bin/env bash
# The main job on data that toprank makes itself: generate, look, judge, compare, convert, gradients.
# Needs a Rust toolchain; the first run builds the command. Files go to target/tour.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --locked --quiet --bin toprank
PATH="$PWD/target/debug:$PATH"
mkdir -p target/tour
cd target/tour

say() {
    printf '\n$ %s\n' "$*"
    "$@"
}

say toprank generate letor --lists 300 --seed 1 -o demo
say toprank inspect demo/test.txt --against demo/train.txt --top 5
say toprank evaluate --data demo/test.txt --feature 5 --metrics ndcg@10,map,mrr,p@5
say toprank compare --data demo/test.txt --metrics ndcg@10,map best=feature:5 other=feature:12 --plot differences.svg
say toprank convert demo/test.txt test.parquet
say toprank metrics ndcg
say toprank gradient --data demo/test.txt --feature 5 --objective song:gamma=1:margin=1 --hessian -o gradient.csv
say head -n 4 gradient.csv
