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
        ("class_curves", {
            let run = |i: usize| {
                let power = 0.2 + 0.2 * i as f64;
                let xs = (0..=5000).map(|x| x as f64 / 5000.0);
                ClassCurves {
                    roc_name: format!("run {i}: AUROC 0.{i}"),
                    roc: xs.clone().map(|x| (x, x.powf(power))).collect(),
                    precision_recall_name: format!("run {i}: AP 0.{i}"),
                    precision_recall: xs.map(|x| (x, 1.0 - x.powf(1.0 / power) * 0.9)).collect(),
                }
            };
            let emphasis =
                Emphasis { region: Some((0.0, 0.3, 0.5)), recall: Some(0.8), base_rate: Some(0.1) };
            class_curves("three runs", &[run(0), run(1), run(2)], emphasis)
        }),
        ("class_curves_empty", class_curves("no runs", &[], Emphasis::default())),
        ("reliability", {
            let point = |i: usize| {
                let p = i as f64 / 40.0;
                ReliabilityPoint { probability: p, fraction: p * 1.2, low: p * 0.9, high: p * 1.5 }
            };
            reliability("probabilities", &[("platt".into(), (0..10).map(point).collect())])
        }),
        ("empty", differences("nothing to see", "ndcg@10: new − old", &[])),
    ]
}

#[test]
fn the_same_numbers_give_the_same_bytes() {
    for ((name, one), (_, two)) in some_plots().into_iter().zip(some_plots()) {
        assert!(one.svg() == two.svg(), "{name}");
        assert!(one.svg().contains("url(#clip-0)") && one.svg().contains("id=\"clip-0\""), "{name}");
        assert!(one.png().unwrap() == two.png().unwrap(), "{name}");
        if let Some(folder) = std::env::var_os("TOPRANK_PLOTS_TO") {
            for extension in ["svg", "png"] {
                one.save(&Path::new(&folder).join(format!("{name}.{extension}"))).unwrap();
            }
        }
    }
}

#[test]
fn text_is_text_and_not_markup() {
    let plot = differences("a<b & \"c\" $x^2$ \u{7}", "<script>", &[0.1, -0.2]);
    let svg = plot.svg();
    assert!(svg.contains("a&lt;b &amp; &quot;c&quot; $x^2$"), "{svg}");
    assert!(!svg.contains("<script>") && !svg.contains('\u{7}'));
}

#[test]
fn any_numbers_draw() {
    let nan = f64::NAN;
    let odd: [&[f64]; 7] = [
        &[],
        &[nan, f64::INFINITY, f64::NEG_INFINITY],
        &[0.0],
        &[0.0, 0.0],
        &[5.0],
        &[1e300, -1e300, 1e-300],
        &[1e-17, 2e-17],
    ];
    for values in odd {
        let series = Series { name: "x".repeat(500), points: values.iter().map(|v| (*v, -v)).collect() };
        let row = |v: &f64| IntervalRow { name: "r".into(), value: *v, low: v - 1.0, high: v + 1.0 };
        let rows: Vec<IntervalRow> = values.iter().map(row).collect();
        let plots = [
            differences("t", "a", values),
            histogram("t", "a", values, 0),
            histogram("t", "a", values, usize::MAX),
            curves("t", "a", "b", &[series]),
            curves("t", "a", "b", &[]),
            intervals("t", "a", &rows),
        ];
        for (i, plot) in plots.iter().enumerate() {
            let svg = plot.svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "plot {i} of {values:?}: {svg}");
            assert_eq!(plot.png().unwrap()[1..4], *b"PNG");
        }
    }
}

#[test]
fn an_empty_plot_says_so() {
    assert!(differences("t", "a", &[f64::NAN]).svg().contains("no values"));
    assert!(intervals("t", "a", &[]).svg().contains("no values"));
    assert!(!differences("t", "a", &[0.1]).svg().contains("no values"));
}

#[test]
fn bars_stay_few_and_keep_both_ends() {
    let plot = differences("t", "a", &wave(20_000, 0.5));
    let bars = plot.svg().matches("<rect").count();
    assert!((300..700).contains(&bars), "{bars} rectangles");
    // One list against all others is the first or the last of the sorted ones: its bar and its legend entry.
    for (one, others, colour) in [(5.0, -0.1, "#0072b2"), (-5.0, 0.1, "#d55e00")] {
        let mut values = vec![others; 20_000];
        values[777] = one;
        assert_eq!(differences("t", "a", &values).svg().matches(colour).count(), 2, "{colour}");
    }
}

#[test]
fn a_file_gets_the_format_of_its_name_and_errors_name_it() {
    let folder = std::env::temp_dir().join(format!("toprank-plots-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let plot = histogram("t", "a", &[1.0, 2.0], 2);
    plot.save(&folder.join("a.SVG")).unwrap();
    plot.save(&folder.join("a.png")).unwrap();
    assert_eq!(std::fs::read_to_string(folder.join("a.SVG")).unwrap(), plot.svg());
    assert_eq!(std::fs::read(folder.join("a.png")).unwrap(), plot.png().unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
    let error = plot.save(&folder.join("a.png")).unwrap_err().to_string();
    assert!(error.contains("a.png: the plot could not be written: "), "{error}");
    let error = plot.save(Path::new("plot")).unwrap_err().to_string();
    assert_eq!(error, "plot: expected a name that ends in .svg or .png, but it has no extension");
}
