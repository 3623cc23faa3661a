use proptest::prelude::*;
use toprank_core::Features;

use super::*;
use crate::dataset::Matrix;
use crate::source::Source;

fn edges(name: &str, text: &str, options: &EdgeOptions) -> Result<Graph, ReadError> {
    read_edges(&Source::bytes(name, text.as_bytes()), options).map(|read| read.graph)
}

/// (source, target) by name, sorted.
fn pairs(graph: &Graph) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for target in 0..graph.nodes() {
        for source in graph.inward().of(target) {
            pairs.push((graph.names().get(source as usize).into(), graph.names().get(target).into()));
        }
    }
    pairs.sort();
    pairs
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
}

#[test]
fn every_spelling_of_an_edge_list_gives_the_same_graph() {
    let expected = owned(&[("1", "2"), ("1", "3"), ("3", "2")]);
    for (name, text) in [
        ("a.txt", "1 2\n1 3\n3 2\n"),
        ("a.txt", "# SNAP\n1\t2\n\n1\t3\r\n3\t2"),
        ("out.konect", "% asym unweighted\n% 3 3 3\n1 2\n1 3\n3 2\n"),
        ("a.txt", "1  2\n 1 3\n3   2 0.5\n"),
        ("a.csv", "source,target\n1,2\n1,3\n3,2\n"),
        ("a.csv", "1,2\n1,3\n3,2\n"),
        ("a.csv", "\u{feff}a;b\n1;2\n1;3\n3;2\n"),
        ("a.csv", "id1,id2,w\n\"1\",2,0.5\n1,\"3\",1\n3,2,7\n"),
        ("a.tsv", "from\tto\n1\t2\n1\t3\n3\t2\n"),
    ] {
        let graph = edges(name, text, &EdgeOptions::default()).unwrap();
        assert_eq!(pairs(&graph), expected, "{text:?}");
    }
}

#[test]
fn a_first_line_is_a_header_only_if_stated_or_unmistakable_and_it_is_said() {
    let [auto, yes, no] = [None, Some(true), Some(false)];
    let below = [("a", "b"), ("b", "c")];
    for (text, stated, header, possible, expected) in [
        // Usual names of columns, whatever their case.
        ("source,target\na,b\nb,c\n", auto, Some("source,target"), None, &below[..]),
        ("From_Node_ID\tToNodeId\na\tb\nb\tc\n", auto, Some("From_Node_ID\\tToNodeId"), None, &below),
        ("source,target\nsource,b\n", auto, None, None, &[("source", "b"), ("source", "target")]),
        ("source,target\na,b\nb,c\n", no, None, None, &[("a", "b"), ("b", "c"), ("source", "target")]),
        // Strings above numbers only, of any length.
        ("page link\n1 2\n1 4294967296\n", auto, Some("page link"), None, &[("1", "2"), ("1", "4294967296")]),
        ("page link\n1 2\n1 x\n", auto, None, None, &[("1", "2"), ("1", "x"), ("page", "link")]),
        ("page link\n1 2\n", no, None, None, &[("1", "2"), ("page", "link")]),
        // Other strings above strings are an edge, and the doubt is told.
        ("page,links_to\na,b\nb,c\n", yes, Some("page,links_to"), None, &below),
        ("page,links_to\na,b\n", auto, None, Some("page,links_to"), &[("a", "b"), ("page", "links_to")]),
        ("a,b\nb,c\n", auto, None, None, &below),
        ("a b\nc d\n", auto, None, None, &[("a", "b"), ("c", "d")]),
        // Numbers are never names of columns.
        ("4294967295 5\n1 2\n", auto, None, None, &[("1", "2"), ("4294967295", "5")]),
        (
            "123456789012345678901234567890 007\n1 2\n",
            auto,
            None,
            None,
            &[("1", "2"), ("123456789012345678901234567890", "007")],
        ),
        ("x 5\n1 2\n", auto, None, None, &[("1", "2"), ("x", "5")]),
    ] {
        let options = EdgeOptions { header: stated, ..EdgeOptions::default() };
        let read = read_edges(&Source::bytes("a.csv", text.as_bytes()), &options).unwrap();
        assert_eq!(pairs(&read.graph), owned(expected), "{text:?}");
        assert_eq!(read.header.as_deref(), header, "{text:?}");
        assert_eq!(read.possible_header.as_deref(), possible, "{text:?}");
    }
}

