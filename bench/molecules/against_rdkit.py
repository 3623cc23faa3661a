"""Compares the SMILES reader with RDKit, molecule by molecule: what is refused, atoms, bonds, hydrogens, charges, rings,
aromaticity, and which molecules share a scaffold.

    cargo build -p toprank-bench --no-default-features
    python bench/molecules/against_rdkit.py DATA/binary/molecules

Needs the Python package rdkit; nothing of toprank uses it.
"""
import csv, gzip, json, subprocess, sys
from collections import Counter, defaultdict
from pathlib import Path

from rdkit import Chem, RDLogger
from rdkit.Chem.Scaffolds import MurckoScaffold

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import harness  # noqa: E402

RDLogger.DisableLog("rdApp.*")
ORDERS = {Chem.BondType.SINGLE: "Single", Chem.BondType.DOUBLE: "Double", Chem.BondType.TRIPLE: "Triple",
          Chem.BondType.QUADRUPLE: "Quadruple", Chem.BondType.AROMATIC: "Aromatic"}


def compare(name, smiles, ours):
    count = Counter()
    examples = defaultdict(list)
    rdkit_of, ours_of = defaultdict(set), defaultdict(set)
    for number, (text, our) in enumerate(zip(smiles, ours)):
        mol = Chem.MolFromSmiles(text)
        seen = []
        if "error" in our or mol is None:
            if "error" in our and mol is None:
                seen.append("refused by both")
            elif "error" in our:
                seen.append("refused by us only")
            else:
                seen.append("refused by RDKit only")
        else:
            count["both"] += 1
            atoms = [(a.GetAtomicNum(), a.GetFormalCharge(), a.GetTotalNumHs(), a.GetIsAromatic(), a.IsInRing())
                     for a in mol.GetAtoms()]
            if len(atoms) != len(our["atoms"]):
                seen.append("atoms")
            else:
                for place, what in enumerate(["element", "charge", "hydrogens", "aromatic", "ring"]):
                    if any(a[place] != b[place] for a, b in zip(atoms, our["atoms"])):
                        seen.append(what)
            ends = {tuple(sorted((b.GetBeginAtomIdx(), b.GetEndAtomIdx()))): b for b in mol.GetBonds()}
            mine = {tuple(sorted(e)): (o, r) for e, o, r in our["bonds"]}
            if ends.keys() != mine.keys():
                seen.append("bonds")
            else:
                if any(ORDERS.get(b.GetBondType()) != mine[e][0] for e, b in ends.items()):
                    seen.append("bond order")
                if any(b.IsInRing() != mine[e][1] for e, b in ends.items()):
                    seen.append("ring bond")
            if "aromatic" not in seen:
                scaffold = MurckoScaffold.MurckoScaffoldSmiles(mol=mol, includeChirality=False)
                rdkit_of[scaffold].add(our["scaffold"])
                ours_of[our["scaffold"]].add(scaffold)
                count["scaffolds compared"] += 1
        for what in seen:
            count[what] += 1
            if len(examples[what]) < 4:
                examples[what].append((text, our.get("error", "")))
    count["scaffolds of RDKit"] = len(rdkit_of)
    count["scaffolds of ours"] = len(ours_of)
    count["RDKit's scaffolds that we split"] = sum(len(v) > 1 for v in rdkit_of.values())
    count["our scaffolds that RDKit splits"] = sum(len(v) > 1 for v in ours_of.values())
    print(name, len(smiles), dict(count))
    for what, some in examples.items():
        for text, error in some:
            print("   ", what, text[:110], error)
    some = [v for v in ours_of.values() if len(v) > 1][:4]
    print("    joined:", some, "\n    split:", [k for k, v in rdkit_of.items() if len(v) > 1][:6])


def main():
    folder = sys.argv[1]
    for name in ["hiv", "tox21", "bbbp", "clintox", "sider"]:
        with gzip.open(f"{folder}/{name}.csv.gz", "rt") as file:
            smiles = [row["smiles"] for row in csv.DictReader(file)]
        found = subprocess.run(harness.command("molecules", "debug"), input="\n".join(smiles), capture_output=True, text=True, check=True)
        compare(name, smiles, [json.loads(line) for line in found.stdout.splitlines()])


if __name__ == "__main__":
    main()
