use proptest::prelude::*;

use super::*;

fn molecule(smiles: &str) -> Molecule {
    read_smiles(smiles).unwrap_or_else(|error| panic!("{smiles}: {error}"))
}

fn hydrogens(smiles: &str) -> Vec<u8> {
    molecule(smiles).atoms.iter().map(|atom| atom.hydrogens).collect()
}

#[test]
fn every_construct_of_the_grammar_is_read() {
    for (smiles, atoms, bonds) in [
        ("C", 1, 0),
        (" CC ", 2, 1),
        ("C(C)(C)C", 4, 3),
        ("C1CC1", 3, 3),
        ("C%10CC%10", 3, 3),
        ("C1CC1C1CC1", 6, 7),
        ("C=1CCCCC=1", 6, 6),
        ("C=1CCCCC1", 6, 6),
        ("C12(CCCCC1)CCCCC2", 11, 12),
        ("[Na+].[Cl-]", 2, 0),
        ("c1ccccc1-c1ccccc1", 12, 13),
        ("[13CH3][C@@H](O)[C@H](N)C", 6, 5),
        ("F/C=C\\F", 4, 3),
        ("F/C=C\\\\F", 4, 3),
        ("[Fe+++]", 1, 0),
        ("[Cu-3]", 1, 0),
        ("[O-][N+](=O)c1cc[nH]c1", 8, 8),
        ("[se]1cccc1", 5, 5),
        ("C#N", 2, 1),
        ("[Re]$[Re]", 2, 1),
        ("*C", 2, 1),
        ("[Co@OH12](F)(Cl)(Br)(I)(N)O", 7, 6),
        ("[CH4:2]", 1, 0),
        ("C(.O)N", 3, 1),
        ("[H][H]", 2, 1),
        ("[2H]O[2H]", 3, 2),
        ("[H]O[H]", 1, 0),
        ("[H+]", 1, 0),
    ] {
        let found = molecule(smiles);
        assert_eq!((found.atoms.len(), found.bonds.len()), (atoms, bonds), "{smiles}");
    }
}

#[test]
fn hydrogens_follow_from_usual_valences_or_stand_in_brackets() {
    for (smiles, expected) in [
        ("CCO", vec![3, 2, 1]),
        ("C=C", vec![2, 2]),
        ("CS(=O)(=O)C", vec![3, 0, 0, 0, 3]),
        ("CN(=O)=O", vec![3, 0, 0, 0]),
        ("c1ccccc1", vec![1; 6]),
        ("c1ccncc1", vec![1, 1, 1, 0, 1, 1]),
        ("c1cc[nH]c1", vec![1, 1, 1, 1, 1]),
        ("Cn1cccc1", vec![3, 0, 1, 1, 1, 1]),
        ("o1cccc1", vec![0, 1, 1, 1, 1]),
        ("s1cccc1", vec![0, 1, 1, 1, 1]),
        ("O=c1cc[nH]cc1", vec![0, 0, 1, 1, 1, 1, 1]),
        ("c1ccc2ccccc2c1", vec![1, 1, 1, 0, 1, 1, 1, 1, 0, 1]),
        ("[NH4+]", vec![4]),
        ("[C]", vec![0]),
        ("[H]C([H])([H])O[H]", vec![3, 1]),
        ("BrB(F)P", vec![0, 0, 0, 2]),
        ("OCl(=O)(=O)=O", vec![1, 0, 0, 0, 0]),
    ] {
        assert_eq!(hydrogens(smiles), expected, "{smiles}");
    }
}

#[test]
fn bonds_between_aromatic_atoms_are_aromatic_unless_written_otherwise() {
    let orders = |smiles: &str| -> Vec<Order> { molecule(smiles).bonds.iter().map(|b| b.order).collect() };
    assert!(orders("c1ccccc1").iter().all(|order| *order == Order::Aromatic));
    assert_eq!(orders("c1ccccc1-c1ccccc1").iter().filter(|o| **o == Order::Single).count(), 1);
    assert_eq!(orders("C=CC#C")[..], [Order::Double, Order::Single, Order::Triple]);
    assert_eq!(orders("c1ccccc1c1ccccc1").iter().filter(|o| **o == Order::Single).count(), 1, "no ring");
}

