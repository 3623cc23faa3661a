use toprank_core::{Policy, Stream};
use toprank_data::QueryGraphs;
use toprank_data::graph::GraphTables;
use toprank_data::group::Interner;
use toprank_objectives::Goal;
use toprank_walks::{Score, Walk};

use super::*;

/// Query graphs whose labels come from a hidden walk: φ can be learned.
fn graphs(seed: u64, queries: usize) -> (QueryGraphs, Vec<f64>) {
    let mut random = Stream::new(seed, "full test").open();
    let mut tables = GraphTables {
        queries: Interner::default(),
        parts: vec![0],
        labels: Some(Vec::new()),
        node_columns: ["a", "b", "c"].map(String::from).to_vec(),
        ends: Some(true),
        ..GraphTables::default()
    };
    for q in 0..queries {
        tables.queries.number(&format!("q{q}"));
        let first = tables.node_names.len();
        let n = 5 + random.below(5);
        for i in 0..n {
            tables.node_names.push(&format!("{q}-{i}"));
            tables.node_values.extend((0..3).map(|_| 0.05 + random.unit() as f32));
            tables.labels.as_mut().unwrap().push(0.0);
        }
        for i in 0..n - 1 {
            for _ in 0..2 {
                tables.sources.push((first + i) as u32);
                tables.targets.push((first + random.below(n)) as u32);
            }
        }
        tables.parts.push(tables.node_names.len() as u32);
    }
    let truth = vec![1.6, 0.6, 0.8, 1.3, 0.5, 1.1, 0.4, 1.7, 0.7];
    let plain = QueryGraphs::build(tables.clone()).unwrap();
    let lists: Vec<u32> = (0..queries as u32).collect();
    let solved = Walk::default().solve(&plain, &lists, &truth, toprank_walks::Stop::at(1e-12)).unwrap();
    for q in 0..queries {
        let nodes = plain.nodes_of(q);
        let mut order: Vec<usize> = nodes.clone().collect();
        let pi = solved.distribution(q);
        order.sort_by(|a, b| pi[b - nodes.start].total_cmp(&pi[a - nodes.start]));
        for (place, node) in order.into_iter().enumerate() {
            tables.labels.as_mut().unwrap()[node] = if place < 2 {
                2.0
            } else if place < 4 {
                1.0
            } else {
                0.0
            };
        }
    }
    (QueryGraphs::build(tables).unwrap(), truth)
}

fn goal(text: &str) -> Goal {
    Goal::parse(text, &Policy::default()).unwrap()
}

fn oracle<'a>(graphs: &'a QueryGraphs, text: &str, score: Score) -> WalkOracle<'a> {
    let lists: Vec<u32> = (0..graphs.len() as u32).collect();
    WalkOracle::new(graphs, &lists, Walk { score, ..Walk::default() }, &goal(text)).unwrap()
}

const EXACT: Errors = Errors { value: 1e-13, gradient: 1e-13 };

#[test]
fn every_objective_of_the_house_gives_a_walk_its_gradient() {
    let (graphs, _) = graphs(1, 6);
    let phi: Vec<f64> = (0..9).map(|f| 0.8 + 0.05 * f as f64).collect();
    for text in ["margin", "margin:b=0", "song", "ap", "ranknet", "listnet", "squared", "approx-ndcg"] {
        let mut oracle = oracle(&graphs, text, Score::Scaled);
        let mut gradient = vec![0.0; 9];
        oracle.gradient(&phi, EXACT, &mut gradient).unwrap();
        assert!(norm(gradient.iter().copied()) > 1e-6, "{text}");
        for f in 0..9 {
            let mut at = |step: f64| {
                let mut moved = phi.clone();
                moved[f] += step;
                oracle.value(&moved, 1e-13).unwrap()
            };
            let h = 1e-3;
            let difference = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
            let tolerance = 1e-8 * (1.0 + difference.abs());
            assert!((gradient[f] - difference).abs() < tolerance, "{text} {f}: {} {difference}", gradient[f]);
        }
    }
}

#[test]
fn the_answers_are_as_precise_as_they_are_asked_to_be() {
    let (graphs, _) = graphs(2, 8);
    let phi = vec![1.1, 0.9, 1.0, 0.7, 1.3, 1.0, 1.2, 0.8, 1.0];
    for score in [Score::Probability, Score::Scaled] {
        let mut oracle = oracle(&graphs, "margin:b=0.1", score);
        let mut exact = vec![0.0; 9];
        let value = oracle.gradient(&phi, EXACT, &mut exact).unwrap();
        for error in [1e-1, 1e-3, 1e-6, 1e-9] {
            let mut near = vec![0.0; 9];
            let errors = Errors { value: error, gradient: error };
            assert!((oracle.gradient(&phi, errors, &mut near).unwrap() - value).abs() <= error);
            assert!((oracle.value(&phi, error).unwrap() - value).abs() <= error);
            assert!(near.iter().zip(&exact).all(|(a, b)| (a - b).abs() <= error), "{error}");
        }
    }
}

