//! Table 1 and figures 1 and 2 of "Learning Supervised PageRank with Gradient-Based and Gradient-Free Optimization
//! Methods", in small: the paper's data are not public, so graphs of its sizes are made from a hidden walk with noise.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use toprank::core::{Policy, Stream};
use toprank::data::QueryGraphs;
use toprank::data::graph::GraphTables;
use toprank::data::group::Interner;
use toprank::metrics::significance::{self, Pairs};
use toprank::metrics::{Measure, evaluate};
use toprank::objectives::Goal;
use toprank::train::TrainError;
use toprank::train::walk::full_batch::{
    Adam, Found, Gbn, Gbp, Gfn, Method, Oracle, Region, Trial, WalkOracle,
};
use toprank::walks::{Score, Solver, Stop, Walk};
use toprank_plots::{Series, curves};

use crate::common::{Outcome, cpu_seconds, mean, minimise_watched, normal};

const QUERIES: usize = 600;
const FEATURES: usize = 26;
pub const MARGIN: &str = "margin:b=0.05";

/// 600 browsing graphs: about 11.7k pages, 7.5k transitions, 26 features a page, 1.7k judged pages in 5 grades.
fn make(seed: u64) -> QueryGraphs {
    let mut random = Stream::new(seed, "paper002").open();
    let mut tables = GraphTables {
        queries: Interner::default(),
        parts: vec![0],
        seeds: Some(Vec::new()),
        node_columns: (1..=FEATURES).map(|f| format!("f{f}")).collect(),
        ends: Some(true),
        ..GraphTables::default()
    };
    for q in 0..QUERIES {
        tables.queries.number(&format!("q{q}"));
        let first = tables.node_names.len();
        let n = ((19.5 * (0.6 * normal(&mut random) - 0.18).exp()) as usize).max(4);
        for i in 0..n {
            tables.node_names.push(&format!("q{q}-p{i}"));
            // Sessions start at a third of the pages.
            tables.seeds.as_mut().expect("there").push(i == 0 || random.unit() < 0.35);
            // Skewed features from 0 to 1, some of them absent: as counts and flags are.
            for _ in 0..FEATURES {
                let value = if random.unit() < 0.25 { 0.0 } else { random.unit().powi(3) };
                tables.node_values.push(value as f32);
            }
        }
        for _ in 0..(0.64 * n as f64).round() as usize {
            tables.sources.push((first + random.below(n)) as u32);
            // Popular pages come first.
            let target = (random.unit().powi(2) * n as f64) as usize;
            tables.targets.push((first + target.min(n - 1)) as u32);
        }
        tables.parts.push(tables.node_names.len() as u32);
    }
    // The hidden truth: few features matter much.
    let m = 3 * FEATURES;
    let truth: Vec<f64> = (0..m).map(|_| (1.6 * normal(&mut random)).exp()).collect();
    let plain = QueryGraphs::build(tables.clone()).expect("sound tables");
    let all: Vec<u32> = (0..QUERIES as u32).collect();
    let solved = Walk::default().solve(&plain, &all, &truth, Stop::at(1e-12)).expect("a walk");
    let mut labels = vec![f32::NAN; plain.graph.nodes()];
    for q in 0..QUERIES {
        let nodes = plain.nodes_of(q);
        let n = nodes.len() as f64;
        let mut pages: Vec<usize> = nodes.clone().collect();
        random.shuffle(&mut pages);
        let judged = 2 + random.below(3);
        for &page in pages.iter().take(judged.min(pages.len())) {
            let hidden =
                (n * solved.distribution(q)[page - nodes.start] + 1e-3).ln() + 0.3 * normal(&mut random);
            let grade = [-1.5, -0.5, 0.2, 0.9].iter().filter(|threshold| hidden > **threshold).count();
            labels[page] = grade as f32;
        }
    }
    tables.labels = Some(labels);
    QueryGraphs::build(tables).expect("sound tables")
}

/// The loss on the test lists after each step.
struct Follow<'a, 'g> {
    test: &'a mut WalkOracle<'g>,
    every: u64,
    points: Vec<(f64, f64)>,
    train: Vec<(f64, f64)>,
    /// CPU seconds that looking cost.
    aside: f64,
}

impl Follow<'_, '_> {
    fn step(&mut self, trial: &Trial, method: &dyn Method) {
        let step = method.found().steps;
        self.train.push((step as f64, trial.loss));
        if step.is_multiple_of(self.every) {
            let start = cpu_seconds();
            if let Ok(loss) = self.test.value(method.phi(), 1e-8) {
                self.points.push((step as f64, loss));
            }
            self.aside += cpu_seconds() - start;
        }
    }
}