#[test]
fn rings_and_conjugation_are_found() {
    let rings = |smiles: &str| molecule(smiles).ring_bonds();
    assert_eq!(rings("CC1CC1C"), [false, true, true, true, false]);
    assert_eq!(rings("C1CC1CC1CC1").iter().filter(|ring| **ring).count(), 6);
    assert!(rings("C12CC1CC2").iter().all(|ring| *ring), "fused");
    let conjugated = |smiles: &str| molecule(smiles).conjugated_bonds();
    assert_eq!(conjugated("C=CC=C"), [true, true, true]);
    assert_eq!(conjugated("C=CCC=C"), [false; 4]);
    assert_eq!(conjugated("C=Cc1ccccc1")[..2], [true, true]);
}

#[test]
fn errors_name_the_character_what_stands_there_and_what_was_expected() {
    for (smiles, message) in [
        ("", "nothing at character 1; expected a SMILES"),
        ("CXC", "'X' at character 2; expected an atom"),
        ("C(C", "a branch that is never closed, at character 2; expected a ) after it"),
        ("C)C", "')' at character 2; expected a ( before it"),
        ("C()C", "an empty branch at character 3; expected atoms between ( and )"),
        ("(C)", "'(' at character 1; expected an atom before a branch"),
        ("C1CC", "ring 1, which is never closed, at character 2; expected 1 once more"),
        ("C11", "ring 1 between atoms that are one or are bonded at character 3"),
        ("C1C1", "ring 1 between atoms that are one or are bonded at character 4"),
        ("C=1CC#1", "ring 1 with two different bonds at character 7"),
        ("1CC1", "ring 1 at character 1; expected an atom before it"),
        ("C%1CC", "'%' at character 2; expected two digits after %"),
        ("C=", "'=' at character 2; expected an atom after a bond"),
        ("C==C", "'=' at character 3; expected an atom before a bond"),
        ("=C", "'=' at character 1; expected an atom before a bond"),
        ("C(=)C", "'=' at character 3; expected an atom after a bond"),
        (".C", "'.' at character 1; expected an atom before and after it"),
        ("C.", "'.' at character 2; expected an atom before and after it"),
        ("C..C", "'.' at character 3; expected an atom before and after it"),
        ("[C", "the end, in brackets that began at character 1 at character 3; expected chirality"),
        ("[Xx]", "'X' at character 2; expected the symbol of an element after ["),
        ("[]", "']' at character 2; expected the symbol of an element after ["),
        ("[C+99]", "a charge above 15 at character 4; expected 0 … 15"),
        ("[C:]", "']' at character 4; expected the number of a class after :"),
        ("[CH3", "the end, in brackets that began at character 1 at character 5"),
        ("CC C", "' ' at character 3; expected an atom"),
        ("Cé", "'é' at character 2; expected an atom"),
        ("[é]", "'é' at character 2; expected the symbol"),
        ("CC(C)(C)(C)C", "atom C with 5 bonds at character 2; expected at most 4, or the atom in brackets"),
        ("FC=F", "atom F with 2 bonds at character 4; expected at most 1"),
    ] {
        let error = read_smiles(smiles).unwrap_err().to_string();
        assert!(error.starts_with(message), "{smiles}: {error}");
    }
}

fn csv(text: &str, options: &ReadOptions) -> Result<Dataset, ReadError> {
    crate::formats::read(&Source::bytes("t.csv", text.as_bytes().to_vec()), options)
}

fn smiles() -> ReadOptions {
    ReadOptions { smiles: Some("smiles".into()), ..ReadOptions::default() }
}

#[test]
fn a_column_of_smiles_becomes_graphs_and_is_written_back() {
    let text = "smiles,label,weight_of_it\nCCO,1,46\nc1ccccc1,0,78\nCCO,0,46\n";
    let data = csv(text, &smiles()).unwrap();
    let items = data.graphs.as_ref().unwrap();
    assert_eq!((items.store.len(), data.rows(), data.columns.len()), (2, 3, 1));
    assert_eq!(items.store.nodes, [0, 3, 9]);
    assert_eq!(items.store.edges, [0, 2, 8]);
    assert_eq!(items.store.fault(), None);
    assert_eq!(data.features.get(2, 0), 0.0, "the same word is the same graph");
    let part = subset_rows(&data, &[1, 2]);
    assert_eq!(part.graphs, data.graphs);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.csv");
    crate::formats::write(&part, &path, None).unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "label,smiles\n0,c1ccccc1\n0,CCO\n");
}

