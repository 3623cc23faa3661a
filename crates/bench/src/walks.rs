//! Learned walks on real graphs beside plain ones: Wikispeedia (visits and next hops of people on their way to a target
//! article) and the Wikipedia page networks of MUSAE (monthly traffic).
//!
//! The data are those of `toprank_testkit::real_data` (`TOPRANK_REAL_DATA`). Weights are learned on some targets (pages),
//! everything is evaluated on others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::Path;

use toprank::core::{Lists, Policy, Stream};
use toprank::data::Matrix;
use toprank::data::graph::{GraphTables, QueryGraphs};
use toprank::data::group::Interner;
use toprank::metrics::bootstrap::{IntervalOptions, interval};
use toprank::metrics::significance::{self, Pairs};
use toprank::metrics::{Measure, evaluate};
use toprank::objectives::Goal;
use toprank::train::walk::full_batch::{Adam, Gbn, Method, Region, Trial, WalkOracle, minimise};
use toprank::walks::{Score, Stop, Surfer, Walk, rank};

use crate::common::{Outcome, minimise_watched, real_text};

/// One ranking of all lists.
struct Ranked {
    name: &'static str,
    scores: Vec<f64>,
}

/// Rows: data, task, ranking, metric, value, interval, p against plain PageRank.
fn add_rows(
    csv: &mut String,
    data: &str,
    task: &str,
    lists: &Lists,
    metrics: &str,
    runs: &[Ranked],
    base: &str,
) {
    let measures = Measure::parse_all(metrics, &Policy::default()).expect("metrics");
    let results: Vec<_> = runs
        .iter()
        .map(|run| evaluate(lists, &run.scores, &measures).expect("an evaluation").results)
        .collect();
    let at = runs.iter().position(|run| run.name == base).expect("a base");
    let test = significance::parse("t").expect("a test").remove(0).1;
    for (m, measure) in measures.iter().enumerate() {
        for (run, result) in runs.iter().zip(&results) {
            let bounds = interval(&result[m].per_list, None, &IntervalOptions::default());
            let pairs = Pairs::new(&results[at][m].per_list, &result[m].per_list, None);
            let p = test
                .run(&pairs, 1)
                .p
                .filter(|_| run.name != base)
                .map_or(String::new(), |p| format!("{p:.1e}"));
            let line = format!(
                "{data},{task},{},{},{:.4},{:.4},{:.4},{},{p}",
                run.name,
                measure.name(),
                result[m].mean.unwrap_or(f64::NAN),
                bounds.low,
                bounds.high,
                result[m].counts.used
            );
            println!("{line}");
            let _ = writeln!(csv, "{line}");
        }
    }
}

/// Divides features by their largest value, as the command does.
fn scaled(mut graphs: QueryGraphs) -> QueryGraphs {
    let (nodes, own) = graphs.largest();
    graphs.divide(&nodes, &own);
    graphs
}

/// φ by the margin loss and GBN, and by SONG and Adam.
fn learn(graphs: &QueryGraphs, train: &[u32], margin: &str) -> [Vec<f64>; 2] {
    let goal = |text: &str| Goal::parse(text, &Policy::default()).expect("an objective");
    let m = Walk::parameters(graphs);
    let ones = vec![1.0; m];
    let mut oracle = WalkOracle::new(graphs, train, Walk::default(), &goal(margin)).expect("an oracle");
    let gbn = Gbn { steps: 60, ..Gbn::default() }.start(Region::ball(m, 0.99), &ones).expect("gbn");
    let by_gbn = minimise(gbn, &mut oracle).expect("gbn");
    let walk = Walk { score: Score::Log, ..Walk::default() };
    let mut oracle = WalkOracle::new(graphs, train, walk, &goal("song")).expect("an oracle");
    let adam = Adam { learning_rate: 0.1, steps: 150, ..Adam::default() };
    let adam = adam.start(Region::AtLeast(1e-4), &ones).expect("adam");
    let by_song = minimise(adam, &mut oracle).expect("adam");
    println!(
        "  margin {:e} in {} steps, song {:.4} in {} steps",
        by_gbn.loss, by_gbn.steps, by_song.loss, by_song.steps
    );
    [by_gbn.phi, by_song.phi]
}

