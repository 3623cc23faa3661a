//! Reads SMILES from standard input, one a line, and prints what the reader made of each as one line of JSON, for
//! `bench/molecules/against_rdkit.py`.

use std::io::{BufRead, Write};

use toprank::data::graph_items::{read_smiles, scaffold_key};

use crate::common::{Outcome, WrongUse};

pub fn run(args: &[String]) -> Outcome {
    if !args.is_empty() {
        return Err(WrongUse.into());
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let molecule = match read_smiles(&line) {
            Ok(molecule) => molecule,
            Err(error) => {
                writeln!(out, "{}", serde_json::json!({ "error": error.to_string() }))?;
                continue;
            }
        };
        let rings = molecule.ring_bonds();
        let mut in_ring = vec![false; molecule.atoms.len()];
        for (bond, ring) in molecule.bonds.iter().zip(&rings) {
            bond.ends.iter().for_each(|&end| in_ring[end as usize] |= ring);
        }
        let atoms: Vec<_> = molecule
            .atoms
            .iter()
            .zip(&in_ring)
            .map(|(a, ring)| (a.element, a.charge, a.hydrogens, a.aromatic, *ring))
            .collect();
        let bonds: Vec<_> = molecule
            .bonds
            .iter()
            .zip(&rings)
            .map(|(bond, ring)| (bond.ends, format!("{:?}", bond.order), *ring))
            .collect();
        let key = scaffold_key(&molecule).map(|key| format!("{key:016x}"));
        writeln!(out, "{}", serde_json::json!({ "atoms": atoms, "bonds": bonds, "scaffold": key }))?;
    }
    Ok(out.flush()?)
}