#[test]
fn a_bad_smiles_is_an_error_with_its_line_or_is_left_out_and_listed() {
    let text = "smiles,label\nCCO,1\nC1CC,0\n,1\nCC,0\n";
    assert_eq!(
        csv(text, &smiles()).unwrap_err().to_string(),
        "t.csv:3: column smiles: \"C1CC\": ring 1, which is never closed, at character 2; expected 1 once more.\n\
         Correct it, or leave out what cannot be read with --bad-items skip."
    );
    let data = csv(text, &ReadOptions { bad_items: BadItems::Skip, ..smiles() }).unwrap();
    assert_eq!(data.lists.labels, [1.0, 0.0]);
    let left_out = &data.graphs.as_ref().unwrap().left_out;
    assert_eq!(left_out.iter().map(ReadError::line).collect::<Vec<_>>(), [Some(3), Some(4)]);
    assert!(left_out[1].to_string().contains("an empty cell; expected the graph of the item"));
    let error =
        csv("smiles,label\nx,1\n", &ReadOptions { bad_items: BadItems::Skip, ..smiles() }).unwrap_err();
    assert!(error.to_string().contains("none with a graph that can be read"), "{error}");
    let error = csv("smile,label\nC,1\n", &smiles()).unwrap_err().to_string();
    assert!(error.contains("no column is called smiles"), "{error}");
}

#[test]
fn labels_that_are_missing_leave_their_molecule_out_of_that_list_only() {
    let options = ReadOptions { labels: vec!["a".into(), "b".into()], bad_items: BadItems::Skip, ..smiles() };
    let data = csv("a,b,smiles\n1,,CC\n0,1,C(\n0,1,CO\n", &options).unwrap();
    assert_eq!(data.lists.offsets, [0, 2, 3]);
    assert_eq!(data.lists.rows, Some(vec![0, 1, 1]));
    assert_eq!(data.rows(), 2);
}

const NODES: &str = "graph,node,kind,size\nx,a,red,1\nx,b,blue,2\ny,a,red,3\nx,c,red,\n";
const EDGES: &str = "graph,from,to,length\nx,b,a,0.5\nx,a,c,1\n";

fn edge_list(nodes: &str, edges: &str) -> Result<EdgeList, ReadError> {
    let source = |name: &str, text: &str| Source::bytes(name, text.as_bytes().to_vec());
    read_edge_list(&source("nodes.csv", nodes), &source("edges.csv", edges))
}

#[test]
fn tables_of_nodes_and_edges_become_graphs_with_numbers_words_and_degrees() {
    let list = edge_list(NODES, EDGES).unwrap();
    let items = list.items();
    let names: Vec<&str> = items.node_columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["kind", "size", "degree"]);
    assert_eq!(items.edge_columns.len(), 1);
    assert_eq!(items.store.nodes, [0, 3, 4]);
    assert_eq!(items.store.ends, [[1, 0], [0, 2]]);
    assert_eq!(items.store.edge_values, [0.5, 1.0]);
    assert!(items.store.node(2)[1].is_nan(), "missing stays missing");
    let degrees = items.node_columns[2].levels.as_ref().unwrap();
    let degree = |node: usize| degrees.get(items.store.node(node)[2] as usize);
    assert_eq!([0, 1, 2, 3].map(degree), ["2", "1", "1", "0"]);
}

