/*!
Scaffolds: what remains of a molecule when its side chains are cut off, and a key by which equal ones are found.

```text
scaffold = rings and the chains between them, and atoms joined to these by a double or triple bond
key      = hash of the colours of its atoms, refined until no colour splits:
           c₀(v) = (element, charge, aromatic),  c_{t+1}(v) = hash(c_t(v), sorted {(order, smallest ring, c_t(u)) : u ~ v})
```

Equal scaffolds have equal keys. Different ones may share a key only if colour refinement (Weisfeiler–Leman), which here
also knows the size of the smallest ring (up to 64) through every bond, cannot tell them apart; hashes are 64 bits wide. Hydrogens,
chirality and isotopes are left out. A molecule without a ring has the empty scaffold. Of what is more than 200 bonds away from an
atom, only the number of atoms of each kind counts: real molecules are smaller, and a chain of n atoms would take n²/2 steps.

Source: Bemis, Murcko, "The properties of known drugs. 1. Molecular frameworks", J. Med. Chem. 1996 (here with elements,
orders of bonds and exocyclic double bonds, as is usual in scaffold splits: Wu et al., "MoleculeNet: a benchmark for molecular machine learning", 2018).
Cost: O(rounds × bonds), at most 200 rounds, and a search of a ring for every ring bond.
*/

use std::collections::VecDeque;

use xxhash_rust::xxh3::Xxh3;

use super::molecule::{Molecule, Neighbours, Order};

/// Rings of more bonds are all alike: nobody searches a polymer to its end.
const LARGEST_RING: u64 = 64;

/// Rounds of colour refinement.
const MOST_ROUNDS: usize = 200;

/// The key of a molecule's scaffold; `None`: it has no ring.
///
/// ```
/// use toprank_data::graph_items::{read_smiles, scaffold_key};
/// let key = |smiles: &str| scaffold_key(&read_smiles(smiles).unwrap());
/// assert_eq!(key("CCc1ccccc1O"), key("Clc1ccccc1"), "side chains do not count");
/// assert_ne!(key("c1ccccc1"), key("n1ccccc1"));
/// assert_eq!(key("CCO"), None);
/// ```
pub fn scaffold_key(molecule: &Molecule) -> Option<u64> {
    let neighbours = Neighbours::new(molecule);
    let kept = kept_atoms(molecule, &neighbours)?;
    let bonds: Vec<usize> = (0..molecule.bonds.len())
        .filter(|&bond| molecule.bonds[bond].ends.iter().all(|&end| kept[end as usize]))
        .collect();
    let sizes = ring_sizes(molecule, &neighbours, &bonds);
    let atoms: Vec<usize> = (0..molecule.atoms.len()).filter(|&atom| kept[atom]).collect();
    let mut colours = vec![0; molecule.atoms.len()];
    for &number in &atoms {
        let atom = &molecule.atoms[number];
        colours[number] = hash([u64::from(atom.element), atom.charge as u64, u64::from(atom.aromatic)]);
    }
    let mut different = count_different(&colours, &atoms);
    let mut next = colours.clone();
    let mut around: Vec<u64> = Vec::new();
    for _ in 0..MOST_ROUNDS {
        for &atom in &atoms {
            around.clear();
            for &bond in neighbours.of(atom) {
                let bond = bond as usize;
                let [a, b] = molecule.bonds[bond].ends.map(|end| end as usize);
                let other = if a == atom { b } else { a };
                if kept[other] {
                    around.push(hash([molecule.bonds[bond].order as u64, sizes[bond], colours[other]]));
                }
            }
            around.sort_unstable();
            next[atom] = hash([colours[atom]].into_iter().chain(around.iter().copied()));
        }
        std::mem::swap(&mut colours, &mut next);
        let now = count_different(&colours, &atoms);
        if now == different {
            break;
        }
        different = now;
    }
    let mut all: Vec<u64> = atoms.iter().map(|&atom| colours[atom]).collect();
    all.sort_unstable();
    Some(hash(all))
}

