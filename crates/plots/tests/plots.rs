//! The promises of all plots: the same bytes, well-formed XML whatever the names are, any numbers draw.

use std::path::{Path, PathBuf};

use quick_xml::Reader;
use quick_xml::events::Event;
use toprank_plots::*;

fn wave(n: usize, shift: f64) -> Vec<f64> {
    (0..n).map(|i| ((i * 37) % 101) as f64 / 101.0 - shift).collect()
}

fn series(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
    Series { name: name.into(), points: points.into_iter().collect() }
}

/// Every plot, with numbers as they are met in practice and with the extremes.
fn gallery() -> Vec<(&'static str, Plot)> {
    let rising = |i: usize| {
        let scale = 8.0 + 3.0 * i as f64;
        series(&format!("run {i}"), (0..40).map(|x| (f64::from(x), 1.0 - (-f64::from(x) / scale).exp())))
    };
    let row = |i: usize| {
        let value = 0.03 * i as f64;
        IntervalRow { name: format!("model_{i}"), value: 0.4 + value, low: 0.36 + value, high: 0.45 + value }
    };
    let difference = |(name, value, half): (&str, f64, f64)| IntervalRow {
        name: name.into(),
        value,
        low: value - half,
        high: value + half,
    };
    let importance = |i: usize| {
        let value = 0.2 / (i as f64 + 1.0) - 0.006;
        let name = if i == 3 {
            "length of the longest matching phrase, stemmed".into()
        } else {
            format!("feature_{i}")
        };
        IntervalRow { name, value, low: value - 0.01, high: value + 0.01 }
    };
    let trial = |(i, value): (usize, f64)| Trial { trial: i as u32, round: 0, value };
    let searched = [0.412, 0.431, 0.405, f64::NAN, 0.437, 0.429, 0.44, 0.421, 0.436, 0.444, 0.418, 0.441];
    let halving = |n: u32, round: u32| {
        (0..n).map(move |i| Trial {
            trial: i * 7 % 8,
            round,
            value: 0.36 + 0.03 * f64::from(round) + f64::from(i * 5 % 8) * 0.006,
        })
    };
    let rare = |i: i32| {
        let p = 0.0003 * 1.9_f64.powi(i);
        let fraction = if i < 2 { 0.0 } else { p * 1.3 };
        ReliabilityPoint { probability: p, fraction, low: fraction * 0.5, high: (fraction * 1.7).max(0.001) }
    };
    let common = |i: i32| {
        let p = 0.05 + 0.1 * f64::from(i);
        ReliabilityPoint {
            probability: p,
            fraction: p * 0.9 + 0.04,
            low: p * 0.9 - 0.01,
            high: (p * 0.9 + 0.1).min(1.0),
        }
    };
    let run = |i: usize| {
        let power = 0.2 + 0.2 * i as f64;
        let xs = (0..=5000).map(|x| f64::from(x) / 5000.0);
        ClassCurves {
            roc_name: format!("run {i}: AUROC 0.9{i}17"),
            roc: xs.clone().map(|x| (x, x.powf(power))).collect(),
            precision_recall_name: format!("run {i}: AP 0.6{i}03"),
            precision_recall: xs.map(|x| (x, 1.0 - x.powf(1.0 / power) * 0.9)).collect(),
        }
    };
    let loss = series("training loss", (1..=30).map(|x| (f64::from(x), 0.4 + 2.0 / f64::from(x))));
    let metric = |name: &str, most: f64| {
        series(
            name,
            (1..=30)
                .map(|x| (f64::from(x), most - 0.2 / f64::from(x) - 1e-4 * f64::from((x - 18) * (x - 18)))),
        )
    };
    let best = Best { x: 19.0, label: "best: epoch 19, ndcg@10 0.4093".into() };
    let emphasis = Emphasis { region: Some((0.0, 0.3, 0.5)), recall: Some(0.8), base_rate: Some(0.1) };
    vec![
        (
            "differences-40",
            differences("ndcg@10: new − old", "difference of ndcg@10", &wave(40, 0.4), Better::Higher),
        ),
        (
            "differences-many",
            differences("ndcg@10: new − old", "difference of ndcg@10", &wave(20_000, 0.6), Better::Higher),
        ),
        ("differences-empty", differences("nothing to see", "difference of ndcg@10", &[], Better::Higher)),
        ("histogram", histogram("lengths of lists", "items", &wave(5000, 0.0), 30)),
        (
            "curves",
            curves(
                "NDCG@10 on validation (mean of 5 seeds)",
                "step",
                "NDCG@10",
                &(0..9).map(rising).collect::<Vec<_>>(),
            ),
        ),
        (
            "learning",
            learning_curves(
                "learning curves: mlp with lambdarank",
                "epoch",
                &loss,
                &[metric("validation ndcg@10", 0.42)],
                Some(best.clone()),
            ),
        ),
        (
            "learning-two",
            learning_curves(
                "learning curves",
                "epoch",
                &loss,
                &[metric("validation ndcg@10", 0.42), metric("validation map", 0.3)],
                Some(best),
            ),
        ),
        ("learning-loss", learning_curves("learning curves: linear with listnet", "epoch", &loss, &[], None)),
        (
            "trials",
            trials(
                "tuning: 12 trials of trees",
                "validation ndcg@10",
                &searched.into_iter().enumerate().map(trial).collect::<Vec<_>>(),
                Better::Higher,
                Some(9),
            ),
        ),
        (
            "trials-halving",
            trials(
                "tuning by successive halving: 8 trials",
                "validation ndcg@10",
                &halving(8, 0).chain(halving(4, 1)).chain(halving(2, 2)).collect::<Vec<_>>(),
                Better::Higher,
                Some(7),
            ),
        ),
        ("intervals", intervals("runs with 95 % intervals", "ndcg@10", &(0..5).map(row).collect::<Vec<_>>())),
        (
            "intervals-differences",
            intervals(
                "differences of auroc with 95 % intervals",
                "difference of auroc",
                &[
                    ("dense − bm25", 0.021, 0.012),
                    ("fused − bm25", 0.034, 0.011),
                    ("fused − dense", 0.004, 0.009),
                ]
                .map(difference),
            ),
        ),
        (
            "importance",
            ranked_bars(
                "importance of features by permutation",
                "loss of ndcg@10 when the feature is shuffled",
                &(0..20).map(importance).collect::<Vec<_>>(),
            ),
        ),
        (
            "importance-many",
            ranked_bars("weights of the walk", "weight", &(0..136).map(importance).collect::<Vec<_>>()),
        ),
        (
            "class-curves",
            class_curves(
                "test.csv: ROC and precision–recall curves, 120 queries pooled into one list",
                &[run(0), run(1), run(2)],
                emphasis,
            ),
        ),
        (
            "class-curves-many",
            class_curves("labels of test.arff", &(0..14).map(run).collect::<Vec<_>>(), Emphasis::default()),
        ),
        ("class-curves-empty", class_curves("no runs", &[], Emphasis::default())),
        (
            "reliability",
            reliability(
                "reliability of p.txt",
                "10 bins of equally many items, 95 % intervals",
                &[("platt".into(), (0..10).map(common).collect())],
            ),
        ),
        (
            "reliability-rare",
            reliability(
                "reliability of p.txt",
                "10 bins of equally many items, 95 % intervals",
                &[("all".into(), (0..10).map(rare).collect())],
            ),
        ),
    ]
}

