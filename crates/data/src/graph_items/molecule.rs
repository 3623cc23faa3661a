//! Molecules: atoms and bonds, and what follows from them (hydrogens, rings, conjugation).

use super::aromaticity;
use super::elements::{self, HYDROGEN, SYMBOLS};

/// An atom as it was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Atom {
    /// Atomic number; 0: unknown (`*`).
    pub element: u8,
    /// Mass number; 0: not stated.
    pub isotope: u16,
    /// Formal charge.
    pub charge: i8,
    /// Hydrogens bonded to it that are no atoms of their own.
    pub hydrogens: u8,
    /// True if it was written as aromatic or is part of a ring that was found to be.
    pub aromatic: bool,
    /// True if a handedness is stated.
    pub chiral: bool,
    /// True if it stands in brackets, where hydrogens are stated.
    pub(super) bracket: bool,
    /// Its place in the text.
    pub(super) at: u32,
}

/// The order of a bond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// One pair of electrons.
    Single,
    /// Two.
    Double,
    /// Three.
    Triple,
    /// Four.
    Quadruple,
    /// Shared by a ring.
    Aromatic,
}

impl Order {
    /// What it counts for in a valence; an aromatic bond counts 1, and its atom 1 more.
    fn valence(self) -> u32 {
        match self {
            Order::Single | Order::Aromatic => 1,
            Order::Double => 2,
            Order::Triple => 3,
            Order::Quadruple => 4,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Order::Single => "single",
            Order::Double => "double",
            Order::Triple => "triple",
            Order::Quadruple => "quadruple",
            Order::Aromatic => "aromatic",
        }
    }
}

/// A bond between two atoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bond {
    /// The atoms it joins.
    pub ends: [u32; 2],
    /// Its order.
    pub order: Order,
    /// True if it carries a mark of a cis or trans side (`/`, `\`).
    pub marked: bool,
}

impl Bond {
    fn other(&self, atom: u32) -> u32 {
        if self.ends[0] == atom { self.ends[1] } else { self.ends[0] }
    }
}

/// Atoms and bonds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Molecule {
    /// The atoms in the order of the text.
    pub atoms: Vec<Atom>,
    /// The bonds in the order of the text.
    pub bonds: Vec<Bond>,
}

/// The words of an atom's features, in this order: element, degree, charge, hydrogens, aromatic, ring, chirality.
pub const ATOM_FEATURES: &[&str] =
    &["element", "degree", "charge", "hydrogens", "aromatic", "ring", "chirality"];
/// The words of a bond's features, in this order: order, conjugated, ring, stereo.
pub const BOND_FEATURES: &[&str] = &["order", "conjugated", "ring", "stereo"];

/// The bonds of each atom.
pub(super) struct Neighbours {
    offsets: Vec<usize>,
    bonds: Vec<u32>,
}

impl Neighbours {
    pub(super) fn new(molecule: &Molecule) -> Neighbours {
        let mut offsets = vec![0; molecule.atoms.len() + 1];
        for bond in &molecule.bonds {
            bond.ends.iter().for_each(|&end| offsets[end as usize + 1] += 1);
        }
        for atom in 0..molecule.atoms.len() {
            offsets[atom + 1] += offsets[atom];
        }
        let mut next = offsets.clone();
        let mut bonds = vec![0; 2 * molecule.bonds.len()];
        for (number, bond) in (0..).zip(&molecule.bonds) {
            for &end in &bond.ends {
                bonds[next[end as usize]] = number;
                next[end as usize] += 1;
            }
        }
        Neighbours { offsets, bonds }
    }

    /// Numbers of the bonds of an atom.
    pub(super) fn of(&self, atom: usize) -> &[u32] {
        &self.bonds[self.offsets[atom]..self.offsets[atom + 1]]
    }
}

