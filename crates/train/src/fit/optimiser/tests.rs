//! The promises of the optimisers.
#![allow(clippy::single_range_in_vec_init)] // one range of parameters is meant

use toprank_core::Stream;

use super::*;

/// Every optimiser in other than its default form too; together they name every parameter.
const FORMS: &[&str] = &[
    "sgd",
    "sgd:decay=0.1",
    "momentum",
    "momentum:beta=0.5",
    "momentum:nesterov=true",
    "momentum:decay=0.1",
    "adam",
    "adam:beta1=0.5",
    "adam:beta2=0.9",
    "adam:eps=0.01",
    "adam:decay=0.1",
    "adamw",
    "adamw:beta1=0.5",
    "adamw:beta2=0.9",
    "adamw:eps=0.01",
    "adamw:decay=0.1",
    "storm",
    "storm:gamma=0.5",
    "storm:decay=0.1",
];

fn open(form: &str, parameters: usize) -> Box<dyn Optimiser> {
    parse(form).unwrap().1.open(parameters)
}

fn normal(seed: u64, step: u64, n: usize) -> Vec<f32> {
    let mut random = Stream::new(seed, "test numbers").at_step(step).open();
    (0..n).map(|_| (0..12).map(|_| random.unit()).sum::<f64>() as f32 - 6.0).collect()
}

fn rate(step: u64) -> f64 {
    0.05 / (1.0 + step as f64)
}

/// Parameters after `steps` steps from `from` on, and the optimiser.
fn run(optimiser: &mut dyn Optimiser, parameters: &mut [f32], steps: Range<u64>, decayed: &[Range<usize>]) {
    let n = parameters.len();
    for t in steps {
        let (gradient, previous) = (normal(1, t, n), normal(2, t, n));
        let step = OptimiserStep { number: t, rate: rate(t), decayed };
        let previous = optimiser.needs_previous().then_some(previous.as_slice());
        optimiser.step(&step, parameters, &gradient, previous);
    }
}

/// The formulas of the pages in double precision, one parameter.
fn plain(form: &str, mut w: f64, steps: u64, decays: bool, numbers: impl Fn(u64) -> (f64, f64)) -> f64 {
    let spec = Spec::parse(form).unwrap();
    let given = |key: &str, default: f64| spec.args.get(key).map_or(default, |v| v.parse().unwrap());
    let decay = if decays { given("decay", if spec.name == "adamw" { 0.01 } else { 0.0 }) } else { 0.0 };
    let (mut m, mut v) = (0.0, 0.0);
    for step in 0..steps {
        let (g, previous) = numbers(step);
        let (eta, t) = (rate(step), step as i32 + 1);
        let coupled = g + decay * w;
        match spec.name.as_str() {
            "sgd" => w -= eta * coupled,
            "momentum" => {
                let beta = given("beta", 0.9);
                m = beta * m + (1.0 - beta) * coupled;
                let nesterov = spec.args.get("nesterov") == Some("true");
                w -= eta * if nesterov { beta * m + (1.0 - beta) * coupled } else { m };
            }
            "adam" | "adamw" => {
                let (beta1, beta2, eps) = (given("beta1", 0.9), given("beta2", 0.999), given("eps", 1e-8));
                let g = if spec.name == "adam" { coupled } else { g };
                m = beta1 * m + (1.0 - beta1) * g;
                v = beta2 * v + (1.0 - beta2) * g * g;
                let beside = if spec.name == "adamw" { eta * decay * w } else { 0.0 };
                let (mean, square) = (m / (1.0 - beta1.powi(t)), v / (1.0 - beta2.powi(t)));
                w -= beside + eta * mean / (square.sqrt() + eps);
            }
            "storm" => {
                let gamma = given("gamma", 0.1);
                m = if step == 0 { g } else { (1.0 - gamma) * (m - previous) + g };
                w -= eta * (m + decay * w);
            }
            other => panic!("no plain form of {other}"),
        }
    }
    w
}

#[test]
fn kernels_equal_the_plain_formulas() {
    let n = 40;
    let decayed = [3..10, 20..21, 30..40];
    for form in FORMS {
        let start = normal(0, 0, n);
        let mut parameters = start.clone();
        run(&mut *open(form, n), &mut parameters, 0..25, &decayed);
        for (i, w) in parameters.iter().enumerate() {
            let numbers = |t| (f64::from(normal(1, t, n)[i]), f64::from(normal(2, t, n)[i]));
            let expected =
                plain(form, f64::from(start[i]), 25, decayed.iter().any(|r| r.contains(&i)), numbers);
            // 25 steps of single precision.
            assert!((f64::from(*w) - expected).abs() < 3e-6, "{form}, parameter {i}: {w}, {expected}");
        }
    }
}