/// Keeps the point that ranks the lists of validation best.
struct Best<'a> {
    graphs: &'a QueryGraphs,
    valid: &'a [u32],
    value: f64,
    phi: Vec<f64>,
    what: String,
    now: String,
}

impl Best<'_> {
    fn consider(&mut self, phi: &[f64]) {
        let measures = Measure::parse_all("ndcg@10", &Policy::default()).expect("a metric");
        let lists = self.graphs.lists(self.valid, false);
        let results = evaluate(&lists, &scores(self.graphs, self.valid, phi), &measures).expect("a value");
        let value = results.results[0].mean.unwrap_or(0.0);
        if value > self.value {
            (self.value, self.phi, self.what) = (value, phi.to_vec(), self.now.clone());
        }
    }
}

/// φ chosen by NDCG@10 on a fifth of the training lists: start (all features alike, or plain PageRank), objective, step.
fn chosen(graphs: &QueryGraphs, train: &[u32]) -> Vec<f64> {
    let (valid, rest): (Vec<u32>, Vec<u32>) = train.iter().partition(|&&list| list % 5 == 0);
    let plain: Vec<f64> = plain_phi(graphs).iter().map(|phi| phi.max(1e-3)).collect();
    let (value, what, now) = (-1.0, String::new(), String::new());
    let mut best = Best { graphs, valid: &valid, value, phi: Vec::new(), what, now };
    for (name, start) in [("plain", plain), ("alike", vec![1.0; Walk::parameters(graphs)])] {
        best.now = format!("{name} start");
        best.consider(&start);
        for objective in ["song", "lambdarank", "xe-ndcg"] {
            let goal = Goal::parse(objective, &Policy::default()).expect("an objective");
            let walk = Walk { score: Score::Log, ..Walk::default() };
            let mut oracle = WalkOracle::new(graphs, &rest, walk, &goal).expect("an oracle");
            best.now = format!("{objective} from {name}");
            let adam = Adam { learning_rate: 0.05, steps: 150, ..Adam::default() };
            let adam = adam.start(Region::AtLeast(1e-4), &start).expect("adam");
            let consider = |_: &Trial, method: &dyn Method| {
                if method.found().steps.is_multiple_of(10) {
                    best.consider(method.phi());
                }
            };
            minimise_watched(adam, &mut oracle, consider).expect("adam");
        }
    }
    println!("  chosen: {}, ndcg@10 {:.4} on the lists of validation", best.what, best.value);
    best.phi
}

fn scores(graphs: &QueryGraphs, which: &[u32], phi: &[f64]) -> Vec<f64> {
    let solved = Walk::default().solve(graphs, which, phi, Stop::at(1e-10)).expect("a walk");
    let lists = graphs.lists(which, false);
    let of = |k: usize| {
        let (lists, solved) = (&lists, &solved);
        lists
            .range(k)
            .map(move |entry| solved.score(k, graphs.of_row(lists.row(entry) as u32).1))
            .collect::<Vec<_>>()
    };
    (0..which.len()).flat_map(of).collect()
}

/// Something of the judged nodes, in the order of [`scores`].
fn of_nodes(graphs: &QueryGraphs, which: &[u32], value: impl Fn(usize) -> f64) -> Vec<f64> {
    let lists = graphs.lists(which, false);
    (0..lists.entries()).map(|entry| value(graphs.of_row(lists.row(entry) as u32).1 as usize)).collect()
}

