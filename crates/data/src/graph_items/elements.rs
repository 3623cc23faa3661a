//! The chemical elements.

/// Symbols by atomic number; 0 stands for an unknown atom.
pub(super) const SYMBOLS: &[&str] = &[
    "*", "H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "Ar",
    "K", "Ca", "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr",
    "Rb", "Sr", "Y", "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe",
    "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu",
    "Hf", "Ta", "W", "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra",
    "Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr", "Rf", "Db",
    "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og",
];

pub(super) const HYDROGEN: u8 = 1;

/// The atomic number of a symbol.
pub(super) fn number(symbol: &str) -> Option<u8> {
    SYMBOLS.iter().position(|known| *known == symbol).map(|number| number as u8)
}

/// Usual numbers of bonds of atoms that may stand without brackets, ascending.
pub(super) fn valences(element: u8) -> &'static [u8] {
    match SYMBOLS[usize::from(element)] {
        "B" => &[3],
        "C" => &[4],
        "N" | "P" => &[3, 5],
        "O" => &[2],
        "S" => &[2, 4, 6],
        "F" => &[1],
        "Cl" | "Br" | "I" => &[1, 3, 5, 7],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_periodic_table() {
        for (symbol, expected) in
            [("H", 1), ("C", 6), ("Cl", 17), ("Br", 35), ("Xe", 54), ("U", 92), ("Og", 118)]
        {
            assert_eq!(number(symbol), Some(expected));
        }
        assert_eq!(number("Xx"), None);
    }
}
