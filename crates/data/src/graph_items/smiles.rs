/*!
SMILES, read: a line of text becomes a [`Molecule`].

```text
smiles   = part ("." part)*
part     = atom (bond? (atom | ring) | "(" bond? part ")")*
atom     = B C N O P S F Cl Br I | b c n o p s | * | "[" isotope? symbol chirality? H? charge? (":" class)? "]"
bond     = - = # $ : / \
ring     = digit | % digit digit
```

What is read: the organic subset, brackets with isotope, chirality (`@`, `@@`, `@TH1` …), hydrogens, charge and class,
aromatic atoms, branches, rings up to number 99 (numbers may be used again), dots, all bonds with cis and trans marks. A
lower-case atom is aromatic as written, and rings of single and double bonds are marked aromatic where Hückel's rule says so
(module `aromaticity`). `\\` is read as one mark: texts that went through JSON double it. Valences of atoms in brackets are the writer's.

Source: Weininger, "SMILES, a chemical language and information system", 1988; the OpenSMILES specification.
Cost: one pass, O(characters).
*/

use std::collections::HashSet;

use super::elements;
use super::molecule::{Atom, Bond, Molecule, Order};

/// Why a text is not a SMILES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmilesError {
    /// The character at which it was noticed, from 1.
    pub at: usize,
    /// What stands there.
    pub found: String,
    /// What was expected.
    pub expected: String,
}

impl std::fmt::Display for SmilesError {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} at character {}; expected {}", self.found, self.at, self.expected)
    }
}

impl std::error::Error for SmilesError {}

/// A bond symbol that waits for its second atom.
#[derive(Clone, Copy)]
struct Pending {
    at: usize,
    /// `None`: nothing is written, so single, or aromatic between aromatic atoms.
    order: Option<Order>,
    marked: bool,
}

/// A ring that waits for its other end.
#[derive(Clone, Copy)]
struct Open {
    atom: u32,
    bond: Option<Pending>,
    at: usize,
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    molecule: Molecule,
    /// Where the next atom is bonded to.
    last: Option<u32>,
    /// Atoms at which branches began, and where.
    branches: Vec<(u32, usize)>,
    bond: Option<Pending>,
    rings: [Option<Open>; 100],
    /// Pairs of atoms that are joined, the lower number first.
    bonded: HashSet<(u32, u32)>,
}

/// Reads one SMILES; blanks around it are left out.
///
/// ```
/// use toprank_data::graph_items::read_smiles;
/// let ethanol = read_smiles("CCO").unwrap();
/// assert_eq!((ethanol.atoms.len(), ethanol.bonds.len()), (3, 2));
/// let hydrogens: Vec<u8> = ethanol.atoms.iter().map(|atom| atom.hydrogens).collect();
/// assert_eq!(hydrogens, [3, 2, 1]);
/// let error = read_smiles("CC1CC").unwrap_err();
/// assert_eq!(error.to_string(), "ring 1, which is never closed, at character 3; expected 1 once more");
/// ```
pub fn read_smiles(text: &str) -> Result<Molecule, SmilesError> {
    let before = text.len() - text.trim_ascii_start().len();
    let mut reader = Reader {
        text: text.trim_ascii_end().as_bytes(),
        at: before,
        molecule: Molecule::default(),
        last: None,
        branches: Vec::new(),
        bond: None,
        rings: [None; 100],
        bonded: HashSet::new(),
    };
    reader.read()?;
    let mut molecule = std::mem::take(&mut reader.molecule);
    if let Err((atom, found, expected)) = molecule.complete() {
        return Err(reader.error(molecule.atoms[atom].at as usize, found, expected));
    }
    Ok(molecule)
}

