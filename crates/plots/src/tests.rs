use super::*;

fn wave(n: usize, shift: f64) -> Vec<f64> {
    (0..n).map(|i| ((i * 37) % 101) as f64 / 101.0 - shift).collect()
}

fn some_plots() -> Vec<(&'static str, Plot)> {
    let series = |i: usize| Series {
        name: format!("run {i}"),
        points: (0..40).map(|x| (x as f64, 1.0 - (-(x as f64) / (8.0 + 3.0 * i as f64)).exp())).collect(),
    };
    let row = |i: usize| IntervalRow {
        name: format!("model_{i}"),
        value: 0.4 + 0.03 * i as f64,
        low: 0.36 + 0.03 * i as f64,
        high: 0.45 + 0.03 * i as f64,
    };
    vec![
        ("differences_40", differences("new against old", "ndcg@10: new − old", &wave(40, 0.4))),
        ("differences_many", differences("new against old", "ndcg@10: new − old", &wave(20_000, 0.6))),
        ("histogram", histogram("list lengths", "items", &wave(5000, 0.0), 30)),
        ("curves", curves("learning", "epoch", "ndcg@10", &(0..9).map(series).collect::<Vec<_>>())),
        ("intervals", intervals("runs", "ndcg@10", &(0..5).map(row).collect::<Vec<_>>())),
        ("empty", differences("nothing to see", "ndcg@10: new − old", &[])),
    ]
}

#[test]
fn the_same_numbers_give_the_same_bytes() {
    for ((name, one), (_, two)) in some_plots().into_iter().zip(some_plots()) {
        assert_eq!(one.svg(), two.svg(), "{name}");
        assert_eq!(one.png().unwrap(), two.png().unwrap(), "{name}");
        if let Some(folder) = std::env::var_os("TOPRANK_PLOTS_TO") {
            for extension in ["svg", "png"] {
                one.save(&Path::new(&folder).join(format!("{name}.{extension}"))).unwrap();
            }
        }
    }
}