#[test]
fn what_is_not_text_is_no_edge_list() {
    for bytes in [&b"\0\0\0\0"[..], b"1 2\n3 \x01\n", b"{\"a\":1}  \0\0\n1 2\n", b"\x89PNG\r\n\x1a\n 1 2\n"] {
        let error = read_edges(&Source::bytes("m.toprank", bytes), &EdgeOptions::default()).unwrap_err();
        assert!(error.to_string().starts_with("m.toprank: a file that is not text"), "{error}");
    }
    let late = "a b\n".repeat(40_000) + "c \0\n";
    let error = edges("a.txt", &late, &EdgeOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("a.txt:40001: bytes that are not text"), "{error}");
}

#[test]
fn comments_are_skipped_only_where_the_format_has_them_and_are_counted() {
    for (name, text, comments, expected) in [
        // Before the first edge: SNAP's # and KONECT's %, but no name that starts with %.
        ("a.txt", "# SNAP\n#x y\n\n%41 b\n", 2, &[("%41", "b")][..]),
        ("a.tsv", "# SNAP\n\n%41\tb\nb\t%41\n", 1, &[("%41", "b"), ("b", "%41")]),
        ("out.k", "% bip\n%\n1 2\n% 3\n", 2, &[("%", "3"), ("1", "2")]),
        // Further down: # and a blank, where columns are separated by blanks or tabs and have no names.
        ("a.txt", "1 2\n# half\n#3 4\n%5 6\n#\n", 2, &[("#3", "4"), ("%5", "6"), ("1", "2")]),
        ("a.txt", "1\t2\n# half\n#3\t4\n", 1, &[("#3", "4"), ("1", "2")]),
        // A table with a header has no comments below it.
        ("a.csv", "source,target\n#rust,#go\n# c,#go\n", 0, &[("# c", "#go"), ("#rust", "#go")]),
        ("a.tsv", "source\ttarget\n#rust\t#go\n", 0, &[("#rust", "#go")]),
        ("a.csv", "# tags\nsource,target\n#rust,#go\n", 1, &[("#rust", "#go")]),
    ] {
        let read = read_edges(&Source::bytes(name, text.as_bytes()), &EdgeOptions::default()).unwrap();
        assert_eq!(pairs(&read.graph), owned(expected), "{text:?}");
        assert_eq!(read.comment_lines, comments, "{text:?}");
    }
    let error = edges("a.mtx", "%%MatrixMarket matrix coordinate\n3 3 1\n1 2\n", &EdgeOptions::default())
        .unwrap_err();
    assert!(error.to_string().contains("a Matrix Market file; expected an edge list"), "{error}");
}

#[test]
fn comments_longer_than_a_piece_are_skipped_and_lines_counted_on() {
    let text = "# what this is\n".repeat(1 << 20) + "1 2\n2 3\n";
    let read = read_edges(&Source::bytes("a.txt", text.as_bytes()), &EdgeOptions::default()).unwrap();
    assert_eq!((read.comment_lines, read.graph.edges()), (1 << 20, 2));
    let bad = edges("a.txt", &(text + "4\n"), &EdgeOptions::default()).unwrap_err();
    assert_eq!(bad.line(), Some((1 << 20) + 3));
}

#[test]
fn columns_are_taken_by_name_or_number_and_edges_may_go_both_ways() {
    let text = "w,to,from\n0.5,b,a\n2,c,a\n";
    let by_name = EdgeOptions {
        source: Some("from".into()),
        target: Some("to".into()),
        weight: Some("w".into()),
        ..EdgeOptions::default()
    };
    let graph = edges("a.csv", text, &by_name).unwrap();
    assert_eq!(pairs(&graph), owned(&[("a", "b"), ("a", "c")]));
    assert_eq!(graph.weights().map(<[f32]>::len), Some(2));
    let place = graph.inward().range(graph.names().find("c").unwrap() as usize).start;
    assert_eq!(graph.weights().unwrap()[place], 2.0);
    let by_number = EdgeOptions {
        source: Some("3".into()),
        target: Some("2".into()),
        weight: Some("1".into()),
        ..by_name
    };
    let both = EdgeOptions { undirected: true, ..by_number };
    let graph = edges("a.txt", "1 7 7\n1 8 9\n", &both).unwrap();
    assert_eq!(pairs(&graph), owned(&[("7", "7"), ("8", "9"), ("9", "8")]));
}