#[test]
fn two_steps_of_adam_by_hand() {
    let mut adam = open("adam", 1);
    let mut w = [1.0f32];
    adam.step(&OptimiserStep { number: 0, rate: 0.1, decayed: &[] }, &mut w, &[4.0], None);
    // m = 0.4, v = 0.016; corrected 4 and 16: a step of 0.1 · 4/4.
    assert!((w[0] - 0.9).abs() < 1e-6, "{w:?}");
    adam.step(&OptimiserStep { number: 1, rate: 0.1, decayed: &[] }, &mut w, &[-2.0], None);
    let m = (0.9 * 0.4 + 0.1 * -2.0) / (1.0 - 0.81);
    let v = (0.999 * 0.016 + 0.001 * 4.0f64) / (1.0 - 0.999 * 0.999);
    assert!((f64::from(w[0]) - (0.9 - 0.1 * m / v.sqrt())).abs() < 1e-6, "{w:?}");
}

#[test]
fn adam_and_sgd_step_as_pytorch_does() {
    #[derive(serde::Deserialize)]
    struct Golden {
        decayed: usize,
        start: Vec<f32>,
        rates: Vec<f64>,
        gradients: Vec<Vec<f32>>,
        cases: Vec<Case>,
    }
    #[derive(serde::Deserialize)]
    struct Case {
        optimiser: String,
        after: Vec<Vec<f64>>,
    }
    let golden: Golden = serde_json::from_str(include_str!("../../../tests/golden/optimisers.json")).unwrap();
    let decayed: &[Range<usize>] = &[0..golden.decayed];
    assert!(golden.cases.len() >= 7);
    for case in golden.cases {
        let mut w = golden.start.clone();
        let mut optimiser = open(&case.optimiser, w.len());
        for (t, expected) in case.after.iter().enumerate() {
            let step = OptimiserStep { number: t as u64, rate: golden.rates[t], decayed };
            optimiser.step(&step, &mut w, &golden.gradients[t], None);
            for (i, (w, expected)) in w.iter().zip(expected).enumerate() {
                let tolerance = 1e-6 * (1.0 + expected.abs());
                assert!(
                    (f64::from(*w) - expected).abs() < tolerance,
                    "{}, step {t}, parameter {i}: {w}, {expected}",
                    case.optimiser
                );
            }
        }
    }
}

#[test]
fn storm_of_exact_gradients_is_gradient_descent() {
    // Where the batch says the truth, m_{t−1} = G(w_{t−1}) and the past cancels.
    let mut storm = open("storm:gamma=0.3", 1);
    let (mut w, mut before) = ([1.0f32], [1.0f32]);
    for number in 0..10 {
        let (gradient, previous) = ([2.0 * w[0]], [2.0 * before[0]]);
        before = w;
        storm.step(&OptimiserStep { number, rate: 0.1, decayed: &[] }, &mut w, &gradient, Some(&previous));
        assert!((w[0] - 0.8f32.powi(number as i32 + 1)).abs() < 1e-6);
    }
    // Without a previous gradient the estimate starts afresh.
    let m = storm.state()[0].1[0];
    storm.step(&OptimiserStep { number: 10, rate: 0.0, decayed: &[] }, &mut w, &[5.0], None);
    assert!(m != 5.0 && storm.state()[0].1[0] == 5.0);
}