#[test]
fn wrong_tables_are_told_with_line_and_name() {
    for (nodes, edges, words) in [
        (
            NODES,
            "graph,from,to\nx,a,d\n",
            "edges.csv:2: an edge with node \"d\" of graph \"x\"; expected nodes",
        ),
        (NODES, "graph,from,to\nz,a,b\n", "edges.csv:2: an edge of graph \"z\"; expected a graph"),
        ("graph,node\nx,a\nx,a\n", EDGES, "nodes.csv:3: node \"a\" again in the same graph"),
        ("node,kind\na,b\n", EDGES, "no column is called graph"),
        (NODES, "graph,from\nx,a\n", "no column is called target"),
    ] {
        let error = edge_list(nodes, edges).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let options = ReadOptions { graph: Some("g".into()), ..smiles() };
    let error = csv("smiles,label\nC,1\n", &options).unwrap_err().to_string();
    assert!(error.contains("the options smiles, graph; expected smiles alone, or all of graph"), "{error}");
}

#[test]
fn rare_and_unknown_words_share_a_code_and_numbers_are_standardised() {
    let data = csv("smiles,label\nCCO,1\nCCN,0\nCC[Zn],0\nCO,1\n", &smiles()).unwrap();
    let coding = Coding::fit(data.graphs.as_ref().unwrap(), 0..4);
    let Values::Words(elements) = &coding.nodes[0].values else { panic!("words") };
    assert_eq!(elements, &["C", "O"], "N and Zn stand in one molecule each");
    let new = csv("smiles,label\nCOU\nC[Xe]O,1\n".replace("COU\n", "CO[U],1\n").as_str(), &smiles()).unwrap();
    let seen = coding.apply(new.graphs.as_ref().unwrap()).unwrap();
    assert_eq!(seen.fault(), None);
    let codes: Vec<f32> = (0..6).map(|node| seen.node(node)[0]).collect();
    assert_eq!(codes, [1.0, 2.0, 0.0, 1.0, 0.0, 2.0]);
    let list = edge_list(NODES, EDGES).unwrap();
    let coding = Coding::fit(list.items(), [0, 1]);
    let seen = coding.apply(list.items()).unwrap();
    let size = |node: usize| seen.node(node)[1];
    let deviation = (2.0f32 / 3.0).sqrt();
    assert!(
        (size(0) + 1.0 / deviation).abs() < 1e-6 && size(1) == 0.0 && size(2) == 0.0,
        "missing is the mean"
    );
    let other = edge_list("graph,node,kind\nx,a,1\n", "graph,from,to,length\nx,a,a,1\n").unwrap();
    let (found, expected) = coding.apply(other.items()).unwrap_err();
    assert_eq!(
        (found.as_str(), expected.as_str()),
        ("nodes with numbers in kind", "strings, as in training")
    );
}

#[test]
fn a_scaffold_split_keeps_scaffolds_together_and_puts_the_largest_into_train() {
    let mut text = String::from("smiles,label\n");
    for k in 0..20 {
        let smiles = match k {
            0..10 => format!("{}c1ccccc1", "C".repeat(k + 1)),
            10..14 => format!("{}C1CCCC1", "C".repeat(k - 9)),
            14..17 => format!("{}n1cccc1", "C".repeat(k - 13)),
            17 => "C1CC1".into(),
            18 => "C1CCC1".into(),
            _ => "CCO".into(),
        };
        text += &format!("{smiles},{}\n", k % 2);
    }
    let data = csv(&text, &smiles()).unwrap();
    let parts = |spec: &str| crate::split::plan(&data, &toprank_core::Spec::parse(spec).unwrap(), 1);
    let picked = |spec: &str| -> Vec<Vec<u64>> {
        parts(spec).unwrap().iter().map(|part| part.entries(&data)).collect()
    };
    let found = picked("scaffold");
    assert_eq!(found[0], [(0..14).collect::<Vec<u64>>(), vec![18, 19]].concat());
    assert_eq!((&found[1][..], &found[2][..]), (&[14u64, 15, 16][..], &[17u64][..]));
    assert_eq!(picked("scaffold:fractions=50/50")[0], (0..10).collect::<Vec<u64>>());
    let plain = csv("label,f\n1,2\n", &ReadOptions::default()).unwrap();
    let error = crate::split::plan(&plain, &toprank_core::Spec::parse("scaffold").unwrap(), 1).unwrap_err();
    assert!(error.to_string().contains("name their column with --smiles"), "{error}");
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic_and_what_it_accepts_is_sound(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "C", "c", "N", "n", "O", "o", "Cl", "[NH+]", "[H]", "[13C@@H]", "(", ")", "1", "2", "%10", "=", "#", "-", "/", ".", "*", "é", "[",
            ]),
            0..30,
        )
    ) {
        let text = parts.concat();
        if let Ok(molecule) = read_smiles(&text) {
            let atoms = molecule.atoms.len() as u32;
            prop_assert!(atoms > 0);
            prop_assert!(molecule.bonds.iter().all(|b| b.ends[0] != b.ends[1] && b.ends.iter().all(|&e| e < atoms)));
            prop_assert_eq!(scaffold_key(&molecule).is_some(), molecule.ring_bonds().contains(&true));
            let words: Names = [text.as_str()].into_iter().collect();
            let (items, faults) = molecules(&words);
            prop_assert_eq!(items.store.fault(), None);
            prop_assert_eq!(&faults[0], &None);
        }
    }
}