/// The texts of an SVG document; panics if it is not well-formed.
fn texts(svg: &str) -> Vec<String> {
    let mut reader = Reader::from_str(svg);
    reader.config_mut().check_end_names = true;
    let (mut depth, mut text, mut all) = (0, String::new(), Vec::new());
    loop {
        match reader
            .read_event()
            .unwrap_or_else(|error| panic!("{error} at {} of {svg}", reader.error_position()))
        {
            Event::Start(element) => {
                assert!(element.attributes().all(|attribute| attribute.is_ok()), "{element:?}");
                depth += 1;
                text.clear();
            }
            Event::Empty(element) => {
                assert!(element.attributes().all(|attribute| attribute.is_ok()), "{element:?}");
            }
            Event::End(_) => {
                depth -= 1;
                all.push(std::mem::take(&mut text));
            }
            Event::Text(part) => text += &part,
            Event::GeneralRef(name) => {
                text.push(match &*name {
                    "amp" => '&',
                    "lt" => '<',
                    "gt" => '>',
                    "quot" => '"',
                    "#39" => '\'',
                    other => panic!("unexpected entity {other}"),
                });
            }
            Event::Eof => break,
            other => panic!("unexpected {other:?}"),
        }
    }
    assert_eq!(depth, 0);
    all
}