#[test]
fn every_parameter_matters_and_stands_in_a_form() {
    let n = 8;
    let after = |form: &str| {
        let mut parameters = normal(0, 0, n);
        run(&mut *open(form, n), &mut parameters, 0..5, &[0..8]);
        parameters
    };
    for entry in OPTIMISERS {
        for param in entry.params {
            let forms: Vec<_> =
                FORMS.iter().filter(|f| f.starts_with(&format!("{}:{}=", entry.name, param.name))).collect();
            assert!(!forms.is_empty(), "{} of {} stands in no form", param.name, entry.name);
            for form in forms {
                assert_ne!(after(form), after(entry.name), "{form}");
            }
            let default = format!("{}:{}={}", entry.name, param.name, param.default);
            assert_eq!(after(&default), after(entry.name), "the default of {default}");
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    for (text, key) in [
        ("sgd:decay=-1", "decay"),
        ("sgd:decay=inf", "decay"),
        ("momentum:beta=1", "beta"),
        ("momentum:beta=nan", "beta"),
        ("momentum:nesterov=yes", "nesterov"),
        ("adam:beta1=-0.1", "beta1"),
        ("adam:beta2=1", "beta2"),
        ("adam:eps=0", "eps"),
        ("adamw:decay=x", "decay"),
        ("storm:gamma=0", "gamma"),
        ("storm:gamma=1.1", "gamma"),
    ] {
        let error = parse(text).err().unwrap_or_else(|| panic!("{text} was accepted"));
        assert_eq!(error.param, key, "{text}: {error}");
    }
}

#[test]
fn what_is_saved_goes_on_bit_for_bit() {
    let n = 50;
    for form in FORMS {
        let mut whole = normal(0, 0, n);
        let mut optimiser = open(form, n);
        run(&mut *optimiser, &mut whole, 0..10, &[0..20]);

        let mut halves = normal(0, 0, n);
        let mut first = open(form, n);
        run(&mut *first, &mut halves, 0..6, &[0..20]);
        let saved: Vec<(&str, Vec<f32>)> =
            first.state().into_iter().map(|(name, values)| (name, values.to_vec())).collect();
        let mut second = open(form, n);
        for ((name, target), (saved_name, values)) in second.state_mut().into_iter().zip(&saved) {
            assert_eq!(name, *saved_name);
            target.copy_from_slice(values);
        }
        run(&mut *second, &mut halves, 6..10, &[0..20]);
        assert_eq!(halves, whole, "{form}");
        for ((name, a), (_, b)) in second.state().into_iter().zip(optimiser.state()) {
            assert_eq!(a, b, "{form}: {name}");
        }
    }
}

#[test]
fn long_slices_give_the_same_bytes_at_any_number_of_threads_and_cut() {
    let n = 3 * BLOCK + 777;
    // Ranges that start, end and lie across the cuts between blocks.
    let decayed = [5..100, BLOCK - 3..BLOCK + 3, 2 * BLOCK..2 * BLOCK + 1, 3 * BLOCK..n];
    let start = normal(0, 0, n);
    let [gradients, previous] = [1, 2].map(|seed| [0, 1, 2].map(|t| normal(seed, t, n)));
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    for form in ["sgd:decay=0.1", "momentum:decay=0.1", "adam:decay=0.1", "adamw", "storm:decay=0.1"] {
        let after = |threads| {
            pool(threads).install(|| {
                let mut parameters = normal(0, 0, n);
                run(&mut *open(form, n), &mut parameters, 0..3, &decayed);
                parameters
            })
        };
        let one = after(1);
        assert_eq!(one, after(4), "{form}");
        // One parameter after the other, each with a slice of its own.
        for i in [0, 5, 99, 100, BLOCK - 4, BLOCK - 3, BLOCK + 2, BLOCK + 3, 2 * BLOCK, 2 * BLOCK + 1, n - 1]
        {
            let inside = decayed.iter().any(|range| range.contains(&i));
            let mut w = [start[i]];
            let mut alone = open(form, 1);
            for t in 0..3 {
                let (gradient, previous) = ([gradients[t as usize][i]], [previous[t as usize][i]]);
                let decayed: &[Range<usize>] = if inside { &[0..1] } else { &[] };
                let step = OptimiserStep { number: t, rate: rate(t), decayed };
                alone.step(&step, &mut w, &gradient, alone.needs_previous().then_some(&previous));
            }
            assert_eq!(w[0], one[i], "{form}, parameter {i}");
        }
    }
}

#[test]
fn a_parameter_without_gradient_or_decay_is_not_moved() {
    for form in FORMS {
        let mut optimiser = open(form, 2);
        let mut w = [0.3f32, 0.3];
        for number in 0..5 {
            let step = OptimiserStep { number, rate: 0.1, decayed: &[0..1] };
            let previous = optimiser.needs_previous().then_some([0.5, 0.0]);
            optimiser.step(&step, &mut w, &[1.0, 0.0], previous.as_ref().map(<[f32; 2]>::as_slice));
        }
        assert!(w[1] == 0.3 && w[0] != 0.3, "{form}: {w:?}");
    }
}

#[test]
fn only_storm_asks_for_the_step_before() {
    for entry in OPTIMISERS {
        assert_eq!(open(entry.name, 1).needs_previous(), entry.name == "storm");
    }
}

#[test]
fn what_fades_becomes_zero_and_never_subnormal() {
    for form in
        ["sgd:decay=10", "momentum:decay=10", "adam", "adam:decay=10", "adamw:decay=10", "storm:decay=10"]
    {
        let mut optimiser = open(form, 2);
        let mut parameters = [1.0, 1.0];
        let decays = form.contains("decay");
        for t in 0..3000 {
            // A gradient in the first step only.
            let gradient = [f32::from(u8::from(t == 0)), 0.0];
            let step = OptimiserStep { number: t, rate: 0.05, decayed: &[0..2] };
            let previous = optimiser.needs_previous().then_some([0.0; 2]);
            optimiser.step(&step, &mut parameters, &gradient, previous.as_ref().map(<[f32; 2]>::as_slice));
            let state = optimiser.state();
            let kept = state.iter().flat_map(|(_, values)| values.iter()).chain(&parameters);
            assert!(kept.into_iter().all(|x| *x == 0.0 || x.is_normal()), "{form}, step {t}: {parameters:?}");
        }
        assert!(!decays || parameters == [0.0; 2], "{form}: {parameters:?}");
    }
}
