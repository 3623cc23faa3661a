/*!
Aromatic rings that were written with single and double bonds: `C1=CC=CC=C1` and `c1ccccc1` are one molecule and get the
same features.

```text
repeat over rings of 3 to 8 bonds (the shortest through each bond) until nothing changes:
    the ring is aromatic if all its atoms have π electrons to share and their number is 4n + 2
```

| an atom of the ring | π electrons |
|---|---|
| with a double bond in the ring, or aromatic already | 1 |
| carbon with a double bond to O, N or S outside of all rings | 0 |
| N, P with three bonds, O, S, Se, Te with two, negative carbon or nitrogen, none of them double | 2 |
| boron with three bonds, positive carbon, none of them double | 0 |
| any other, also all with more than three bonds | not aromatic |

Marks only ever help other rings, so the result does not depend on the order of atoms. Atoms written as aromatic stay so.

Source: Hückel's rule as chemistry toolkits apply it to single rings; large fused systems in which no ring is aromatic by
itself (azulene) are not found. `bench/molecules/against_rdkit.py` counts where RDKit, which also looks at fused systems,
disagrees. Cost: a short search for every ring bond.
*/

use super::elements::SYMBOLS;
use super::molecule::{Molecule, Neighbours, Order};

const LARGEST_RING: usize = 8;
/// Shortest rings of one bond that are looked at; molecules have few.
const MOST_RINGS: usize = 16;

/// Marks atoms and bonds of aromatic rings.
pub(super) fn perceive(molecule: &mut Molecule) {
    let ring_bonds = molecule.ring_bonds();
    let shares = |bond: usize| {
        let ends = molecule.bonds[bond].ends;
        let aromatic = ends.iter().any(|&end| molecule.atoms[end as usize].aromatic);
        ring_bonds[bond] && (aromatic || molecule.bonds[bond].order == Order::Double)
    };
    // Saturated rings are most of the rest.
    if !(0..molecule.bonds.len()).any(shares) {
        return;
    }
    let neighbours = Neighbours::new(molecule);
    let mut rings: Vec<Vec<usize>> = Vec::new();
    for bond in (0..molecule.bonds.len()).filter(|&bond| ring_bonds[bond]) {
        shortest_rings(molecule, &neighbours, &ring_bonds, bond, &mut rings);
    }
    rings.sort_unstable();
    rings.dedup();
    rings.retain(|ring| ring.iter().any(|&bond| molecule.bonds[bond].order != Order::Aromatic));
    let written = molecule.clone();
    loop {
        let mut changed = false;
        rings.retain(|ring| {
            let atoms = atoms_of(&written, ring);
            let electrons: Option<u32> = atoms
                .iter()
                .map(|&atom| electrons(&written, molecule, &neighbours, &ring_bonds, ring, atom))
                .sum();
            if electrons.is_none_or(|electrons| electrons % 4 != 2) {
                return true;
            }
            for &atom in &atoms {
                molecule.atoms[atom].aromatic = true;
            }
            for &bond in ring {
                molecule.bonds[bond].order = Order::Aromatic;
            }
            changed = true;
            false
        });
        if !changed {
            return;
        }
    }
}

fn atoms_of(molecule: &Molecule, ring: &[usize]) -> Vec<usize> {
    let mut atoms: Vec<usize> =
        ring.iter().flat_map(|&bond| molecule.bonds[bond].ends.map(|end| end as usize)).collect();
    atoms.sort_unstable();
    atoms.dedup();
    atoms
}

/// What an atom gives to a ring; `None`: it cannot take part.
fn electrons(
    written: &Molecule,
    marked: &Molecule,
    neighbours: &Neighbours,
    ring_bonds: &[bool],
    ring: &[usize],
    atom: usize,
) -> Option<u32> {
    let a = &written.atoms[atom];
    let symbol = SYMBOLS[usize::from(a.element)];
    let bonds = neighbours.of(atom).iter().map(|&bond| bond as usize);
    let connections = bonds.clone().count() + usize::from(a.hydrogens);
    let double = bonds.clone().find(|&bond| written.bonds[bond].order == Order::Double);
    let multiple = |bond: usize| matches!(written.bonds[bond].order, Order::Triple | Order::Quadruple);
    if connections > 3 || bonds.clone().any(multiple) {
        return None;
    }
    let lone_pair = match symbol {
        "N" | "P" | "As" => connections == 3 && a.charge == 0 || connections == 2 && a.charge < 0,
        "O" | "S" | "Se" | "Te" => connections == 2 && a.charge == 0,
        "C" => a.charge < 0 && connections == 3,
        _ => false,
    };
    match double {
        Some(bond) if ring.contains(&bond) => {
            ["C", "N", "P", "As", "O", "S", "Se", "Te"].contains(&symbol).then_some(1)
        }
        Some(bond) if !ring_bonds[bond] => {
            let [one, other] = written.bonds[bond].ends;
            let other = if one as usize == atom { other } else { one };
            let outside = SYMBOLS[usize::from(written.atoms[other as usize].element)];
            (symbol == "C" && ["O", "N", "S"].contains(&outside)).then_some(0)
        }
        // Its double bond lies in another ring: it is shared if that ring is aromatic.
        Some(_) => marked.atoms[atom].aromatic.then_some(1),
        None if lone_pair => Some(2),
        None if marked.atoms[atom].aromatic => Some(1),
        None if symbol == "B" && connections == 3 || symbol == "C" && a.charge > 0 => Some(0),
        None => None,
    }
}