/// Watches that every accepted step of GBN keeps theorem 3's inequality, with exact values.
struct Decrease<'a> {
    oracle: WalkOracle<'a>,
    before: Vec<f64>,
    epsilon: f64,
    steps: usize,
}

impl Look for Decrease<'_> {
    fn step(&mut self, now: &Progress, phi: &[f64]) {
        let mut gradient = vec![0.0; phi.len()];
        let old = self.oracle.gradient(&self.before, EXACT, &mut gradient).unwrap();
        let new = self.oracle.value(phi, 1e-13).unwrap();
        let m = now.lipschitz;
        let moved: Vec<f64> = phi.iter().zip(&self.before).map(|(a, b)| a - b).collect();
        let slope: f64 = moved.iter().zip(&gradient).map(|(a, b)| a * b).sum();
        let square: f64 = moved.iter().map(|a| a * a).sum();
        let slack = self.epsilon * self.epsilon / m;
        assert!(new <= old + slope + m / 2.0 * square + slack, "step {}", now.step);
        // What follows from it: ψ(x_{k+1}) ≤ ψ(x_k) − ‖g_Φ‖²/(2M) + slack.
        assert!(new <= old - now.gradient_norm.powi(2) / (2.0 * m) + slack, "step {}", now.step);
        self.before.copy_from_slice(phi);
        self.steps += 1;
    }
}

#[test]
fn gbn_decreases_as_theorem_3_promises_and_stops_at_a_small_gradient() {
    let (graphs, _) = graphs(3, 20);
    let region = Region::ball(9, 0.99);
    let start = vec![1.0; 9];
    let settings = Gbn { epsilon: 1e-5, ..Gbn::default() };
    let mut watch = Decrease {
        oracle: oracle(&graphs, "margin:b=0.05", Score::Probability),
        before: start.clone(),
        epsilon: settings.epsilon,
        steps: 0,
    };
    let mut oracle = oracle(&graphs, "margin:b=0.05", Score::Probability);
    let first = oracle.value(&start, 1e-12).unwrap();
    let found = gbn(&mut oracle, &region, &start, &settings, &mut watch).unwrap();
    assert_eq!((found.why, watch.steps), (Why::Reached, found.steps));
    assert!(found.gradient_norm <= 1e-5 && found.loss < 0.9 * first, "{found:?} from {first}");
    // The estimate of L is found, whatever it started from.
    for lipschitz in [1e-6, 1.0] {
        let settings = Gbn { lipschitz, ..settings };
        let other = gbn(&mut oracle, &region, &start, &settings, &mut ()).unwrap();
        assert!((other.loss - found.loss).abs() < 1e-4 * first, "{} {}", other.loss, found.loss);
    }
    let stopped = gbn(&mut oracle, &region, &start, &Gbn { steps: 3, ..settings }, &mut ()).unwrap();
    assert_eq!((stopped.steps, stopped.why), (3, Why::Steps));
}

#[test]
fn the_other_methods_learn_too_and_stay_in_their_region() {
    let (graphs, _) = graphs(4, 20);
    let ball = Region::ball(9, 0.99);
    let start = vec![1.0; 9];
    let mut oracle = oracle(&graphs, "margin:b=0.05", Score::Probability);
    let first = oracle.value(&start, 1e-12).unwrap();
    let by_gfn = gfn(
        &mut oracle,
        &ball,
        &start,
        &Gfn { steps: Some(400), lipschitz: 3e-3, ..Gfn::default() },
        &mut (),
    )
    .unwrap();
    let by_gbp = gbp(&mut oracle, &ball, &start, &Gbp { step: 20.0, ..Gbp::default() }, &mut ()).unwrap();
    let by_adam = adam(&mut oracle, &Region::AtLeast(1e-3), &start, &Adam::default(), &mut ()).unwrap();
    let by_gbn = gbn(&mut oracle, &ball, &start, &Gbn::default(), &mut ()).unwrap();
    for (name, found) in [("gfn", &by_gfn), ("gbp", &by_gbp), ("adam", &by_adam)] {
        assert!(found.loss < 0.98 * first, "{name}: {} from {first}", found.loss);
        assert!(found.phi.iter().all(|phi| *phi > 0.0), "{name}");
    }
    for found in [&by_gfn, &by_gbp, &by_gbn] {
        let far = norm(found.phi.iter().map(|phi| phi - 1.0));
        assert!(far <= 0.99 + 1e-12, "{far}");
        assert!(found.loss >= by_gbn.loss - 1e-9, "nothing in the ball is far below a stationary point");
    }
}

