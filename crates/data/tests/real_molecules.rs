//! Real molecules: every SMILES of MoleculeNet's sets is read. Where RDKit reads a molecule too, atoms, bonds, hydrogens and
//! rings are the same but for a few named ones (`bench/molecules/against_rdkit.py`).

use toprank_core::Spec;
use toprank_data::{ReadOptions, Source, formats, split};

/// Set, label columns, molecules, atoms, bonds.
const SETS: &[(&str, &[&str], usize, usize, usize)] = &[
    ("hiv", &[], 41_127, 1_049_163, 1_129_688),
    ("tox21", &["NR-*", "SR-*"], 7_831, 145_459, 151_095),
    ("bbbp", &[], 2_050, 49_265, 53_125),
    ("clintox", &["FDA_APPROVED", "CT_TOX"], 1_484, 38_923, 41_499),
];

fn every_molecule_of_the_sets_is_read_and_scaffold_splits_hold_all_of_them() {
    for (name, labels, molecules, atoms, bonds) in SETS {
        let path = toprank_testkit::real_file(&format!("binary/molecules/{name}.csv.gz"));
        let options = ReadOptions {
            smiles: Some("smiles".into()),
            labels: labels.iter().map(ToString::to_string).collect(),
            ..ReadOptions::default()
        };
        let data = formats::read(&Source::path(path), &options).unwrap();
        assert_eq!(data.rows(), *molecules, "{name}");
        let store = &data.graphs.as_ref().unwrap().store;
        let count = |of: &dyn Fn(usize) -> usize| -> usize {
            (0..data.rows()).map(|row| of(data.features.get(row, 0) as usize)).sum()
        };
        let found = (count(&|g| store.nodes_of(g).len()), count(&|g| store.edges_of(g).len()));
        assert_eq!(found, (*atoms, *bonds), "{name}");
        assert_eq!(store.fault(), None);
        let parts = split::plan(&data, &Spec::parse("scaffold").unwrap(), 1).unwrap();
        let rows: Vec<usize> = parts.iter().map(|part| part.take(&data).rows()).collect();
        assert_eq!(rows.iter().sum::<usize>(), *molecules);
        let tenth = molecules / 10;
        assert!(rows[0].abs_diff(8 * tenth) < 20 && rows[2].abs_diff(tenth) < 20, "{name} {rows:?}");
    }
}

toprank_testkit::real_data_tests! {
    every_molecule_of_the_sets_is_read_and_scaffold_splits_hold_all_of_them,
}