impl Reader<'_> {
    fn error(&self, at: usize, found: impl Into<String>, expected: impl Into<String>) -> SmilesError {
        // Characters, not bytes: the text was UTF-8.
        let before = String::from_utf8_lossy(&self.text[..at.min(self.text.len())]).chars().count();
        SmilesError { at: before + 1, found: found.into(), expected: expected.into() }
    }

    /// What stands at `at`, in words.
    fn shown(&self, at: usize) -> String {
        match String::from_utf8_lossy(&self.text[at.min(self.text.len())..]).chars().next() {
            None => "the end".into(),
            Some(character) => format!("{character:?}"),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn read(&mut self) -> Result<(), SmilesError> {
        if self.at >= self.text.len() {
            return Err(self.error(self.at, "nothing", "a SMILES"));
        }
        let mut ended = true;
        while let Some(byte) = self.peek() {
            let at = self.at;
            match byte {
                b'(' => {
                    let Some(atom) = self.last.filter(|_| self.bond.is_none()) else {
                        return Err(self.error(at, "'('", "an atom before a branch"));
                    };
                    self.branches.push((atom, at));
                    self.at += 1;
                    if self.peek() == Some(b')') {
                        return Err(self.error(self.at, "an empty branch", "atoms between ( and )"));
                    }
                }
                b')' => {
                    self.no_bond()?;
                    let Some((atom, _)) = self.branches.pop() else {
                        return Err(self.error(at, "')'", "a ( before it"));
                    };
                    self.last = Some(atom);
                    self.at += 1;
                }
                b'.' => {
                    self.no_bond()?;
                    if self.last.is_none() || self.at + 1 == self.text.len() {
                        return Err(self.error(at, "'.'", "an atom before and after it"));
                    }
                    self.last = None;
                    self.at += 1;
                }
                b'-' | b'=' | b'#' | b'$' | b':' | b'/' | b'\\' => self.read_bond(byte)?,
                b'0'..=b'9' | b'%' => self.read_ring()?,
                _ => self.read_atom()?,
            }
            ended = !matches!(byte, b'.');
        }
        self.no_bond()?;
        if !ended {
            return Err(self.error(self.at, "the end", "an atom after ."));
        }
        if let Some((_, at)) = self.branches.last() {
            return Err(self.error(*at, "a branch that is never closed,", "a ) after it"));
        }
        if let Some((number, open)) = self.rings.iter().enumerate().find_map(|(n, open)| Some((n, (*open)?)))
        {
            let found = format!("ring {number}, which is never closed,");
            return Err(self.error(open.at, found, format!("{number} once more")));
        }
        Ok(())
    }

    /// An error if a bond symbol waits for an atom.
    fn no_bond(&self) -> Result<(), SmilesError> {
        match self.bond {
            None => Ok(()),
            Some(bond) => Err(self.error(bond.at, self.shown(bond.at), "an atom after a bond")),
        }
    }

    fn read_bond(&mut self, byte: u8) -> Result<(), SmilesError> {
        let at = self.at;
        if self.bond.is_some() || self.last.is_none() {
            return Err(self.error(at, self.shown(at), "an atom before a bond"));
        }
        let order = match byte {
            b'=' => Order::Double,
            b'#' => Order::Triple,
            b'$' => Order::Quadruple,
            b':' => Order::Aromatic,
            _ => Order::Single,
        };
        self.bond = Some(Pending { at, order: Some(order), marked: matches!(byte, b'/' | b'\\') });
        self.at += 1;
        if byte == b'\\' && self.peek() == Some(b'\\') {
            self.at += 1;
        }
        Ok(())
    }

    fn read_ring(&mut self) -> Result<(), SmilesError> {
        let at = self.at;
        let digit =
            |at: usize| self.text.get(at).filter(|byte| byte.is_ascii_digit()).map(|byte| byte - b'0');
        let number = match digit(at) {
            Some(one) => {
                self.at += 1;
                usize::from(one)
            }
            None => match (digit(at + 1), digit(at + 2)) {
                (Some(tens), Some(ones)) => {
                    self.at += 3;
                    usize::from(10 * tens + ones)
                }
                _ => return Err(self.error(at, "'%'", "two digits after %")),
            },
        };
        let Some(atom) = self.last else {
            return Err(self.error(at, format!("ring {number}"), "an atom before it"));
        };
        let bond = self.bond.take();
        let Some(open) = self.rings[number].take() else {
            self.rings[number] = Some(Open { atom, bond, at });
            return Ok(());
        };
        let order = |bond: Option<Pending>| bond.and_then(|bond| bond.order);
        if let (Some(one), Some(other)) = (order(open.bond), order(bond))
            && one != other
        {
            let found = format!("ring {number} with two different bonds");
            return Err(self.error(at, found, "the same bond at both ends, or none at one"));
        }
        if open.atom == atom || self.bonded.contains(&(open.atom.min(atom), open.atom.max(atom))) {
            let found = format!("ring {number} between atoms that are one or are bonded");
            return Err(self.error(at, found, "two atoms without a bond"));
        }
        let pending = bond.filter(|bond| bond.order.is_some()).or(open.bond);
        self.join(open.atom, atom, pending);
        Ok(())
    }

    fn join(&mut self, from: u32, to: u32, bond: Option<Pending>) {
        let aromatic = [from, to].iter().all(|&atom| self.molecule.atoms[atom as usize].aromatic);
        let plain = if aromatic { Order::Aromatic } else { Order::Single };
        let order = bond.and_then(|bond| bond.order).unwrap_or(plain);
        let marked = bond.is_some_and(|bond| bond.marked);
        self.bonded.insert((from.min(to), from.max(to)));
        self.molecule.bonds.push(Bond { ends: [from, to], order, marked });
    }

    fn read_atom(&mut self) -> Result<(), SmilesError> {
        let at = self.at;
        let atom = match self.text[at] {
            b'[' => self.read_bracket()?,
            byte => {
                let next = self.text.get(at + 1);
                let (symbol, length) = match (byte, next) {
                    (b'C', Some(b'l')) => ("Cl", 2),
                    (b'B', Some(b'r')) => ("Br", 2),
                    (b'B' | b'b', _) => ("B", 1),
                    (b'C' | b'c', _) => ("C", 1),
                    (b'N' | b'n', _) => ("N", 1),
                    (b'O' | b'o', _) => ("O", 1),
                    (b'P' | b'p', _) => ("P", 1),
                    (b'S' | b's', _) => ("S", 1),
                    (b'F', _) => ("F", 1),
                    (b'I', _) => ("I", 1),
                    (b'*', _) => ("*", 1),
                    _ => {
                        let expected = "an atom (B C N O P S F Cl Br I, b c n o p s, *, or any in [ ]), a bond, a \
                                        ring number, ( ) or .";
                        return Err(self.error(at, self.shown(at), expected));
                    }
                };
                self.at += length;
                Atom {
                    element: elements::number(symbol).unwrap_or(0),
                    aromatic: byte.is_ascii_lowercase(),
                    ..Atom::default()
                }
            }
        };
        let number = self.molecule.atoms.len() as u32;
        self.molecule.atoms.push(Atom { at: at as u32, ..atom });
        let bond = self.bond.take();
        if let Some(last) = self.last {
            self.join(last, number, bond);
        }
        self.last = Some(number);
        Ok(())
    }

    /// `[`isotope symbol chirality hydrogens charge class`]`.
    fn read_bracket(&mut self) -> Result<Atom, SmilesError> {
        let start = self.at;
        self.at += 1;
        let isotope = self.digits(999, "an isotope")?.unwrap_or(0);
        let (symbol_at, rest) = (self.at, &self.text[self.at..]);
        let two = rest.get(..2).and_then(|two| std::str::from_utf8(two).ok()).unwrap_or_default();
        let one = rest.get(..1).and_then(|one| std::str::from_utf8(one).ok()).unwrap_or_default();
        let (symbol, length, aromatic) = match (two, one) {
            ("se", _) => ("Se", 2, true),
            ("as", _) => ("As", 2, true),
            ("te", _) => ("Te", 2, true),
            ("si", _) => ("Si", 2, true),
            (_, "b") => ("B", 1, true),
            (_, "c") => ("C", 1, true),
            (_, "n") => ("N", 1, true),
            (_, "o") => ("O", 1, true),
            (_, "p") => ("P", 1, true),
            (_, "s") => ("S", 1, true),
            (two, _) if elements::number(two).is_some() => (two, 2, false),
            (_, one) => (one, 1, false),
        };
        let Some(element) = elements::number(symbol).filter(|_| !symbol.is_empty()) else {
            let expected = "the symbol of an element after [";
            return Err(self.error(symbol_at, self.shown(symbol_at), expected));
        };
        self.at += length;
        let chiral = self.read_chirality()?;
        let mut hydrogens = 0;
        if self.peek() == Some(b'H') {
            self.at += 1;
            hydrogens = self.digits(99, "a number of hydrogens")?.unwrap_or(1) as u8;
        }
        let charge = self.read_charge()?;
        if self.peek() == Some(b':') {
            self.at += 1;
            if self.digits(u32::from(u16::MAX), "a class")?.is_none() {
                return Err(self.error(self.at, self.shown(self.at), "the number of a class after :"));
            }
        }
        if self.peek() != Some(b']') {
            let found = match self.peek() {
                None => format!("the end, in brackets that began at character {}", start + 1),
                Some(_) => self.shown(self.at),
            };
            let expected = "chirality (@), hydrogens (H), a charge (+ -), a class (:) or ]";
            return Err(self.error(self.at, found, expected));
        }
        self.at += 1;
        let isotope = isotope as u16;
        Ok(Atom { element, isotope, charge, hydrogens, aromatic, chiral, bracket: true, ..Atom::default() })
    }

    fn read_chirality(&mut self) -> Result<bool, SmilesError> {
        if self.peek() != Some(b'@') {
            return Ok(false);
        }
        self.at += 1;
        if self.peek() == Some(b'@') {
            self.at += 1;
            return Ok(true);
        }
        let class = self.text.get(self.at..self.at + 2).unwrap_or_default();
        if [b"TH", b"AL", b"SP", b"TB", b"OH"].iter().any(|known| class == *known) {
            self.at += 2;
            if self.digits(30, "the number of a chirality")?.is_none() {
                return Err(self.error(self.at, self.shown(self.at), "the number of a chirality"));
            }
        }
        Ok(true)
    }

    fn read_charge(&mut self) -> Result<i8, SmilesError> {
        let Some(sign @ (b'+' | b'-')) = self.peek() else { return Ok(0) };
        self.at += 1;
        let mut size = 1;
        if self.peek() == Some(sign) {
            while self.peek() == Some(sign) {
                self.at += 1;
                size += 1;
            }
        } else if let Some(number) = self.digits(15, "a charge")? {
            size = number;
        }
        if size > 15 {
            return Err(self.error(self.at, format!("a charge of {size}"), "a charge from -15 to +15"));
        }
        Ok(if sign == b'+' { size as i8 } else { -(size as i8) })
    }

    /// A number of digits, at most `most`; `None`: no digit.
    fn digits(&mut self, most: u32, what: &str) -> Result<Option<u32>, SmilesError> {
        let start = self.at;
        let mut number = None;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            let next = number.unwrap_or(0) * 10 + u32::from(digit - b'0');
            if next > most {
                return Err(self.error(start, format!("{what} above {most}"), format!("0 … {most}")));
            }
            number = Some(next);
            self.at += 1;
        }
        Ok(number)
    }
}