#[test]
fn every_plot_is_well_formed_and_says_what_it_is() {
    for (name, plot) in gallery() {
        let svg = plot.svg();
        let texts = texts(svg);
        assert!(
            svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.ends_with("</svg>\n"),
            "{name}"
        );
        assert!(
            svg.contains("role=\"img\"") && svg.contains("\n<title>") && svg.contains("\n<desc>"),
            "{name}"
        );
        assert!(svg.contains("@media (prefers-color-scheme:dark)"), "{name}");
        // No ids: two plots in one page cannot disturb each other.
        assert!(!svg.contains(" id=") && !svg.contains("url("), "{name}");
        assert!(texts.iter().any(|text| text.contains("x axis")), "{name}");
    }
}

#[test]
fn the_same_numbers_give_the_same_bytes() {
    for ((name, one), (_, two)) in gallery().into_iter().zip(gallery()) {
        assert!(one == two, "{name}");
        if let Some(folder) = std::env::var_os("TOPRANK_PLOTS_TO") {
            one.save(&Path::new(&folder).join(format!("{name}.svg"))).unwrap();
            #[cfg(feature = "png")]
            one.save(&Path::new(&folder).join(format!("{name}.png"))).unwrap();
        }
    }
}

/// Coordinates are rounded to hundredths, so they do not depend on the machine. After a change that is meant:
/// `TOPRANK_WRITE_GOLDEN=1 cargo test -p toprank-plots`, then look at the pictures.
#[test]
fn plots_look_as_they_did() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let write = std::env::var_os("TOPRANK_WRITE_GOLDEN").is_some();
    for (name, plot) in gallery() {
        let file = folder.join(format!("{name}.svg"));
        if !["differences-40", "learning", "reliability-rare"].contains(&name) {
            continue;
        }
        if write {
            plot.save(&file).unwrap();
        }
        let golden = std::fs::read_to_string(&file).unwrap();
        let changed = golden.lines().zip(plot.svg().lines()).find(|(old, new)| old != new);
        assert!(golden == plot.svg(), "{name}.svg is drawn differently: {changed:?}");
    }
}

#[test]
fn names_from_files_are_text_and_never_markup() {
    let hostile = [
        "<script>alert(1)</script>",
        "a<b & \"c\" 'd' $x^2$",
        "\"/><svg onload=alert(1)>",
        "]]><!-- x --><![CDATA[<b>",
        "&lt;b&gt; &#60;b&#62; &unknown;",
        "bell\u{7} escape\u{1b}[31m null\u{0} delete\u{7f} c1\u{9b}",
        "line\nbreak\rand\ttab\u{2028}\u{2029}",
        "turned \u{202e}gpj.exe\u{202c} \u{2066}x\u{2069} \u{200f}\u{61c}",
        "\u{fffe}\u{ffff}\u{fff9}\u{e0041}",
        "東京 Größe 👩‍👩‍👧 e\u{301}",
        "",
        "   ",
    ];
    let long = ["x".repeat(5000), "<".repeat(5000), "w ".repeat(2500), "\u{301}".repeat(5000)];
    for name in hostile.into_iter().chain(long.iter().map(String::as_str)) {
        let all = [
            differences(name, name, &[0.1, -0.2], Better::Higher),
            histogram(name, name, &[1.0, 2.0], 3),
            curves(name, name, name, &[series(name, [(0.0, 1.0), (1.0, 2.0)])]),
            learning_curves(
                name,
                name,
                &series(name, [(0.0, 1.0)]),
                &[series(name, [(0.0, 1.0)])],
                Some(Best { x: 0.0, label: name.into() }),
            ),
            trials(name, name, &[Trial { trial: 0, round: 0, value: 1.0 }], Better::Lower, Some(0)),
            intervals(name, name, &[IntervalRow { name: name.into(), value: 0.4, low: 0.3, high: 0.5 }]),
            ranked_bars(name, name, &[IntervalRow { name: name.into(), value: 0.4, low: 0.3, high: 0.5 }]),
            class_curves(
                name,
                &[ClassCurves {
                    roc_name: name.into(),
                    precision_recall_name: name.into(),
                    ..ClassCurves::default()
                }],
                Emphasis::default(),
            ),
            reliability(name, name, &[(name.into(), vec![])]),
        ];
        for (i, plot) in all.iter().enumerate() {
            let svg = plot.svg();
            let title = texts(svg).into_iter().next().unwrap();
            let plain: String = name.chars().map(|c| if title.contains(c) { c } else { ' ' }).collect();
            assert_eq!(title, plain, "plot {i}");
            for markup in ["<script", "<svg o", "<b>", "<!", "onload=alert(1)>"] {
                assert!(!svg.contains(markup), "plot {i} of {name:?}: {svg}");
            }
            let unsafe_character = |c: char| {
                c != '\n'
                    && (c.is_control() || "\u{202e}\u{2066}\u{200f}\u{2028}\u{fffe}\u{e0041}".contains(c))
            };
            assert!(!svg.contains(unsafe_character), "plot {i} of {name:?}");
        }
    }
}