pub fn run(args: &[String]) -> Outcome {
    let folder = Path::new(args.first().map_or("bench/walks", String::as_str));
    std::fs::create_dir_all(folder)?;
    let mut csv = String::from("data,task,ranking,metric,value,low,high,lists,p_vs_PageRank\n");
    wikispeedia(&mut csv)?;
    for (name, nouns) in [("chameleon", true), ("crocodile", false)] {
        for known in [false, true] {
            musae(&mut csv, name, nouns, known)?;
        }
    }
    Ok(std::fs::write(folder.join("real.csv"), csv)?)
}

/// Grades by powers of two: 0, 1, 2–3, 4–7, … visits.
fn grade(visits: f64) -> f32 {
    (visits + 1.0).log2().floor().min(6.0) as f32
}

struct Wiki {
    articles: Interner,
    links: Vec<Vec<usize>>,
    into: Vec<f64>,
    categories: Vec<BTreeSet<String>>,
    games: Vec<Vec<usize>>,
}

fn read_wiki() -> Outcome<Wiki> {
    let mut articles = Interner::default();
    let lines = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(String::from).collect()
    };
    for line in lines(&real_text("graph/wikispeedia/articles.tsv.gz")?) {
        articles.number(&line);
    }
    let n = articles.len();
    let mut links = vec![Vec::new(); n];
    let mut into = vec![0.0; n];
    let article = |name: &str| {
        articles.find(name).map(|at| at as usize).ok_or_else(|| format!("{name} is not among the articles"))
    };
    let halves = |line: &str| -> Outcome<(String, String)> {
        let (left, right) =
            line.split_once('\t').ok_or_else(|| format!("found {line:?}, expected two columns"))?;
        Ok((left.to_string(), right.to_string()))
    };
    for line in lines(&real_text("graph/wikispeedia/links.tsv.gz")?) {
        let (from, to) = halves(&line)?;
        let (from, to) = (article(&from)?, article(&to)?);
        links[from].push(to);
        into[to] += 1.0;
    }
    let mut categories = vec![BTreeSet::new(); n];
    for line in lines(&real_text("graph/wikispeedia/categories.tsv.gz")?) {
        let (name, category) = halves(&line)?;
        let article = article(&name)?;
        // Every prefix: subject.History, subject.History.British_History, …
        let parts: Vec<&str> = category.split('.').collect();
        for depth in 2..=parts.len() {
            categories[article].insert(parts[..depth].join("."));
        }
    }
    let mut games = Vec::new();
    for line in lines(&real_text("graph/wikispeedia/paths_finished.rebuilt.txt.gz")?) {
        let game: Option<Vec<usize>> =
            line.split(';').map(|name| articles.find(name).map(|article| article as usize)).collect();
        games.extend(game.filter(|game| game.len() > 2));
    }
    Ok(Wiki { articles, links, into, categories, games })
}

const NODE_COLUMNS: [&str; 6] =
    ["one", "links in", "clicks", "links to target", "near target", "same subject"];
const EDGE_COLUMNS: [&str; 3] = ["one", "clicks", "clicks share"];