struct Row {
    name: String,
    size: usize,
    train: f64,
    losses: Vec<f64>,
    ndcg: Vec<f64>,
    steps: u64,
    cpu: f64,
    points: Vec<(f64, f64)>,
}

pub fn run(args: &[String]) -> Outcome {
    let folder = Path::new(args.first().map_or("bench/paper002", String::as_str));
    let budget: u64 = args.get(1).map_or(Ok(2000), |text| text.parse())?;
    std::fs::create_dir_all(folder)?;
    let (graphs, train, test) = data();
    println!(
        "{} queries, {} pages, {} transitions, {} judged pages",
        graphs.len(),
        graphs.graph.nodes(),
        graphs.graph.edges(),
        graphs.judged.nodes.len()
    );
    let mut rows = Vec::new();
    for size in [100, 200, 300] {
        rows.extend(table(&graphs, &by_size(&train, size), &by_size(&test, size), size, budget));
    }
    write(folder, &rows);
    solvers(folder, &graphs, &by_size(&train, 100));
    lipschitz(folder, &graphs, &by_size(&train, 100), budget);
    Ok(())
}

/// The graphs, and their lists in two halves by chance, each in order of size: for training and for testing.
pub fn data() -> (QueryGraphs, Vec<u32>, Vec<u32>) {
    let graphs = make(2);
    let mut order: Vec<u32> = (0..QUERIES as u32).collect();
    Stream::new(5, "halves").open().shuffle(&mut order);
    let mut halves = order.chunks(QUERIES / 2).map(<[u32]>::to_vec);
    let mut sorted = || {
        let mut half = halves.next().unwrap_or_default();
        half.sort_by_key(|&q| (graphs.nodes_of(q as usize).len(), q));
        half
    };
    let (train, test) = (sorted(), sorted());
    (graphs, train, test)
}

/// The first so many, as numbers in ascending order.
pub fn by_size(half: &[u32], size: usize) -> Vec<u32> {
    let mut some = half[..size].to_vec();
    some.sort_unstable();
    some
}

fn table(graphs: &QueryGraphs, train: &[u32], test: &[u32], size: usize, budget: u64) -> Vec<Row> {
    let goal = |text: &str| Goal::parse(text, &Policy::default()).expect("an objective");
    let walk = Walk::default();
    let m = Walk::parameters(graphs);
    let ball = Region::ball(m, 0.99);
    let ones = vec![1.0; m];
    let measure = Measure::parse_all("ndcg", &Policy::default()).expect("a metric");
    let lists = graphs.lists(test, false);
    let mut rows = Vec::new();
    let mut test_oracle = WalkOracle::new(graphs, test, walk, &goal(MARGIN)).expect("an oracle");
    let mut add =
        |name: &str, found: &Found, cpu: f64, points: Vec<(f64, f64)>, test_oracle: &mut WalkOracle| {
            let losses = test_oracle.losses(&found.phi, 1e-9).expect("losses").to_vec();
            let scores = test_oracle.scores(&found.phi, 1e-10).expect("scores").to_vec();
            let ndcg = evaluate(&lists, &scores, &measure).expect("ndcg").results[0].per_list.clone();
            println!(
                "{size} {name:12} train {:.6} test {:.6} ndcg {:.4} steps {} cpu {cpu:.2}",
                found.loss,
                mean(&losses),
                mean(&ndcg.iter().copied().filter(|v| !v.is_nan()).collect::<Vec<_>>()),
                found.steps
            );
            rows.push(Row {
                name: name.into(),
                size,
                train: found.loss,
                losses,
                ndcg,
                steps: found.steps,
                cpu,
                points,
            });
        };
    let mut own = WalkOracle::new(graphs, train, walk, &goal(MARGIN)).expect("an oracle");
    let untuned = Found {
        phi: ones.clone(),
        loss: own.value(&ones, 1e-9).expect("a value"),
        gradient_norm: f64::NAN,
        steps: 0,
        asked: (0, 0),
    };
    add("PR", &untuned, 0.0, Vec::new(), &mut test_oracle);
    let mut run = |name: &str,
                   every: u64,
                   test_oracle: &mut WalkOracle,
                   oracle: &mut WalkOracle,
                   method: Result<Box<dyn Method>, TrainError>| {
        let start = cpu_seconds();
        let mut follow =
            Follow { test: test_oracle, every, points: Vec::new(), train: Vec::new(), aside: 0.0 };
        let method = method.expect("valid settings");
        let found = minimise_watched(method, oracle, |trial, method| follow.step(trial, method)).expect(name);
        let (points, cpu) = (follow.points, cpu_seconds() - start - follow.aside);
        add(name, &found, cpu, points, test_oracle);
    };
    run("GBN", 1, &mut test_oracle, &mut own, Gbn::default().start(ball.clone(), &ones));
    let gfn = Gfn { steps: Some(budget), lipschitz: LIPSCHITZ, ..Gfn::default() };
    run("GFN", (budget / 100).max(1), &mut test_oracle, &mut own, gfn.start(ball.clone(), &ones));
    let mut powers = WalkOracle::new(graphs, train, Walk { solver: Solver::Power, ..walk }, &goal(MARGIN))
        .expect("an oracle")
        .with_products(100);
    for step in [50.0, 100.0, 200.0, 500.0] {
        let gbp = Gbp { step, ..Gbp::default() };
        let name = format!("GBP {step}s.");
        run(&name, 1, &mut test_oracle, &mut powers, gbp.start(ball.clone(), &ones));
    }
    let scaled = Walk { score: Score::Scaled, ..walk };
    let mut song = WalkOracle::new(graphs, train, scaled, &goal("song")).expect("an oracle");
    let adam = Adam { steps: 150, learning_rate: 0.05, ..Adam::default() };
    run("SONG by Adam", 1, &mut test_oracle, &mut song, adam.start(Region::AtLeast(1e-3), &ones));
    rows
}