#[test]
fn numbers_and_words_may_mix_and_far_numbers_cost_nothing() {
    let graph = edges("a.txt", "1 2\n2 x\n4000000000 1\n", &EdgeOptions::default()).unwrap();
    assert_eq!(pairs(&graph), owned(&[("1", "2"), ("2", "x"), ("4000000000", "1")]));
    let far = edges("a.txt", "4000000000 7\n7 3999999999\n", &EdgeOptions::default()).unwrap();
    assert_eq!(far.nodes(), 3);
    assert_eq!(pairs(&far), owned(&[("4000000000", "7"), ("7", "3999999999")]));
    assert_eq!(far.names().find("3999999999"), Some(1));
}

#[test]
fn numbers_that_are_not_written_as_we_would_stay_words() {
    let graph = edges("a.txt", "01 1\n+1 1\n", &EdgeOptions::default()).unwrap();
    assert_eq!(graph.nodes(), 3);
}

#[test]
fn bad_edge_lists_name_the_line_and_what_is_wrong() {
    let weighted = EdgeOptions { weight: Some("3".into()), ..EdgeOptions::default() };
    for (text, options, line, words) in [
        ("1 2\n3\n", EdgeOptions::default(), Some(2), "1 fields in \"3\""),
        ("# c\n1,2\n3,\n", EdgeOptions::default(), Some(3), "a source and a target on every line"),
        ("1 2 x\n", weighted.clone(), Some(1), "the weight \"x\""),
        ("1 2 -1\n", weighted.clone(), Some(1), "a finite number from 0 on"),
        ("1 2\n", weighted, Some(1), "the weight \"\""),
        ("\n# nothing\n", EdgeOptions::default(), None, "no edge"),
        (
            "a,b\n1,2\n",
            EdgeOptions { source: Some("c".into()), ..EdgeOptions::default() },
            None,
            "no column c",
        ),
    ] {
        let error = edges("e.csv", text, &options).unwrap_err();
        assert_eq!(error.line(), line, "{text:?}: {error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn pieces_of_a_long_list_join_without_a_seam() {
    let mut text = String::from("# head\n");
    for edge in 0..200_000u32 {
        text += &format!("{} {}\n", edge % 977, (edge * 31) % 1009);
    }
    let graph = edges("a.txt", &text, &EdgeOptions::default()).unwrap();
    assert_eq!((graph.nodes(), graph.edges()), (1009, 200_000));
    let degree: u32 = graph.out_degree().iter().sum();
    assert_eq!(degree, 200_000);
    // A word in the very last line turns all of it into words, the same graph.
    let words = edges("a.txt", &(text.clone() + "x 0\n"), &EdgeOptions::default()).unwrap();
    assert_eq!((words.nodes(), words.edges()), (1010, 200_001));
    let bad = edges("a.txt", &(text + "0\n"), &EdgeOptions::default()).unwrap_err();
    assert_eq!(bad.line(), Some(200_002));
}

proptest! {
    #[test]
    fn integers_are_read_as_far_as_their_digits_go(
        before in "[a-z]{0,9}", number in "(0|[1-9][0-9]{0,11}|0[0-9]{1,9}|429496729[0-9]|)", after in "([^0-9][^x]{0,9})?"
    ) {
        let text = format!("{before}{number}{after}");
        let expected = number.parse::<u32>().ok().filter(|n| *n < u32::MAX && n.to_string() == number);
        let found = edges::digits(text.as_bytes(), before.len());
        prop_assert_eq!(found, expected.map(|n| (n, before.len() + number.len())));
    }

    #[test]
    fn both_directions_hold_the_same_edges(
        ends in prop::collection::vec((0u32..40, 0u32..40), 0..300)
    ) {
        let (sources, targets): (Vec<u32>, Vec<u32>) = ends.iter().copied().unzip();
        let weights: Vec<f32> = (0..ends.len()).map(|e| e as f32).collect();
        let graph = Graph::new(NodeNames::count(40), &sources, &targets, Some(&weights)).unwrap();
        let out = graph.outward();
        let mut seen = Vec::new();
        for source in 0..40 {
            for at in out.targets.range(source) {
                let (target, place) = (out.targets.end(at), out.places[at] as usize);
                prop_assert!(graph.inward().range(target as usize).contains(&place));
                prop_assert_eq!(graph.inward().end(place) as usize, source);
                seen.push((graph.weights().unwrap()[place] as usize, source as u32, target));
            }
        }
        seen.sort_unstable();
        let expected: Vec<_> = ends.iter().enumerate().map(|(e, &(s, t))| (e, s, t)).collect();
        prop_assert_eq!(seen, expected);
    }
}

#[test]
fn a_large_graph_is_placed_in_parts_as_a_small_one_is() {
    let edges = 1u32 << 17;
    let sources: Vec<u32> = (0..edges).map(|e| e * 919 % 1000).collect();
    let targets: Vec<u32> = (0..edges).map(|e| e * 4729 % 1000).collect();
    let graph = Graph::new(NodeNames::count(1000), &sources, &targets, None).unwrap();
    let mut plain = vec![Vec::new(); 1000];
    sources.iter().zip(&targets).for_each(|(&s, &t)| plain[t as usize].push(s));
    for (target, sources) in plain.iter().enumerate() {
        assert_eq!(&graph.inward().of(target), sources, "{target}");
    }
}

#[test]
fn a_graph_checks_its_columns() {
    let names = || NodeNames::count(2);
    assert!(Graph::new(names(), &[0], &[2], None).unwrap_err().to_string().contains("node 2"));
    assert!(Graph::new(names(), &[0], &[], None).is_err());
    assert!(Graph::new(names(), &[0], &[1], Some(&[-1.0])).unwrap_err().to_string().contains("weight -1"));
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const NODES: &str =
    "query\tnode\tseed\tf1\tf2\nq\ta\t1\t1\t0\nq\tb\t0\t0.5\t2\nr\ta\t1\t3\t1\nr\tc\t1\t1\t1\n";
const EDGES: &str = "query\tfrom\tto\te1\nq\ta\tb\t1\nq\tb\ta\t0.25\nr\tc\ta\t2\nq\ta\ta\t5\n";
const JUDGED: &str = "query\tnode\tlabel\nq\ta\t2\nq\tz\t1\nr\ta\t0\nr\tc\t3\ns\tx\t1\n";

#[test]
fn a_folder_of_tables_becomes_one_graph_per_query() {
    let folder = folder(&[("nodes.tsv", NODES), ("edges.tsv", EDGES), ("judgements.tsv", JUDGED)]);
    let graphs = QueryGraphs::read_folder(folder.path()).unwrap();
    assert_eq!((graphs.len(), graphs.graph.nodes(), graphs.graph.edges()), (2, 4, 4));
    assert_eq!(graphs.seeds_of(0), [0]);
    assert_eq!(graphs.seeds_of(1), [2, 3]);
    assert_eq!(
        graphs.node_features,
        Matrix::Dense { width: 2, values: vec![1., 0., 0.5, 2., 3., 1., 1., 1.] }
    );
    // Edges into a: from b (0.25), then from a itself (5): the order of the table.
    assert_eq!(graphs.graph.inward().of(0), [1, 0]);
    assert_eq!(graphs.edge_features.own, Matrix::Dense { width: 1, values: vec![0.25, 5.0, 1.0, 2.0] });
    assert!(!graphs.edge_features.ends);
    let lists = graphs.lists(&[0, 1], false);
    assert_eq!(lists.labels, [2.0, 0.0, 3.0]);
    assert_eq!(lists.rows, Some(vec![0, 2, 3]));
    assert_eq!(lists.missed.unwrap().values, [1.0], "z is judged and not in the graph");
    assert_eq!(graphs.judged.elsewhere, 1, "query s has no graph");
    let all = graphs.lists(&[1], true);
    assert_eq!((all.rows, all.labels), (Some(vec![2, 3]), vec![0.0, 3.0]));
    let mut row = [0.0; 2];
    graphs.gather(&[1], &mut row);
    assert_eq!(row, [0.5, 2.0]);
}

#[test]
fn one_graph_is_shared_by_the_lists_of_the_judgements() {
    let nodes = "node,f\na,1\nb,2\nc,0\n";
    let edges = "from,to\na,b\nb,c\n";
    let judged = "q1 0 a 1\nq1 0 c 0\nq2 0 b 2\n";
    let seeds = "query,node\nq1,a\nq2,b\nq2,c\n";
    let folder =
        folder(&[("nodes.csv", nodes), ("edges.csv", edges), ("qrels.txt", judged), ("seeds.csv", seeds)]);
    let graphs = QueryGraphs::read_folder(folder.path()).unwrap();
    assert_eq!((graphs.len(), graphs.graph.nodes()), (2, 3));
    assert!(graphs.edge_features.ends, "edges without features have those of their ends");
    assert_eq!(graphs.edge_names(), ["from f", "to f"]);
    assert_eq!((graphs.seeds_of(0), graphs.seeds_of(1)), (&[0][..], &[1, 2][..]));
    let lists = graphs.lists(&[0, 1], false);
    assert_eq!(lists.rows, Some(vec![0, 2, 4]));
    assert_eq!(graphs.of_row(4), (1, 1));
}

#[test]
fn edges_alone_make_nodes_and_every_node_is_a_seed() {
    let folder = folder(&[("edges.csv", "query,from,to,w\nq,a,b,1\nq,b,a,2\nr,a,c,1\n")]);
    let graphs = QueryGraphs::read_folder(folder.path()).unwrap();
    assert_eq!(graphs.node_names.iter().collect::<Vec<_>>(), ["a", "b", "a", "c"]);
    assert_eq!(graphs.seeds, [0, 1, 2, 3]);
    assert_eq!(graphs.judged.nodes.len(), 0);
}

#[test]
fn bad_tables_are_refused_with_their_line() {
    for (nodes, edges, words) in [
        (NODES.replace("0.5", "-0.5"), EDGES.into(), "nodes.tsv:3: column f1: the feature -0.5"),
        (NODES.replace("0.5", ""), EDGES.into(), "a missing feature"),
        (NODES.replace("b\t0", "b\t2"), EDGES.into(), "nodes.tsv:3: seed 2; expected 1 or 0"),
        (NODES.replace("q\tb", "q\ta"), EDGES.into(), "nodes.tsv:3: node \"a\" again in the same graph"),
        (NODES.into(), EDGES.replace("r\tc", "r\tb"), "edges.tsv:4: an edge with node \"b\" of query \"r\""),
        (NODES.into(), EDGES.replace("q\ta\tb", "t\ta\tb"), "of query \"t\""),
        (NODES.into(), "from\tto\na\tb\n".into(), "no column query; expected the same in nodes and edges"),
    ] {
        let (nodes, edges): (String, String) = (nodes, edges);
        let folder = folder(&[("nodes.tsv", &nodes), ("edges.tsv", &edges)]);
        let error = QueryGraphs::read_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}\nexpected {words}");
    }
    let twice = JUDGED.replace("q\tz", "q\ta");
    let files = [("nodes.tsv", NODES), ("edges.tsv", EDGES), ("judgements.tsv", &twice)];
    let error = QueryGraphs::read_folder(folder(&files).path()).unwrap_err().to_string();
    assert!(error.contains("node \"a\" of query \"q\" twice"), "{error}");
    let error = QueryGraphs::read_folder(folder(&[]).path()).unwrap_err().to_string();
    assert!(error.contains("no table of edges"), "{error}");
}

#[test]
fn what_the_generator_writes_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let args = toprank_core::Args(vec![("queries".into(), "5".into()), ("nodes".into(), "9".into())]);
    crate::generate::by_name("graphs").unwrap().run(&args, folder.path(), &mut |_, _| {}).unwrap();
    let graphs = QueryGraphs::read_folder(folder.path()).unwrap();
    assert_eq!((graphs.len(), graphs.node_width(), graphs.edge_width()), (5, 8, 6));
    assert!(!graphs.judged.nodes.is_empty());
    graphs.check_seeds("generated").unwrap();
}

const LOG: &str = "user\ttime\tpage\tquery
u\t0\ta\tq
u\t100\tb\t
u\t1900\tc\t
u\t3701\ta\t
v\t50\ta\tq
v\t60\td\tr
v\t70\td\t
u\t110\ta\t
";

#[test]
fn sessions_end_after_half_an_hour_or_with_another_query() {
    let log = Source::bytes("log.tsv", LOG.as_bytes());
    let sessions = read_sessions(&log, &SessionOptions::default()).unwrap();
    // u: a b a c (1790 s after the last: goes on); a at 3701 comes 1801 s later: a session without a query.
    // v: a; then query r: d d.
    assert_eq!((sessions.sessions, sessions.visits, sessions.without_query), (3, 7, 1));
    let graphs = sessions.graphs().unwrap();
    assert_eq!(graphs.list_names.iter().collect::<Vec<_>>(), ["q", "r"]);
    assert_eq!(graphs.node_names.iter().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    assert_eq!(graphs.seeds, [0, 3]);
    // visits, starts, ends, users, dwell. a: u left after 100 s, then after 1790 s; v ended there.
    let a = [3.0, 2.0, 1.0, 2.0, f32::midpoint(100.0, 1790.0)];
    let mut row = [0.0; 5];
    graphs.node_features.row_into(0, &mut row);
    assert_eq!(row, a);
    assert_eq!(graphs.graph.inward().of(0), [1], "b → a");
    assert_eq!(graphs.graph.inward().of(3), [3], "d → d, a self loop");
    assert_eq!(graphs.edge_names()[..2], ["count", "from visits"]);

    let folder = tempfile::tempdir().unwrap();
    sessions.write(folder.path()).unwrap();
    let files = GraphFiles { ends: Some(true), ..GraphFiles::folder(folder.path()).unwrap() };
    let again = QueryGraphs::read(&files).unwrap();
    assert_eq!(again.node_features, graphs.node_features);
    assert_eq!(again.edge_features, graphs.edge_features);
    assert_eq!((again.seeds, again.parts), (graphs.seeds, graphs.parts));
}

#[test]
fn a_shorter_gap_cuts_more_and_a_log_without_queries_is_one_graph() {
    let log = Source::bytes("log.tsv", LOG.as_bytes());
    let options = SessionOptions { gap: 60.0, ..SessionOptions::default() };
    let sessions = read_sessions(&log, &options).unwrap();
    assert_eq!((sessions.sessions, sessions.without_query), (3, 3));
    let plain: String =
        LOG.lines().map(|line| line.rsplit_once('\t').unwrap().0.to_string() + "\n").collect();
    let one = read_sessions(&Source::bytes("log.tsv", plain.as_bytes()), &SessionOptions::default()).unwrap();
    assert_eq!((one.len(), one.sessions), (1, 3));
    let bad = SessionOptions { gap: f64::NAN, ..SessionOptions::default() };
    assert!(read_sessions(&log, &bad).is_err());
}

#[test]
fn clicks_are_the_visits_of_a_log_that_has_them() {
    let text = "user,time,page,query,click\nu,0,a,q,0\nu,0,b,q,1\nu,9,c,q,1\n";
    let log = Source::bytes("log.csv", text.as_bytes());
    let sessions = read_sessions(&log, &SessionOptions::default()).unwrap();
    assert_eq!(sessions.visits, 2);
    assert_eq!(sessions.graphs().unwrap().node_names.iter().collect::<Vec<_>>(), ["b", "c"]);
}

fn real_edge_lists_have_the_sizes_they_are_known_for() {
    for (file, nodes, edges, comments) in [
        ("graph/web/wiki-Vote.txt.gz", 7115, 103_689, 0),
        ("graph/musae/chameleon_edges.csv.gz", 2277, 36_101, 0),
        // Six articles have names that start with %, 115 links start from them.
        ("graph/wikispeedia/links.tsv.gz", 4592, 119_882, 11),
    ] {
        let path = toprank_testkit::real_file(file);
        let read = read_edges(&Source::path(path), &EdgeOptions::default()).unwrap();
        assert_eq!((read.graph.nodes(), read.graph.edges()), (nodes, edges), "{file}");
        assert_eq!(read.comment_lines, comments, "{file}");
    }
}

#[test]
fn a_saved_graph_is_mapped_and_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.toprank-graph");
    let weighted = EdgeOptions { weight: Some("3".into()), ..EdgeOptions::default() };
    for (text, options) in [
        ("0 1\n1 2\n2 0\n2 2\n", EdgeOptions::default()),
        ("a b 0.5\nb c 2\na c 1\n", weighted),
        ("7 9\n", EdgeOptions::default()),
        ("7,\"a\rb \"\n", EdgeOptions::default()),
    ] {
        let graph = edges("a.txt", text, &options).unwrap();
        graph.save(&path).unwrap();
        let mapped = read_edges(&Source::path(&path), &EdgeOptions::default()).unwrap().graph;
        assert!(matches!(mapped.inward().ends(0..1), Ends::Mapped(_)));
        assert_eq!(pairs(&mapped), pairs(&graph));
        assert_eq!((mapped.weights(), mapped.out_degree()), (graph.weights(), graph.out_degree()));
    }
}

/// A small graph file with weights and names.
fn saved(path: &std::path::Path) -> Vec<u8> {
    let weighted = EdgeOptions { weight: Some("3".into()), ..EdgeOptions::default() };
    edges("a.txt", "a b 1\nb c 1\nc a 1\na c 2\n", &weighted).unwrap().save(path).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn a_graph_file_is_refused_whatever_byte_is_damaged_and_wherever_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.toprank-graph");
    let whole = saved(&path);
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(Graph::open(&path).is_err(), "{length}");
    }
    for at in 0..whole.len() {
        for change in [0x01, 0x81, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= change;
            std::fs::write(&path, &damaged).unwrap();
            let error = Graph::open(&path).expect_err(&format!("byte {at} changed by {change:#x}"));
            assert!(error.to_string().contains("g.toprank-graph: "), "{error}");
        }
    }
}