#[test]
fn any_numbers_draw() {
    let nan = f64::NAN;
    let odd: [&[f64]; 10] = [
        &[],
        &[nan, f64::INFINITY, f64::NEG_INFINITY],
        &[0.0],
        &[0.0, 0.0],
        &[5.0],
        &[-3.0, -2.0],
        &[1e300, -1e300, 1e-300],
        &[1e-17, 2e-17],
        &[5e-324, 1e-323],
        &[f64::MAX, f64::MIN, -0.0],
    ];
    for values in odd {
        let line = series(&"x".repeat(500), values.iter().map(|v| (*v, -v)));
        let row = |v: &f64| IntervalRow { name: "r".into(), value: *v, low: v - 1.0, high: v + 1.0 };
        let rows: Vec<IntervalRow> = values.iter().map(row).collect();
        let point = |v: &f64| ReliabilityPoint { probability: *v, fraction: -v, low: v - 1.0, high: v + 1.0 };
        let points: Vec<ReliabilityPoint> = values.iter().map(point).collect();
        let trial = |(i, v): (usize, &f64)| Trial { trial: i as u32, round: i as u32 % 2, value: *v };
        let results: Vec<Trial> = values.iter().enumerate().map(trial).collect();
        let first = values.first().copied().unwrap_or(nan);
        let emphasis =
            Emphasis { region: Some((first, -first, first)), recall: Some(first), base_rate: Some(first) };
        let class = ClassCurves {
            roc: line.points.clone(),
            precision_recall: line.points.clone(),
            ..ClassCurves::default()
        };
        let plots = [
            differences("t", "a", values, Better::Higher),
            differences("t", "a", values, Better::Lower),
            histogram("t", "a", values, 0),
            histogram("t", "a", values, usize::MAX),
            curves("t", "a", "b", std::slice::from_ref(&line)),
            curves("t", "a", "b", &[]),
            learning_curves(
                "t",
                "a",
                &line,
                std::slice::from_ref(&line),
                Some(Best { x: first, label: "best".into() }),
            ),
            trials("t", "a", &results, Better::Lower, Some(0)),
            intervals("t", "a", &rows),
            ranked_bars("t", "a", &rows),
            class_curves("t", &[class], emphasis),
            reliability("t", "", &[("all".into(), points)]),
        ];
        for (i, plot) in plots.iter().enumerate() {
            let svg = plot.svg();
            texts(svg);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "plot {i} of {values:?}: {svg}");
            assert!(svg.len() < 100_000, "plot {i} of {values:?} has {} bytes", svg.len());
            #[cfg(feature = "png")]
            assert_eq!(plot.png().unwrap()[1..4], *b"PNG");
        }
    }
}

#[test]
fn an_empty_plot_says_so() {
    let says = |plot: &Plot| plot.svg().contains("no values");
    assert!(says(&differences("t", "a", &[f64::NAN], Better::Higher)));
    assert!(says(&intervals("t", "a", &[])) && says(&ranked_bars("t", "a", &[])));
    assert!(says(&trials("t", "a", &[], Better::Higher, None)) && says(&reliability("t", "", &[])));
    assert!(!says(&differences("t", "a", &[0.1], Better::Higher)));
}

#[test]
fn bars_stay_few_and_keep_both_ends() {
    let bars = |plot: &Plot| plot.svg().matches('Z').count();
    assert_eq!(bars(&differences("t", "a", &wave(20_000, 0.505), Better::Higher)), 600);
    // One list against all others is the first or the last of the sorted ones.
    for (one, others) in [(5.0, -0.1), (-5.0, 0.1)] {
        let mut values = vec![others; 20_000];
        values[777] = one;
        let plot = differences("t", "a", &values, Better::Higher);
        let paths =
            plot.svg().lines().filter(|line| line.contains('Z')).map(|line| line.matches('Z').count());
        let mut paths: Vec<usize> = paths.collect();
        paths.sort_unstable();
        assert_eq!(paths, [1, 599]);
    }
}

#[test]
fn lower_values_count_as_better_where_they_are() {
    let values = [0.3, 0.2, -0.1];
    let svg = differences("t", "a", &values, Better::Lower);
    assert!(svg.svg().contains("1 better") && svg.svg().contains("2 worse"));
    let svg = differences("t", "a", &values, Better::Higher);
    assert!(svg.svg().contains("2 better") && svg.svg().contains("1 worse"));
}