/// One graph per target with 30 games or more: the articles on the way, the links between them, features that know the
/// target. Clicks and visits are those of games to training targets only.
fn wikispeedia(csv: &mut String) -> Outcome {
    let wiki = read_wiki()?;
    let mut by_target: BTreeMap<usize, Vec<&Vec<usize>>> = BTreeMap::new();
    for game in &wiki.games {
        by_target.entry(game[game.len() - 1]).or_default().push(game);
    }
    by_target.retain(|_, games| games.len() >= 30);
    let mut targets: Vec<usize> = by_target.keys().copied().collect();
    Stream::new(1, "targets").open().shuffle(&mut targets);
    let half = targets.len() / 2;
    let training: BTreeSet<usize> = targets[..half].iter().copied().collect();
    let mut visits: Vec<f64> = vec![0.0; wiki.articles.len()];
    let mut clicks: HashMap<(usize, usize), f64> = HashMap::new();
    for game in wiki.games.iter().filter(|game| training.contains(&game[game.len() - 1])) {
        for pair in game.windows(2) {
            visits[pair[0]] += 1.0;
            *clicks.entry((pair[0], pair[1])).or_insert(0.0) += 1.0;
        }
    }
    let mut tables = GraphTables {
        queries: Interner::default(),
        parts: vec![0],
        labels: Some(Vec::new()),
        node_columns: NODE_COLUMNS.map(String::from).to_vec(),
        edge_columns: EDGE_COLUMNS.map(String::from).to_vec(),
        ends: Some(true),
        ..GraphTables::default()
    };
    let linked: Vec<BTreeSet<usize>> =
        wiki.links.iter().map(|links| links.iter().copied().collect()).collect();
    let mut article_of_node = Vec::new();
    for &target in &targets {
        tables.queries.number(wiki.articles.names().get(target));
        let mut seen: BTreeMap<usize, f64> = BTreeMap::new();
        for game in &by_target[&target] {
            // Start and target are given to the player, not chosen.
            for &article in &game[1..game.len() - 1] {
                *seen.entry(article).or_insert(0.0) += 1.0;
            }
        }
        let first = tables.node_names.len();
        let place: HashMap<usize, usize> =
            seen.keys().enumerate().map(|(i, &article)| (article, first + i)).collect();
        for (&article, &count) in &seen {
            tables.node_names.push(wiki.articles.names().get(article));
            tables.labels.as_mut().expect("there").push(grade(count));
            let near = linked[article].iter().filter(|next| linked[**next].contains(&target)).count() as f64
                / linked[article].len().max(1) as f64;
            let both = wiki.categories[article].intersection(&wiki.categories[target]).count() as f64;
            let own = f64::from(u8::from(linked[article].contains(&target)));
            let row = [1.0, (1.0 + wiki.into[article]).ln(), (1.0 + visits[article]).ln(), own, near, both];
            tables.node_values.extend(row.map(|value| value as f32));
            article_of_node.push(article);
        }
        for &article in seen.keys() {
            for &next in linked[article].iter().filter(|next| place.contains_key(next)) {
                tables.sources.push(place[&article] as u32);
                tables.targets.push(place[&next] as u32);
                let count = clicks.get(&(article, next)).copied().unwrap_or(0.0);
                let row = [1.0, (1.0 + count).ln(), count / (1.0 + visits[article])];
                tables.edge_values.extend(row.map(|value| value as f32));
            }
        }
        tables.parts.push(tables.node_names.len() as u32);
    }
    let graphs = scaled(QueryGraphs::build(tables).expect("graphs"));
    println!(
        "wikispeedia: {} targets, {} nodes, {} links, {} games",
        graphs.len(),
        graphs.graph.nodes(),
        graphs.graph.edges(),
        wiki.games.len()
    );
    let train: Vec<u32> = (0..half as u32).collect();
    let test: Vec<u32> = (half as u32..targets.len() as u32).collect();
    let [margin, song] = learn(&graphs, &train, "margin:b=0.01");
    for (names, phi) in [("margin", &margin), ("song", &song)] {
        let all = NODE_COLUMNS.iter().map(|name| format!("restart {name}")).chain(graphs.edge_names());
        let shown: Vec<String> = all.zip(phi).map(|(name, phi)| format!("{name} {phi:.2}")).collect();
        println!("  {names}: {}", shown.join(", "));
    }
    let ones = plain_phi(&graphs);
    let runs = [
        Ranked { name: "PageRank", scores: scores(&graphs, &test, &ones) },
        Ranked { name: "in-degree", scores: of_nodes(&graphs, &test, |i| wiki.into[article_of_node[i]]) },
        Ranked { name: "click counts", scores: of_nodes(&graphs, &test, |i| visits[article_of_node[i]]) },
        Ranked { name: "untuned walk", scores: scores(&graphs, &test, &vec![1.0; ones.len()]) },
        Ranked { name: "learned by margin", scores: scores(&graphs, &test, &margin) },
        Ranked { name: "learned by song", scores: scores(&graphs, &test, &song) },
    ];
    add_rows(csv, "wikispeedia", "visits", &graphs.lists(&test, false), "ndcg@10,kendall", &runs, "PageRank");
    next_hop(
        csv,
        &wiki,
        &graphs,
        &test,
        &by_target,
        &targets,
        (&clicks, &visits),
        (&margin, &song),
        &article_of_node,
    );
    Ok(())
}