impl Molecule {
    /// Folds `[H]` atoms into their neighbours and counts the hydrogens that are not written. An error names the atom,
    /// what was found and what was expected.
    pub(super) fn complete(&mut self) -> Result<(), (usize, String, String)> {
        let neighbours = Neighbours::new(self);
        for number in 0..self.atoms.len() {
            let atom = self.atoms[number];
            let bonds = neighbours.of(number).iter().map(|&bond| self.bonds[bond as usize].order);
            if !atom.bracket {
                self.atoms[number].hydrogens = implicit_hydrogens(atom, bonds).map_err(|most| {
                    let symbol = SYMBOLS[usize::from(atom.element)];
                    let bonds: u32 =
                        neighbours.of(number).iter().map(|&b| self.bonds[b as usize].order.valence()).sum();
                    let found = format!("atom {symbol} with {bonds} bonds");
                    (number, found, format!("at most {most}, or the atom in brackets"))
                })?;
            }
        }
        self.fold_hydrogens(&neighbours);
        // Two aromatic atoms in different rings are joined by a single bond.
        let rings = self.ring_bonds();
        for (bond, _) in self.bonds.iter_mut().zip(&rings).filter(|(_, ring)| !**ring) {
            if bond.order == Order::Aromatic {
                bond.order = Order::Single;
            }
        }
        aromaticity::perceive(self);
        Ok(())
    }

    /// A plain `[H]` with one single bond to another element is a hydrogen of that atom.
    fn fold_hydrogens(&mut self, neighbours: &Neighbours) {
        let folds = |number: usize| {
            let atom = &self.atoms[number];
            let &[bond] = neighbours.of(number) else { return None };
            let bond = &self.bonds[bond as usize];
            let other = bond.other(number as u32);
            let plain = atom.element == HYDROGEN && (atom.isotope, atom.charge, atom.hydrogens) == (0, 0, 0);
            let to = &self.atoms[other as usize];
            (plain && bond.order == Order::Single && to.element != HYDROGEN).then_some(other as usize)
        };
        let to: Vec<Option<usize>> = (0..self.atoms.len()).map(folds).collect();
        if to.iter().all(Option::is_none) {
            return;
        }
        for &atom in to.iter().flatten() {
            self.atoms[atom].hydrogens = self.atoms[atom].hydrogens.saturating_add(1);
        }
        let mut kept = 0;
        let numbers: Vec<u32> = to
            .iter()
            .map(|folded| {
                kept += u32::from(folded.is_none());
                kept.wrapping_sub(1)
            })
            .collect();
        let gone = |atom: u32| to[atom as usize].is_some();
        self.bonds.retain(|bond| !bond.ends.iter().any(|&end| gone(end)));
        for end in self.bonds.iter_mut().flat_map(|bond| &mut bond.ends) {
            *end = numbers[*end as usize];
        }
        let mut folded = to.iter().map(Option::is_some);
        self.atoms.retain(|_| !folded.next().unwrap_or(false));
    }

    /// Which bonds are part of a ring: those whose ends stay connected without them. O(atoms + bonds).
    pub fn ring_bonds(&self) -> Vec<bool> {
        let neighbours = Neighbours::new(self);
        let mut ring = vec![true; self.bonds.len()];
        // Depth-first search; a bond of the tree is a bridge if nothing below it reaches above it.
        let (mut entered, mut low) = (vec![0u32; self.atoms.len()], vec![0u32; self.atoms.len()]);
        let mut clock = 0;
        let mut path: Vec<(usize, u32, usize)> = Vec::new();
        for start in 0..self.atoms.len() {
            if entered[start] > 0 {
                continue;
            }
            path.push((start, u32::MAX, 0));
            while let Some((atom, by, next)) = path.last_mut() {
                let (atom, by) = (*atom, *by);
                if *next == 0 {
                    clock += 1;
                    (entered[atom], low[atom]) = (clock, clock);
                }
                if let Some(&bond) = neighbours.of(atom).get(*next) {
                    *next += 1;
                    let other = self.bonds[bond as usize].other(atom as u32) as usize;
                    if entered[other] == 0 {
                        path.push((other, bond, 0));
                    } else if bond != by {
                        low[atom] = low[atom].min(entered[other]);
                    }
                    continue;
                }
                path.pop();
                if let Some((parent, _, _)) = path.last() {
                    low[*parent] = low[*parent].min(low[atom]);
                    ring[by as usize] = low[atom] <= entered[*parent];
                }
            }
        }
        ring
    }