#[test]
fn bars_are_drawn_as_sorted_and_the_plot_says_what_it_leaves_out() {
    let row = |(name, value): (&str, f64)| IntervalRow { name: name.into(), value, low: value, high: value };
    let plot = ranked_bars("t", "a", &[("c", 1.0), ("a", 3.0), ("nan", f64::NAN), ("b", 2.0)].map(row));
    let place = |name: &str| plot.svg().find(&format!(">{name}</text>"));
    assert!(
        place("a") < place("b") && place("b") < place("c") && place("a").is_some() && place("nan").is_none()
    );
    let many: Vec<IntervalRow> = (0..136).map(|i| row(("f", f64::from(i)))).collect();
    assert!(ranked_bars("t", "a", &many).svg().contains("the 40 largest of 136"));
}

#[test]
fn epochs_are_counted_in_integers() {
    let loss = series("training loss", [(1.0, 0.9), (2.0, 0.8), (3.0, 0.7)]);
    let plot = learning_curves("t", "epoch", &loss, &[], None);
    assert!(plot.svg().contains(">2</text>") && !plot.svg().contains(">1.5</text>"), "{}", plot.svg());
}

#[test]
fn trials_are_dots_and_only_the_best_so_far_is_a_line() {
    let values = [0.2, 0.1, 0.4, f64::NAN, 0.3];
    let all: Vec<Trial> =
        values.iter().zip(0..).map(|(&value, trial)| Trial { trial, round: 0, value }).collect();
    let plot = trials("t", "ndcg@10", &all, Better::Higher, Some(2));
    let legend = 1;
    assert_eq!(plot.svg().matches("<circle").count(), 4 + legend);
    // A line of steps goes across and up or down, never both at once; the best so far never gets worse.
    let heights = |plot: &Plot| -> Vec<f64> {
        let steps = plot.svg().lines().find(|line| line.contains('H') && line.contains('V')).unwrap();
        assert!(!steps.contains('L') && steps.matches('H').count() == 4, "{steps}");
        let number = |text: &str| {
            text.split(|c: char| c != '.' && !c.is_ascii_digit()).next().unwrap().parse().unwrap()
        };
        steps.split('V').skip(1).map(number).collect()
    };
    let up = heights(&plot);
    assert!(up.is_sorted_by(|a, b| a >= b) && up[0] > up[3], "pixels count from the top: {up:?}");
    let down = heights(&trials("t", "error", &all, Better::Lower, None));
    assert!(down.is_sorted() && down[0] == down[3], "the second of the trials is the best: {down:?}");
    assert!(plot.svg().contains("1 of 5 evaluations failed") && plot.svg().contains("best: trial 2"));
}

#[test]
fn rare_classes_get_logarithmic_axes() {
    let bins = |probabilities: [f64; 4]| {
        let point =
            |p: f64| ReliabilityPoint { probability: p, fraction: p, low: p * 0.5, high: (p * 2.0).min(1.0) };
        reliability("t", "", &[("all".into(), probabilities.map(point).to_vec())])
    };
    assert!(bins([0.0001, 0.0005, 0.001, 0.2]).svg().contains("(log scale)"));
    assert!(!bins([0.1, 0.3, 0.6, 0.9]).svg().contains("log scale"));
}

#[test]
fn a_file_gets_the_format_of_its_name_and_errors_name_it() {
    let folder: PathBuf = std::env::temp_dir().join(format!("toprank-plots-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let plot = histogram("t", "a", &[1.0, 2.0], 2);
    plot.save(&folder.join("a.SVG")).unwrap();
    assert_eq!(std::fs::read_to_string(folder.join("a.SVG")).unwrap(), plot.svg());
    #[cfg(feature = "png")]
    {
        plot.save(&folder.join("a.png")).unwrap();
        assert_eq!(std::fs::read(folder.join("a.png")).unwrap(), plot.png().unwrap());
    }
    #[cfg(not(feature = "png"))]
    assert_eq!(
        plot.save(Path::new("a.png")).unwrap_err().to_string(),
        "a.png: this build writes SVG only; install toprank with --features png, or name the file with .svg"
    );
    std::fs::remove_dir_all(&folder).unwrap();
    let error = plot.save(&folder.join("a.svg")).unwrap_err().to_string();
    assert!(error.contains("a.svg: the plot could not be written: "), "{error}");
    let error = check_name(Path::new("plot")).unwrap_err().to_string();
    assert_eq!(error, "plot: expected a name that ends in .svg or .png, but it has no extension");
}