/// Weights under which the walk is plain PageRank: the constant features alone.
fn plain_phi(graphs: &QueryGraphs) -> Vec<f64> {
    let mut phi = vec![0.0; Walk::parameters(graphs)];
    phi[0] = 1.0;
    phi[graphs.node_width()] = 1.0;
    phi
}

/// From an article on the way to a target: which link next? Lists are (target, article) with 5 clicks or more.
#[allow(clippy::too_many_arguments, reason = "the last step looks at all that came before")]
fn next_hop(
    csv: &mut String,
    wiki: &Wiki,
    graphs: &QueryGraphs,
    test: &[u32],
    by_target: &BTreeMap<usize, Vec<&Vec<usize>>>,
    targets: &[usize],
    (clicks, visits): (&HashMap<(usize, usize), f64>, &[f64]),
    (margin, song): (&[f64], &[f64]),
    article_of_node: &[usize],
) {
    let plain = Walk::default().solve(graphs, test, &plain_phi(graphs), Stop::at(1e-10)).expect("a walk");
    let (mut lengths, mut labels) = (Vec::new(), Vec::new());
    let mut columns: [Vec<f64>; 5] = Default::default();
    let out = graphs.graph.outward();
    for (k, &q) in test.iter().enumerate() {
        let mut hops: HashMap<(usize, usize), f64> = HashMap::new();
        for game in &by_target[&targets[q as usize]] {
            for pair in game.windows(2) {
                *hops.entry((pair[0], pair[1])).or_insert(0.0) += 1.0;
            }
        }
        let nodes = graphs.nodes_of(q as usize);
        for i in nodes.clone() {
            let article = article_of_node[i];
            let edges = out.targets.range(i);
            let count = |at: usize| {
                let next = article_of_node[out.targets.end(at) as usize];
                hops.get(&(article, next)).copied().unwrap_or(0.0)
            };
            if edges.len() < 3 || edges.clone().map(count).sum::<f64>() < 5.0 {
                continue;
            }
            lengths.push(edges.len());
            for at in edges {
                let j = out.targets.end(at) as usize;
                let next = article_of_node[j];
                labels.push(count(at).min(31.0) as f32);
                columns[0].push(plain.distribution(k)[j - nodes.start]);
                columns[1].push(wiki.into[next]);
                columns[2].push(clicks.get(&(article, next)).copied().unwrap_or(0.0) + 1e-6 * visits[next]);
                for (column, phi) in [(3, margin), (4, song)] {
                    columns[column].push(weight(graphs, phi, i, j, out.places[at] as usize));
                }
            }
        }
    }
    let lists = Lists::from_lengths(&lengths, labels);
    let names = ["PageRank", "in-degree", "click counts", "learned by margin", "learned by song"];
    let runs: Vec<Ranked> = names.iter().zip(columns).map(|(name, scores)| Ranked { name, scores }).collect();
    add_rows(csv, "wikispeedia", "next hop", &lists, "ndcg@10:gain=linear,kendall", &runs, "PageRank");
}

/// ⟨φ2, E_ij⟩.
fn weight(graphs: &QueryGraphs, phi: &[f64], i: usize, j: usize, edge: usize) -> f64 {
    let m = graphs.node_width();
    let own = graphs.edge_features.own.width();
    let dot = |phi: &[f64], matrix: &Matrix, row: usize| -> f64 {
        phi.iter().enumerate().map(|(f, phi)| phi * f64::from(matrix.get(row, f))).sum()
    };
    let rest = &phi[m..];
    dot(&rest[..own], &graphs.edge_features.own, edge)
        + dot(&rest[own..own + m], &graphs.node_features, i)
        + dot(&rest[own + m..], &graphs.node_features, j)
}