#[test]
fn a_graph_file_with_right_checksums_and_wrong_content_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.toprank-graph");
    let whole = saved(&path);
    // Three nodes, four edges: each column is shorter than 64 bytes.
    let (offsets, degrees, ends, weights, names) = (64, 128, 192, 256, 320);
    let sums = 384;
    for (what, at, bytes) in [
        ("offsets that do not ascend", offsets + 4, &[9, 0, 0, 0][..]),
        ("offsets that do not ascend", offsets + 12, &[3, 0, 0, 0]),
        ("out-degree 3 of node 0", degrees, &[3, 0, 0, 0]),
        ("an edge with node 3 of 3", ends, &[3, 0, 0, 0]),
        ("an edge with node 4294967295", ends + 12, &[255, 255, 255, 255]),
        ("out-degree", ends, &[1, 0, 0, 0]),
        ("a weight that is negative", weights, &(-1f32).to_le_bytes()),
        ("a weight that is negative", weights, &f32::NAN.to_le_bytes()),
        ("2 names for 3 nodes", names + 2, b"a"),
        ("invalid utf-8", names, &[0xff]),
        ("nodes, ", 24, &[255; 8]),
        ("nodes, ", 32, &[255; 8]),
        ("nodes, ", 40, &[255; 8]),
        ("nodes, ", 20, &[2]),
        ("by its head", 24, &[40]),
        ("offsets that do not ascend", 24, &[4]),
        ("version 1 of the format", 16, &[1]),
    ] {
        let mut signed = whole.clone();
        signed[at..at + bytes.len()].copy_from_slice(bytes);
        let sum = xxhash_rust::xxh3::xxh3_64(&signed[64..sums]).to_le_bytes();
        signed[sums..sums + 8].copy_from_slice(&sum);
        let of_all = xxhash_rust::xxh3::xxh3_64(&[&signed[..64], &sum[..]].concat()).to_le_bytes();
        signed[sums + 8..].copy_from_slice(&of_all);
        std::fs::write(&path, &signed).unwrap();
        let error = Graph::open(&path).expect_err(what).to_string();
        assert!(error.contains(what), "{what}: {error}");
    }
}

#[test]
fn a_graph_file_that_changes_while_it_is_in_use_is_found_by_the_next_look() {
    use std::io::{Seek, SeekFrom, Write};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.toprank-graph");
    let whole = saved(&path);
    let graph = Graph::open(&path).unwrap();
    graph.recheck().unwrap();
    let mut file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(5)).unwrap();
    graph.recheck().expect("another time alone is no change");
    file.seek(SeekFrom::Start(192)).unwrap();
    file.write_all(&[7]).unwrap();
    assert!(graph.recheck().unwrap_err().to_string().contains("that have changed since"));
    file.set_len(whole.len() as u64 - 1).unwrap();
    let error = graph.recheck().unwrap_err().to_string();
    assert!(error.contains(&format!("{} bytes, but {}", whole.len() - 1, whole.len())), "{error}");
}

toprank_testkit::real_data_tests! { real_edge_lists_have_the_sizes_they_are_known_for }