/// L of GFN: about the largest Lipschitz constant that GBN finds on these graphs divided by m, so that single directions, which have
/// 1/m of the gradient, make steps of use within a budget.
pub const LIPSCHITZ: f64 = 1e-4;

fn write(folder: &Path, rows: &[Row]) {
    let test = significance::parse("t").expect("a test").remove(0).1;
    let of = |size: usize, name: &str| {
        rows.iter().find(|row| row.size == size && row.name == name).expect("a row")
    };
    let p = |a: &[f64], b: &[f64]| {
        test.run(&Pairs::new(a, b, None), 1).p.map_or(String::new(), |p| format!("{p:.2e}"))
    };
    let mut csv = String::from(
        "queries,method,train_loss,test_loss,test_ndcg,steps,cpu_seconds,p_loss_vs_PR,p_loss_vs_best_GBP,p_ndcg_vs_PR\n",
    );
    for row in rows {
        let plain = of(row.size, "PR");
        let gbp = rows
            .iter()
            .filter(|other| other.size == row.size && other.name.starts_with("GBP"))
            .min_by(|a, b| mean(&a.losses).total_cmp(&mean(&b.losses)))
            .expect("GBP");
        let used: Vec<f64> = row.ndcg.iter().copied().filter(|value| !value.is_nan()).collect();
        let _ = writeln!(
            csv,
            "{},\"{}\",{:.6},{:.6},{:.4},{},{:.2},{},{},{}",
            row.size,
            row.name,
            row.train,
            mean(&row.losses),
            mean(&used),
            row.steps,
            row.cpu,
            p(&plain.losses, &row.losses),
            p(&gbp.losses, &row.losses),
            p(&plain.ndcg, &row.ndcg)
        );
    }
    std::fs::write(folder.join("table1.csv"), &csv).expect("table1.csv");
    println!("{csv}");
    for size in [100, 200, 300] {
        let shown = rows
            .iter()
            .filter(|row| row.size == size && !row.points.is_empty() && row.name != "SONG by Adam");
        let series: Vec<Series> = shown
            .map(|row| Series {
                // Steps of GFN in hundreds: one axis for all.
                name: if row.name == "GFN" { "GFN (steps/100)".into() } else { row.name.clone() },
                points: row
                    .points
                    .iter()
                    .map(|&(x, y)| (if row.name == "GFN" { x / 100.0 } else { x }, y))
                    .filter(|point| point.0 <= 40.0)
                    .collect(),
            })
            .collect();
        let plot = curves(&format!("figure 1: loss on {size} test queries"), "step", "loss", &series);
        plot.save(&folder.join(format!("figure1-{size}.svg"))).expect("a figure");
    }
}