/// Pages of one topic and their traffic: one graph, lists of 50 pages (train) and 50 others (test).
/// `known`: features say what traffic the linked pages of the training half have (never the page's own).
fn musae(csv: &mut String, name: &str, nouns: bool, known: bool) -> Outcome {
    let edges = real_text(&format!("graph/musae/{name}_edges.csv.gz"))?;
    let traffic = real_text(&format!("graph/musae/{name}_target.csv.gz"))?;
    let pair = |line: &str| -> Option<(usize, f64)> {
        let (a, b) = line.split_once(',')?;
        Some((a.trim().parse().ok()?, b.trim().parse().ok()?))
    };
    let traffic: BTreeMap<usize, f64> = traffic.lines().filter_map(pair).collect();
    let n = traffic.keys().max().map_or(0, |last| last + 1);
    let mut neighbours = vec![BTreeSet::new(); n];
    for (a, b) in edges.lines().filter_map(pair).map(|(a, b)| (a, b as usize)) {
        // Mutual links: both ways.
        neighbours[a].insert(b);
        neighbours[b].insert(a);
    }
    let mut order: Vec<usize> = traffic.keys().copied().collect();
    Stream::new(2, "pages").open().shuffle(&mut order);
    let half = order.len() / 2;
    let train: BTreeSet<usize> = order[..half].iter().copied().collect();
    let degree: Vec<f64> = neighbours.iter().map(|links| links.len() as f64).collect();
    let of_neighbours = |i: usize, value: &dyn Fn(usize) -> f64| -> f64 {
        neighbours[i].iter().map(|&j| value(j)).sum::<f64>() / degree[i].max(1.0)
    };
    let triangles = |i: usize| -> f64 {
        let shared: usize =
            neighbours[i].iter().map(|&j| neighbours[i].intersection(&neighbours[j]).count()).sum();
        shared as f64 / (degree[i] * (degree[i] - 1.0)).max(1.0)
    };
    let mut columns: Vec<String> =
        ["one", "links", "links of neighbours", "few links", "triangles"].map(String::from).to_vec();
    let mut rows: Vec<Vec<f32>> = (0..n)
        .map(|i| {
            let links = (1.0 + degree[i]).ln();
            let around = (1.0 + of_neighbours(i, &|j| degree[j])).ln();
            [1.0, links, around, 1.0 / (1.0 + degree[i]), triangles(i)].map(|value| value as f32).to_vec()
        })
        .collect();
    if known {
        columns.extend(["traffic of linked pages", "most traffic of a linked page"].map(String::from));
        for (i, row) in rows.iter_mut().enumerate() {
            let of = |j: &usize| (1.0 + traffic[j]).ln();
            let logs: Vec<f64> =
                neighbours[i].iter().filter(|&j| *j != i && train.contains(j)).map(of).collect();
            let mean = logs.iter().sum::<f64>() / (logs.len() as f64).max(1.0);
            row.extend([mean as f32, logs.iter().copied().fold(0.0, f64::max) as f32]);
        }
    }
    if nouns {
        let json = real_text(&format!("graph/musae/{name}.features.json.gz"))?;
        add_nouns(&serde_json::from_str(&json)?, &train, &traffic, &mut columns, &mut rows);
    }
    let mut tables = GraphTables {
        shared: true,
        parts: vec![0, n as u32],
        node_names: (0..n).map(|i| i.to_string()).collect(),
        node_columns: columns,
        node_values: rows.concat(),
        edge_columns: vec!["one".into()],
        ends: Some(true),
        ..GraphTables::default()
    };
    for (i, links) in neighbours.iter().enumerate() {
        for &j in links {
            tables.sources.push(i as u32);
            tables.targets.push(j as u32);
            tables.edge_values.push(1.0);
        }
    }
    let mut graphs = scaled(QueryGraphs::build(tables).expect("a graph"));
    // Grades by quarters of the logarithm of traffic.
    let logs: Vec<f64> = traffic.values().map(|value| (1.0 + value).ln()).collect();
    let (low, high) = logs.iter().fold((f64::MAX, f64::MIN), |(low, high), &x| (low.min(x), high.max(x)));
    let grade =
        |page: usize| (5.0 * ((1.0 + traffic[&page]).ln() - low) / (high - low)).floor().min(4.0) as f32;
    let mut lists: Vec<Vec<usize>> = order[..half].chunks(50).map(<[usize]>::to_vec).collect();
    let trained = lists.len() as u32;
    lists.extend(order[half..].chunks(50).filter(|chunk| chunk.len() == 50).map(<[usize]>::to_vec));
    graphs.set_lists(
        &lists.iter().enumerate().map(|(q, _)| format!("{q}")).collect::<Vec<_>>(),
        &lists
            .iter()
            .map(|pages| {
                let mut pages: Vec<(u32, f32)> =
                    pages.iter().map(|&page| (page as u32, grade(page))).collect();
                pages.sort_unstable_by_key(|page| page.0);
                pages
            })
            .collect::<Vec<_>>(),
    );
    println!(
        "{name}: {n} pages, {} links, {} features, {} lists",
        graphs.graph.edges(),
        graphs.node_width(),
        lists.len()
    );
    let train: Vec<u32> = (0..trained).collect();
    let test: Vec<u32> = (trained..lists.len() as u32).collect();
    let [margin, song] = learn(&graphs, &train, "margin:b=0.0005");
    let validated = chosen(&graphs, &train);
    let plain = rank(&graphs.graph, &Surfer::default()).expect("a ranking").scores;
    let runs = [
        Ranked { name: "PageRank", scores: of_nodes(&graphs, &test, |i| plain[i]) },
        Ranked { name: "in-degree", scores: of_nodes(&graphs, &test, |i| degree[i]) },
        Ranked { name: "untuned walk", scores: scores(&graphs, &test, &vec![1.0; margin.len()]) },
        Ranked { name: "learned by margin", scores: scores(&graphs, &test, &margin) },
        Ranked { name: "learned by song", scores: scores(&graphs, &test, &song) },
        Ranked { name: "learned (chosen on validation)", scores: scores(&graphs, &test, &validated) },
    ];
    let task = if known { "traffic with that of linked pages" } else { "traffic" };
    add_rows(csv, name, task, &graphs.lists(&test, false), "ndcg@10,kendall", &runs, "PageRank");
    Ok(())
}