/// Atoms of rings, of chains between rings, and those joined to them by a double or triple bond; `None`: no ring.
fn kept_atoms(molecule: &Molecule, neighbours: &Neighbours) -> Option<Vec<bool>> {
    let count = molecule.atoms.len();
    let mut kept = vec![true; count];
    let mut degree: Vec<usize> = (0..count).map(|atom| neighbours.of(atom).len()).collect();
    let mut ends: Vec<usize> = (0..count).filter(|&atom| degree[atom] < 2).collect();
    while let Some(atom) = ends.pop() {
        if !std::mem::replace(&mut kept[atom], false) {
            continue;
        }
        for &bond in neighbours.of(atom) {
            for end in molecule.bonds[bond as usize].ends.map(|end| end as usize) {
                if end != atom && kept[end] {
                    degree[end] -= 1;
                    if degree[end] == 1 {
                        ends.push(end);
                    }
                }
            }
        }
    }
    if !kept.contains(&true) {
        return None;
    }
    let core = kept.clone();
    for bond in molecule.bonds.iter().filter(|bond| !matches!(bond.order, Order::Single | Order::Aromatic)) {
        let [a, b] = bond.ends.map(|end| end as usize);
        if core[a] || core[b] {
            (kept[a], kept[b]) = (true, true);
        }
    }
    Some(kept)
}

/// Bonds in the smallest ring through each bond; 0: none.
fn ring_sizes(molecule: &Molecule, neighbours: &Neighbours, bonds: &[usize]) -> Vec<u64> {
    let ring = molecule.ring_bonds();
    let mut sizes = vec![0; molecule.bonds.len()];
    let mut distance = vec![u64::MAX; molecule.atoms.len()];
    let (mut queue, mut seen) = (VecDeque::new(), Vec::new());
    for &bond in bonds.iter().filter(|&&bond| ring[bond]) {
        let [from, to] = molecule.bonds[bond].ends.map(|end| end as usize);
        distance[from] = 0;
        queue.push_back(from);
        seen.push(from);
        while let Some(atom) = queue.pop_front() {
            if atom == to || distance[atom] == LARGEST_RING {
                break;
            }
            for &way in neighbours.of(atom).iter().filter(|&&way| way as usize != bond && ring[way as usize])
            {
                for other in molecule.bonds[way as usize].ends.map(|end| end as usize) {
                    if distance[other] == u64::MAX {
                        distance[other] = distance[atom] + 1;
                        queue.push_back(other);
                        seen.push(other);
                    }
                }
            }
        }
        sizes[bond] = distance[to].saturating_add(1);
        queue.clear();
        seen.drain(..).for_each(|atom| distance[atom] = u64::MAX);
    }
    sizes
}

fn count_different(colours: &[u64], atoms: &[usize]) -> usize {
    let mut all: Vec<u64> = atoms.iter().map(|&atom| colours[atom]).collect();
    all.sort_unstable();
    all.dedup();
    all.len()
}

fn hash(numbers: impl IntoIterator<Item = u64>) -> u64 {
    let mut hash = Xxh3::new();
    numbers.into_iter().for_each(|number| hash.update(&number.to_le_bytes()));
    hash.digest()
}

#[cfg(test)]
mod tests {
    use super::super::read_smiles;
    use super::*;

    fn key(smiles: &str) -> Option<u64> {
        scaffold_key(&read_smiles(smiles).unwrap())
    }

    #[test]
    fn scaffolds_are_rings_linkers_and_exocyclic_double_bonds() {
        for (one, other) in [
            ("CCOc1ccccc1", "c1ccccc1"),
            ("c1ccccc1CCC1CCCC1", "OC1CC(CCc2ccc(Cl)cc2)CC1C"),
            ("O=C1CCCCC1C", "C1CCC(=O)CC1"),
            ("Cn1cccc1", "c1cc[nH]c1"),
            ("[Na+].CC1CC1", "C1CC1"),
        ] {
            assert_eq!(key(one), key(other), "{one} {other}");
        }
        for (one, other) in [
            ("O=C1CCCCC1", "C1CCCCC1"),
            ("C1CCCCC1", "C1=CCCCC1"),
            ("c1ccccc1CCC1CCCC1", "c1ccccc1CC1CCCC1"),
            ("c1cccnc1", "c1ccncn1"),
            // Colours alone cannot tell these two apart; sizes of rings can.
            ("C1CCC2CCCCC2C1", "C1CCCC1C1CCCC1"),
        ] {
            assert_ne!(key(one), key(other), "{one} {other}");
        }
        assert_eq!(key("CC(C)CC#N"), None);
    }

    #[test]
    fn the_order_of_writing_does_not_matter() {
        for (one, other) in [
            ("c1ccc2[nH]ccc2c1CC(N)=O", "NC(=O)Cc1cccc2c1cc[nH]2"),
            ("C1CC1C(=O)c1ccncc1", "n1ccc(cc1)C(C1CC1)=O"),
        ] {
            assert_eq!(key(one), key(other));
        }
    }
}
