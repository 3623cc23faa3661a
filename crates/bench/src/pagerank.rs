//! PageRank of generated graphs of any size, timed: reading, building, solving.
//!
//! ```sh
//! pagerank make FILE NODES EDGES tail|core SEED      an edge list: most nodes without an edge into them, or few
//! pagerank time FILE ERROR ROUNDS                    JSON: seconds of reading and solving, iterations, bytes
//! pagerank scores FILE ERROR OUT                     scores as 8-byte numbers, by node
//! pagerank gradient QUERIES                          JSON: one gradient by the adjoint and by the Jacobian, m = 78
//! pagerank growth                                    CSV: ns per edge of one matrix–vector product, 10^4 to 10^7 edges
//! ```

use std::io::Write;
use std::time::Instant;

use toprank::core::Stream;
use toprank::data::Source;
use toprank::data::graph::{EdgeOptions, Graph, GraphTables, NodeNames, QueryGraphs, read_edges};
use toprank::data::group::Interner;
use toprank::walks::{ADJOINT_ERROR, Solver, Stop, Surfer, Walk, rank};

use crate::common::{Outcome, WrongUse, cpu_seconds, words};

/// Targets of a graph: `tail` as zipf 1.6 over the nodes, `core` as an in-degree tail of 2.5 with shuffled numbers.
fn edges(nodes: usize, edges: usize, tail: bool, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let mut random = Stream::new(seed, "pagerank bench").open();
    let mut number: Vec<u32> = (0..nodes as u32).collect();
    random.shuffle(&mut number);
    // Probability of rank r ∝ r^−power, by inversion of its integral.
    let power: f64 = if tail { 1.6 } else { 1.0 / 1.5 };
    let draw = |u: f64| -> usize {
        let e = 1.0 - power;
        let n = nodes as f64;
        let x = (1.0 + u * (n.powf(e) - 1.0)).powf(1.0 / e);
        (x as usize).clamp(1, nodes) - 1
    };
    let mut sources = Vec::with_capacity(edges);
    let mut targets = Vec::with_capacity(edges);
    for _ in 0..edges {
        sources.push(random.below(nodes) as u32);
        targets.push(number[draw(random.unit())]);
    }
    // Numbers without a gap, so that every tool sees the same nodes.
    let mut is_there = vec![false; nodes];
    sources.iter().chain(&targets).for_each(|&node| is_there[node as usize] = true);
    let mut next = 0;
    for (number, is_there) in number.iter_mut().zip(is_there) {
        *number = next;
        next += u32::from(is_there);
    }
    sources.iter_mut().chain(&mut targets).for_each(|node| *node = number[*node as usize]);
    (sources, targets)
}

pub fn run(args: &[String]) -> Outcome {
    match words(args)[..] {
        ["make", file, nodes, n_edges, kind @ ("tail" | "core"), seed] => {
            let (sources, targets) = edges(nodes.parse()?, n_edges.parse()?, kind == "tail", seed.parse()?);
            let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
            for (source, target) in sources.iter().zip(&targets) {
                writeln!(out, "{source} {target}")?;
            }
            Ok(out.flush()?)
        }
        ["time", file, error, rounds] => time(file, error.parse()?, rounds.parse()?),
        ["scores", file, error, out] => {
            let graph = read_edges(&Source::path(file), &EdgeOptions::default())?.graph;
            let ranking = rank(&graph, &Surfer { stop: Stop::at(error.parse()?), ..Surfer::default() })?;
            let bytes: Vec<u8> = ranking.scores.iter().flat_map(|score| score.to_le_bytes()).collect();
            Ok(std::fs::write(out, bytes)?)
        }
        ["gradient", queries] => gradient(queries.parse()?),
        ["growth"] => growth(),
        _ => Err(WrongUse.into()),
    }
}

fn time(file: &str, error: f64, rounds: usize) -> Outcome {
    let mut lines = Vec::new();
    for _ in 0..rounds {
        let (start, start_cpu) = (Instant::now(), cpu_seconds());
        let graph = read_edges(&Source::path(file), &EdgeOptions::default())?.graph;
        let (read, read_cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - start_cpu);
        let surfer = Surfer { stop: Stop::at(error), ..Surfer::default() };
        let (solve, solve_cpu) = (Instant::now(), cpu_seconds());
        let ranking = rank(&graph, &surfer)?;
        let (solved, solved_cpu) = (solve.elapsed().as_secs_f64(), cpu_seconds() - solve_cpu);
        // One product alone: bytes of edges, of sources gathered, and of the vectors.
        let surfer =
            |products| Surfer { solver: Solver::Power, stop: Stop::after(products), ..Surfer::default() };
        let timed = |products| {
            let start = Instant::now();
            rank(&graph, &surfer(products)).expect("a ranking");
            start.elapsed().as_secs_f64()
        };
        let product = (timed(11) - timed(1)) / 10.0;
        let bytes = graph.edges() as f64 * (4.0 + 8.0) + graph.nodes() as f64 * (4.0 + 5.0 * 8.0);
        lines.push(format!(
            "{{\"nodes\": {}, \"edges\": {}, \"read_s\": {read:.4}, \"read_cpu_s\": {read_cpu:.2}, \"solve_s\": \
             {solved:.4}, \"solve_cpu_s\": {solved_cpu:.2}, \"products\": {}, \"core_edges\": {}, \"error_bound\": {:e}, \
             \"product_s\": {product:.5}, \"product_bytes_per_s\": {:.3e}}}",
            graph.nodes(),
            graph.edges(),
            ranking.iterations,
            ranking.edges,
            ranking.error_bound,
            bytes / product
        ));
    }
    println!("[{}]", lines.join(",\n"));
    Ok(())
}