/// f(x) = Σ c_i x_i² + Σ x_i³: its mean over a ball is known.
struct Cubic;

impl Oracle for Cubic {
    fn parameters(&self) -> usize {
        3
    }

    fn value(&mut self, x: &[f64], _: f64) -> Result<f64, TrainError> {
        Ok(x.iter().enumerate().map(|(i, x)| (i as f64 + 1.0) * x * x + x.powi(3)).sum())
    }

    fn gradient(&mut self, x: &[f64], errors: Errors, gradient: &mut [f64]) -> Result<f64, TrainError> {
        for (i, (g, x)) in gradient.iter_mut().zip(x).enumerate() {
            *g = 2.0 * (i as f64 + 1.0) * x + 3.0 * x * x;
        }
        self.value(x, errors.value)
    }
}

#[test]
fn gfns_estimate_is_unbiased_for_the_smoothed_function() {
    // ∇f_μ(x) = E ∇f(x + μζ), ζ uniform in the ball: E ζ_i² = 1/(m + 2) adds 3 μ²/(m + 2).
    let (x, mu, m) = ([0.5, -1.0, 0.25], 0.4, 3.0);
    let expected: Vec<f64> = x
        .iter()
        .enumerate()
        .map(|(i, x)| 2.0 * (i as f64 + 1.0) * x + 3.0 * (x * x + mu * mu / (m + 2.0)))
        .collect();
    let draws = 200_000;
    let (mut sum, mut square) = ([0.0; 3], [0.0; 3]);
    let at = Cubic.value(&x, 0.0).unwrap();
    for draw in 0..draws {
        let mut xi = [0.0; 3];
        sphere(Stream::new(7, "unbiased").at_step(draw), &mut xi);
        let there: Vec<f64> = x.iter().zip(&xi).map(|(x, xi)| x + mu * xi).collect();
        let along = m / mu * (Cubic.value(&there, 0.0).unwrap() - at);
        for i in 0..3 {
            sum[i] += along * xi[i];
            square[i] += (along * xi[i]).powi(2);
        }
    }
    for i in 0..3 {
        let mean = sum[i] / draws as f64;
        let error = ((square[i] / draws as f64 - mean * mean) / draws as f64).sqrt();
        // Four standard errors, which are below 0.02.
        assert!(
            (mean - expected[i]).abs() < 4.0 * error && error < 0.02,
            "{i}: {mean} {} {error}",
            expected[i]
        );
    }
}

#[test]
fn the_theory_of_gfn_is_the_papers() {
    let settings = Gfn::default();
    let theory = Theory::new(78, 0.99, &settings);
    assert_eq!(theory.steps, 978_532.0);
    assert!((theory.smoothing - 0.0153).abs() < 1e-4, "{theory:?}");
    assert!((theory.error - 1.2e-11).abs() < 1e-12, "{theory:?}");
    let endless = Gfn { steps: None, lipschitz: 1e3, ..settings };
    let error = gfn(&mut Cubic, &Region::ball(3, 0.99), &[1.0; 3], &endless, &mut ()).unwrap_err();
    assert!(error.to_string().contains("steps"), "{error}");
}

#[test]
fn projections_are_the_nearest_points() {
    let mut inside = [1.2, 0.9];
    Region::ball(2, 0.99).project(&mut inside);
    assert_eq!(inside, [1.2, 0.9]);
    let mut outside = [4.0, 5.0];
    Region::ball(2, 0.99).project(&mut outside);
    assert!(
        (outside[0] - (1.0 + 0.99 * 0.6)).abs() < 1e-15 && (outside[1] - (1.0 + 0.99 * 0.8)).abs() < 1e-15
    );
    let mut low = [-1.0, 2.0];
    Region::AtLeast(0.5).project(&mut low);
    assert_eq!(low, [0.5, 2.0]);
}

#[test]
fn bad_settings_and_graphs_are_refused() {
    let region = Region::ball(3, 0.99);
    assert!(gbn(&mut Cubic, &region, &[1.0; 2], &Gbn::default(), &mut ()).is_err());
    assert!(gbn(&mut Cubic, &region, &[1.0; 3], &Gbn { epsilon: 0.0, ..Gbn::default() }, &mut ()).is_err());
    assert!(gbp(&mut Cubic, &region, &[1.0; 3], &Gbp { step: f64::NAN, ..Gbp::default() }, &mut ()).is_err());
    let (mut graphs, _) = graphs(5, 2);
    graphs.judged.labels.clear();
    graphs.judged.nodes.clear();
    graphs.judged.offsets = vec![0; 3];
    let error = WalkOracle::new(&graphs, &[0, 1], Walk::default(), &goal("margin")).err().unwrap();
    assert!(error.to_string().contains("without judgements"), "{error}");
}