/// Figure 2, left: products until a certified error, untuned.
fn solvers(folder: &Path, graphs: &QueryGraphs, lists: &[u32]) {
    let ones = vec![1.0; Walk::parameters(graphs)];
    let exact = Walk::default().solve(graphs, lists, &ones, Stop::at(1e-14)).expect("a walk");
    let mut csv = String::from("solver,products,largest_true_error,largest_bound,loss_difference\n");
    let goal = Goal::parse(MARGIN, &Policy::default()).expect("an objective");
    let true_loss = WalkOracle::new(graphs, lists, Walk::default(), &goal)
        .expect("an oracle")
        .value(&ones, 1e-13)
        .expect("a loss");
    let mut series = Vec::new();
    for (name, solver) in
        [("nn", Solver::NesterovNemirovski), ("power", Solver::Power), ("seidel", Solver::Seidel)]
    {
        let walk = Walk { solver, ..Walk::default() };
        let mut points = Vec::new();
        for products in 0..=60 {
            let solved = walk.solve(graphs, lists, &ones, Stop::after(products)).expect("a walk");
            let error = (0..lists.len())
                .map(|k| {
                    let pairs = solved.distribution(k).iter().zip(exact.distribution(k));
                    pairs.map(|(a, b)| (a - b).abs()).sum::<f64>()
                })
                .fold(0.0, f64::max);
            let mut oracle =
                WalkOracle::new(graphs, lists, walk, &goal).expect("an oracle").with_products(products);
            let loss = oracle.value(&ones, 1.0).expect("a loss");
            let bound = solved.certificate().error;
            let _ = writeln!(csv, "{name},{products},{error:e},{bound:e},{:e}", (loss - true_loss).abs());
            points.push((products as f64, error.max(1e-16).log10()));
        }
        series.push(Series { name: name.into(), points });
    }
    std::fs::write(folder.join("figure2-solvers.csv"), csv).expect("a file");
    let plot = curves("figure 2: error of the worst list", "products", "log10 of the 1-norm", &series);
    plot.save(&folder.join("figure2-solvers.svg")).expect("a figure");
    for (name, solver) in
        [("nn", Solver::NesterovNemirovski), ("power", Solver::Power), ("seidel", Solver::Seidel)]
    {
        let start = Instant::now();
        let walk = Walk { solver, ..Walk::default() };
        let solved = walk.solve(graphs, lists, &ones, Stop::at(1e-8)).expect("a walk");
        println!(
            "{name}: {} products to a certain error of 1e-8 on every list, {:.1} ms",
            solved.certificate().iterations,
            start.elapsed().as_secs_f64() * 1e3
        );
    }
}

/// Figure 2, right: GFN with other constants.
fn lipschitz(folder: &Path, graphs: &QueryGraphs, lists: &[u32], budget: u64) {
    let m = Walk::parameters(graphs);
    let goal = Goal::parse(MARGIN, &Policy::default()).expect("an objective");
    let mut oracle = WalkOracle::new(graphs, lists, Walk::default(), &goal).expect("an oracle");
    let mut test_oracle = WalkOracle::new(graphs, lists, Walk::default(), &goal).expect("an oracle");
    let mut csv = String::from("L,step,train_loss\n");
    let mut series = Vec::new();
    for l in [1e-5, 1e-4, 1e-3, 1e-2] {
        let mut follow = Follow {
            test: &mut test_oracle,
            every: u64::MAX,
            points: Vec::new(),
            train: Vec::new(),
            aside: 0.0,
        };
        let gfn = Gfn { steps: Some(budget), lipschitz: l, ..Gfn::default() };
        let gfn = gfn.start(Region::ball(m, 0.99), &vec![1.0; m]).expect("gfn");
        minimise_watched(gfn, &mut oracle, |trial, method| follow.step(trial, method)).expect("gfn");
        let every = (budget as usize / 200).max(1);
        let points: Vec<(f64, f64)> = follow.train.iter().copied().step_by(every).collect();
        for (step, loss) in &points {
            let _ = writeln!(csv, "{l:e},{step},{loss:e}");
        }
        println!("GFN, L = {l:e}: {:e} after {budget} steps", points.last().map_or(f64::NAN, |p| p.1));
        series.push(Series { name: format!("L = {l:e}"), points });
    }
    std::fs::write(folder.join("figure2-lipschitz.csv"), csv).expect("a file");
    let plot = curves("figure 2: GFN on 100 training queries", "step", "loss", &series);
    plot.save(&folder.join("figure2-lipschitz.svg")).expect("a figure");
}