/// Query graphs with 26 features of nodes and 52 of edges, and one gradient of Σ c·π.
fn gradient(queries: usize) -> Outcome {
    let mut random = Stream::new(1, "gradient bench").open();
    let mut tables = GraphTables {
        queries: Interner::default(),
        parts: vec![0],
        node_columns: (0..26).map(|f| format!("f{f}")).collect(),
        ends: Some(true),
        ..GraphTables::default()
    };
    for q in 0..queries {
        tables.queries.number(&q.to_string());
        let first = tables.node_names.len();
        for i in 0..50 {
            tables.node_names.push(&format!("{q}-{i}"));
            tables.node_values.extend((0..26).map(|_| random.unit() as f32));
        }
        for _ in 0..200 {
            tables.sources.push((first + random.below(50)) as u32);
            tables.targets.push((first + random.below(50)) as u32);
        }
        tables.parts.push(tables.node_names.len() as u32);
    }
    let graphs = QueryGraphs::build(tables)?;
    let lists: Vec<u32> = (0..queries as u32).collect();
    let m = Walk::parameters(&graphs);
    let phi = vec![1.0; m];
    let solved = Walk::default().solve(&graphs, &lists, &phi, Stop::at(1e-10))?;
    let offsets: Vec<usize> = (0..=queries).map(|q| 3 * q).collect();
    let nodes: Vec<u32> = lists.iter().flat_map(|q| [0, 1, 2].map(|i| q * 50 + i)).collect();
    let dpi: Vec<f64> = (0..nodes.len()).map(|i| [1.0, -2.0, 0.5][i % 3]).collect();
    let timed = |by_jacobian: bool| {
        let mut best = f64::INFINITY;
        let mut gradient = vec![0.0; m];
        for _ in 0..3 {
            gradient.fill(0.0);
            let start = Instant::now();
            if by_jacobian {
                // (1 − α)^N ≤ 1e-10, as the adjoint at worst.
                solved.gradient_by_jacobian(&offsets, &nodes, &dpi, 142, &mut gradient);
            } else {
                solved.gradient(&offsets, &nodes, &dpi, ADJOINT_ERROR, &mut gradient);
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        (best, gradient)
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let ((jacobian, a), (adjoint, b)) = pool.install(|| (timed(true), timed(false)));
    let apart = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    println!(
        "{{\"m\": {m}, \"jacobian_s\": {jacobian:.5}, \"adjoint_s\": {adjoint:.6}, \"times_faster\": {:.1}, \"wanted\": \
         {:.1}, \"largest_difference\": {apart:e}}}",
        jacobian / adjoint,
        m as f64 / 4.0
    );
    Ok(())
}

fn growth() -> Outcome {
    println!("edges,nodes,product_ns_per_edge,solve_ns_per_edge,products");
    let mut size = 10_000;
    while size <= 10_000_000 {
        let nodes = size / 10;
        let (sources, targets) = edges(nodes, size, false, 3);
        let graph = Graph::new(NodeNames::count(nodes), &sources, &targets, None)?;
        let timed = |solver, stop| {
            let surfer = Surfer { solver, stop, peel: false, ..Surfer::default() };
            let rounds = (2_000_000 / size).max(2);
            let start = Instant::now();
            let mut products = 0;
            for _ in 0..rounds {
                products = rank(&graph, &surfer).expect("a ranking").iterations;
            }
            (start.elapsed().as_secs_f64() / rounds as f64, products)
        };
        let product =
            (timed(Solver::Power, Stop::after(11)).0 - timed(Solver::Power, Stop::after(1)).0) / 10.0;
        let (solve, products) = timed(Solver::Seidel, Stop::at(1e-8));
        let ns = 1e9 / size as f64;
        println!("{size},{nodes},{:.3},{:.3},{products}", product * ns, solve * ns);
        size *= 10;
    }
    Ok(())
}