/// The nouns of 40 pages or more whose training pages have the most traffic, and those with the least: 60 columns.
fn add_nouns(
    nouns: &HashMap<String, Vec<u32>>,
    train: &BTreeSet<usize>,
    traffic: &BTreeMap<usize, f64>,
    columns: &mut Vec<String>,
    rows: &mut [Vec<f32>],
) {
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for (page, words) in nouns {
        let Ok(page) = page.parse::<usize>() else { continue };
        if train.contains(&page) {
            for &word in words {
                let sum = sums.entry(word).or_insert((0.0, 0.0));
                sum.0 += (1.0 + traffic[&page]).ln();
                sum.1 += 1.0;
            }
        }
    }
    let mut words: Vec<(u32, f64)> =
        sums.iter().filter(|(_, sum)| sum.1 >= 40.0).map(|(&word, sum)| (word, sum.0 / sum.1)).collect();
    words.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let chosen: Vec<u32> =
        words.iter().take(30).chain(words.iter().rev().take(30)).map(|word| word.0).collect();
    columns.extend(chosen.iter().map(|word| format!("noun {word}")));
    for (page, row) in rows.iter_mut().enumerate() {
        let own: BTreeSet<u32> = nouns.get(&page.to_string()).into_iter().flatten().copied().collect();
        row.extend(chosen.iter().map(|word| f32::from(u8::from(own.contains(word)))));
    }
}
