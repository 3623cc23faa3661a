//! No text makes the SMILES reader panic; what it accepts is a sound graph, and its scaffold can be found.
#![no_main]

use toprank_data::graph_items::{read_smiles, scaffold_key};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for line in String::from_utf8_lossy(bytes).lines() {
        let Ok(molecule) = read_smiles(line) else { continue };
        let atoms = molecule.atoms.len() as u32;
        assert!(atoms > 0);
        assert!(molecule.bonds.iter().all(|bond| bond.ends[0] != bond.ends[1] && bond.ends.iter().all(|&e| e < atoms)));
        let rings = molecule.ring_bonds();
        assert_eq!(scaffold_key(&molecule).is_some(), rings.contains(&true));
        let _ = molecule.conjugated_bonds();
    }
});