    /// Which bonds are conjugated: aromatic ones, a single bond between two atoms that both have a double, triple or
    /// aromatic bond, and the double and triple bonds beside such a single bond. Lone pairs do not count.
    pub fn conjugated_bonds(&self) -> Vec<bool> {
        let mut multiple = vec![false; self.atoms.len()];
        for bond in self.bonds.iter().filter(|bond| bond.order != Order::Single) {
            bond.ends.iter().for_each(|&end| multiple[end as usize] = true);
        }
        let joins =
            |bond: &Bond| bond.order == Order::Single && bond.ends.iter().all(|&end| multiple[end as usize]);
        let mut beside = vec![false; self.atoms.len()];
        for bond in self.bonds.iter().filter(|bond| joins(bond)) {
            bond.ends.iter().for_each(|&end| beside[end as usize] = true);
        }
        let conjugated = |bond: &Bond| match bond.order {
            Order::Aromatic => true,
            Order::Single => joins(bond),
            _ => bond.ends.iter().any(|&end| beside[end as usize]),
        };
        self.bonds.iter().map(conjugated).collect()
    }

    /// Double bonds whose sides are stated: both ends have a marked bond.
    fn stereo_bonds(&self) -> Vec<bool> {
        let mut marked = vec![false; self.atoms.len()];
        for bond in self.bonds.iter().filter(|bond| bond.marked) {
            bond.ends.iter().for_each(|&end| marked[end as usize] = true);
        }
        let stated =
            |bond: &Bond| bond.order == Order::Double && bond.ends.iter().all(|&end| marked[end as usize]);
        self.bonds.iter().map(stated).collect()
    }

    /// Hands the words of each atom's [`ATOM_FEATURES`] and of each bond's [`BOND_FEATURES`] to `atom` and `bond`. They do
    /// not depend on the order in which the molecule was written.
    pub(super) fn words(
        &self,
        mut atom: impl FnMut([&str; ATOM_FEATURES.len()]),
        mut bond: impl FnMut([&str; BOND_FEATURES.len()]),
    ) {
        let yes = |is: bool| if is { "yes" } else { "no" };
        let ring = self.ring_bonds();
        let mut degree = vec![0u32; self.atoms.len()];
        let mut in_ring = vec![false; self.atoms.len()];
        for (bond, ring) in self.bonds.iter().zip(&ring) {
            for &end in &bond.ends {
                degree[end as usize] += 1;
                in_ring[end as usize] |= ring;
            }
        }
        for (number, a) in self.atoms.iter().enumerate() {
            let charge = if a.charge == 0 { "0".to_string() } else { format!("{:+}", a.charge) };
            atom([
                SYMBOLS[usize::from(a.element)],
                &degree[number].to_string(),
                &charge,
                &a.hydrogens.to_string(),
                yes(a.aromatic),
                yes(in_ring[number]),
                if a.chiral { "stated" } else { "none" },
            ]);
        }
        let (conjugated, stereo) = (self.conjugated_bonds(), self.stereo_bonds());
        for (number, b) in self.bonds.iter().enumerate() {
            let stereo = if stereo[number] { "stated" } else { "none" };
            bond([b.order.word(), yes(conjugated[number]), yes(ring[number]), stereo]);
        }
    }
}

/// Hydrogens of an atom without brackets: what its bonds leave of the next usual valence; of aromatic atoms, whose share in
/// the ring counts 1, of the lowest. An error gives the highest valence.
fn implicit_hydrogens(atom: Atom, bonds: impl Iterator<Item = Order>) -> Result<u8, u8> {
    let taken: u32 = bonds.map(Order::valence).sum::<u32>() + u32::from(atom.aromatic);
    let valences = elements::valences(atom.element);
    let Some((&lowest, &most)) = valences.first().zip(valences.last()) else { return Ok(0) };
    if atom.aromatic {
        return Ok(u32::from(lowest).saturating_sub(taken) as u8);
    }
    match valences.iter().find(|&&valence| u32::from(valence) >= taken) {
        Some(&valence) => Ok((u32::from(valence) - taken) as u8),
        None => Err(most),
    }
}