/// Adds the shortest rings through a bond, each as its sorted bonds.
fn shortest_rings(
    molecule: &Molecule,
    neighbours: &Neighbours,
    ring_bonds: &[bool],
    bond: usize,
    rings: &mut Vec<Vec<usize>>,
) {
    let [from, to] = molecule.bonds[bond].ends.map(|end| end as usize);
    let steps = |atom: usize| {
        let ways = neighbours.of(atom).iter().map(|&way| way as usize);
        ways.filter(move |&way| way != bond && ring_bonds[way]).map(move |way| {
            let [a, b] = molecule.bonds[way].ends.map(|end| end as usize);
            (way, if a == atom { b } else { a })
        })
    };
    // Distances to the far end, in layers.
    let mut distance = std::collections::HashMap::from([(to, 0)]);
    let mut layer = vec![to];
    for length in 1..LARGEST_RING {
        let mut next = Vec::new();
        for &atom in &layer {
            for (_, other) in steps(atom) {
                distance.entry(other).or_insert_with(|| {
                    next.push(other);
                    length
                });
            }
        }
        layer = next;
        if distance.contains_key(&from) {
            break;
        }
    }
    if !distance.contains_key(&from) {
        return;
    }
    let mut open = vec![(from, vec![bond])];
    let mut found = 0;
    while let Some((atom, path)) = open.pop() {
        if atom == to {
            let mut ring = path;
            ring.sort_unstable();
            rings.push(ring);
            found += 1;
            if found == MOST_RINGS {
                return;
            }
            continue;
        }
        for (way, other) in steps(atom) {
            if distance.get(&other).is_some_and(|far| far + 1 == distance[&atom]) {
                let mut longer = path.clone();
                longer.push(way);
                open.push((other, longer));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read_smiles;
    use super::*;

    /// Aromatic atoms and bonds, and what atoms and bonds there are, in an order of their own.
    fn signature(smiles: &str) -> (Vec<(u8, bool, u8)>, Vec<Order>) {
        let molecule = read_smiles(smiles).unwrap();
        let mut atoms: Vec<_> = molecule.atoms.iter().map(|a| (a.element, a.aromatic, a.hydrogens)).collect();
        let mut bonds: Vec<_> = molecule.bonds.iter().map(|b| b.order).collect();
        atoms.sort_unstable();
        bonds.sort_unstable();
        (atoms, bonds)
    }

    #[test]
    fn both_ways_to_write_an_aromatic_ring_are_the_same() {
        for (one, other) in [
            ("C1=CC=CC=C1", "c1ccccc1"),
            ("C1=CC=C2C=CC=CC2=C1", "c1ccc2ccccc2c1"),
            ("C1=CC=C2C(=C1)C=CN2", "c1ccc2[nH]ccc2c1"),
            ("N1C=CN=C1", "c1c[nH]cn1"),
            ("O1C=CC=C1", "o1cccc1"),
            ("CN1C=NC2=C1C(=O)N(C)C(=O)N2C", "Cn1cnc2c1c(=O)n(C)c(=O)n2C"),
            ("O=C1C=CNC2=CC=CC=C12", "O=c1cc[nH]c2ccccc12"),
            ("[O-][N+]1=CC=CC=C1", "[O-][n+]1ccccc1"),
            ("c1ccc(C2=CC=CC=C2)cc1", "c1ccccc1-c1ccccc1"),
        ] {
            assert_eq!(signature(one), signature(other), "{one} {other}");
        }
    }

    #[test]
    fn rings_that_are_not_aromatic_stay_as_they_are() {
        for smiles in [
            "C1=CCCCC1",
            "C1=CC=CC1",
            "C1=CC=CC=CC=C1",
            "O=C1C=CC(=O)C=C1",
            "C=C1C=CC=CC1",
            "C1=CC1",
            "C1CCCCC1",
        ] {
            let molecule = read_smiles(smiles).unwrap();
            assert!(molecule.atoms.iter().all(|atom| !atom.aromatic), "{smiles}");
        }
    }
}
