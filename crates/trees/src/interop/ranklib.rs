/*!
RankLib's XML of LambdaMART, also for Elasticsearch's and OpenSearch's plug-in (`model/ranklib`).

A row goes left where `value <= threshold`, all in `f32`; there is no branch for missing values: RankLib takes them for 0.
A model whose missing values go elsewhere is refused, unless [`Missing::AsZero`] says that this is meant.

Trees are counted from 1. A feature is called by its number in LETOR files, from 1: its name where the names of the model are
numbers, else its place. Comments of the file say what the numbers stand for where that is not plain.

[`Missing::AsZero`]: super::Missing::AsZero
*/

use std::collections::HashMap;
use std::fmt::Write;

use quick_xml::Reader;
use quick_xml::events::Event;
use toprank_core::ModelError;
use toprank_data::ReadError;

use super::shape::{folded_single, java, missing_as_zero, one_output, shallow, threshold};
use super::{Export, Format, Player};
use crate::ensemble::Ensemble;
use crate::tree::{Next, Tree};

/// The XML.
pub(crate) const FORMAT: Format = Format {
    name: "ranklib",
    extension: "xml",
    about: "RankLib's LambdaMART, also for Elasticsearch's and OpenSearch's plug-in",
    single: true,
    sees: |value, _| value,
    write,
    read: None,
    play: |bytes, _| play(bytes),
};

fn write(ensemble: &Ensemble, export: &Export) -> Result<Vec<u8>, ModelError> {
    one_output(ensemble, "RankLib")?;
    let trees = folded_single(ensemble)?;
    let ids = ids(ensemble.width, export.names);
    let most = trees.iter().map(|tree| tree.leaves.len()).max().unwrap_or(1);
    let mut text = format!(
        "## LambdaMART\n## No. of trees = {}\n## No. of leaves = {most}\n## No. of threshold candidates = 256\n\
         ## Learning rate = 1.0\n## Stop early = 0\n",
        trees.len()
    );
    if !(1..).zip(&ids).all(|(place, &id)| id == place) {
        let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
        let _ = writeln!(text, "{IDS}{}", ids.join(" "));
    }
    for (id, name) in ids.iter().zip(export.names).filter(|(id, name)| id.to_string() != **name) {
        let _ = writeln!(text, "## Feature {id} = {name}");
    }
    text.push_str("\n<ensemble>\n");
    for (t, tree) in trees.iter().enumerate() {
        shallow(tree, t)?;
        for (at, node) in tree.nodes.iter().enumerate() {
            threshold(node, t, at, "RankLib")?;
            missing_as_zero(node, t, at, export.missing, "RankLib")?;
        }
        let _ = writeln!(text, "\t<tree id=\"{}\" weight=\"1.0\">", t + 1);
        let root = if tree.nodes.is_empty() { Next::Leaf(0) } else { Next::Node(0) };
        split(&mut text, tree, &ids, root, "", 2);
        text.push_str("\t</tree>\n");
    }
    text.push_str("</ensemble>\n");
    Ok(text.into_bytes())
}

/// The comment that lists the numbers of the features where they are not 1, 2, 3 …
const IDS: &str = "## Feature numbers = ";

/// The number of each feature in LETOR files.
fn ids(width: usize, names: &[String]) -> Vec<u32> {
    let number = |name: &String| name.parse::<u32>().ok().filter(|&id| id > 0 && id.to_string() == *name);
    let named: Option<Vec<u32>> = names.iter().map(number).collect();
    named.filter(|ids| ids.len() == width).unwrap_or_else(|| (1..=width as u32).collect())
}

fn split(text: &mut String, tree: &Tree, ids: &[u32], next: Next, side: &str, depth: usize) {
    let indent = "\t".repeat(depth);
    let _ = writeln!(text, "{indent}<split{side}>");
    match next {
        Next::Leaf(leaf) => {
            let _ =
                writeln!(text, "{indent}\t<output> {} </output>", java(tree.leaves[leaf as usize] as f32));
        }
        Next::Node(at) => {
            let node = &tree.nodes[at as usize];
            let crate::Test::AtMost(threshold) = node.test else { unreachable!("refused before") };
            let _ = writeln!(text, "{indent}\t<feature> {} </feature>", ids[node.feature as usize]);
            let _ = writeln!(text, "{indent}\t<threshold> {} </threshold>", java(threshold));
            split(text, tree, ids, node.left, " pos=\"left\"", depth + 1);
            split(text, tree, ids, node.right, " pos=\"right\"", depth + 1);
        }
    }
    let _ = writeln!(text, "{indent}</split>");
}

/// A split as the XML has it.
#[derive(Default)]
struct Split {
    feature: Option<usize>,
    threshold: Option<f32>,
    output: Option<f32>,
    left: Option<usize>,
    right: Option<usize>,
}

/// Walks the XML's own splits.
fn play(bytes: &[u8]) -> Result<Player, ReadError> {
    let wrong = |found: String| ReadError::data("the written model", found, "RankLib's XML");
    let text = std::str::from_utf8(bytes).map_err(|error| wrong(error.to_string()))?;
    // Where a feature of a number stands in a row.
    let listed = text.lines().find_map(|line| line.strip_prefix(IDS));
    let places: Option<HashMap<usize, usize>> =
        listed.map(|ids| ids.split(' ').filter_map(|id| id.parse().ok()).zip(0..).collect());
    let start = text.find("<ensemble>").ok_or_else(|| wrong("no <ensemble>".into()))?;
    let mut reader = Reader::from_str(&text[start..]);
    let mut splits: Vec<Split> = Vec::new();
    let mut trees: Vec<(f32, usize)> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let (mut weight, mut content) = (1.0f32, String::new());
    loop {
        match reader.read_event().map_err(|error| wrong(error.to_string()))? {
            Event::Start(tag) => {
                content.clear();
                let attribute = |name: &str| {
                    let found = tag.try_get_attribute(name).ok().flatten()?;
                    Some(found.value.into_owned())
                };
                match tag.name().as_ref() {
                    "tree" => {
                        let found = attribute("weight").and_then(|text| text.parse().ok());
                        weight = found.ok_or_else(|| wrong("a tree without a weight".into()))?;
                    }
                    "split" => {
                        let at = splits.len();
                        splits.push(Split::default());
                        match (open.last(), attribute("pos").as_deref()) {
                            (None, None) => trees.push((weight, at)),
                            (Some(&parent), Some("left")) => splits[parent].left = Some(at),
                            (Some(&parent), Some("right")) => splits[parent].right = Some(at),
                            _ => return Err(wrong("a split without its side".into())),
                        }
                        open.push(at);
                    }
                    _ => {}
                }
            }
            Event::Text(found) => content.push_str(&found),
            Event::End(tag) => {
                let at = open.last().copied();
                let number = content.trim();
                match (tag.name().as_ref(), at) {
                    ("feature", Some(at)) => splits[at].feature = number.parse().ok(),
                    ("threshold", Some(at)) => splits[at].threshold = number.parse().ok(),
                    ("output", Some(at)) => splits[at].output = number.parse().ok(),
                    ("split", _) => {
                        open.pop();
                    }
                    _ => {}
                }
                content.clear();
            }
            Event::Eof => break,
            _ => {}
        }
    }
    let walk = move |row: &[f32], root: usize| -> Option<f32> {
        let mut at = root;
        loop {
            let split = &splits[at];
            if let Some(output) = split.output {
                return Some(output);
            }
            let id = split.feature?;
            let place =
                places.as_ref().map_or_else(|| id.checked_sub(1), |places| places.get(&id).copied())?;
            let value = *row.get(place)?;
            let value = if value.is_nan() { 0.0 } else { value };
            at = if value <= split.threshold? { split.left? } else { split.right? };
        }
    };
    // NaN, where the XML lacks something, equals no value of a leaf.
    let play = move |row: &[f32]| {
        let value =
            |&(weight, root): &(f32, usize)| walk(row, root).map_or(f64::NAN, |v| f64::from(weight * v));
        trees.iter().map(value).collect()
    };
    Ok(Box::new(play))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::test_models::grown;
    use crate::interop::{Missing, probe_rows, verify};

    fn text(names: &[&str]) -> String {
        let model = grown(1, false);
        let names: Vec<String> = names.iter().map(|name| (*name).into()).collect();
        let export = Export { names: &names, missing: Missing::AsZero, ..Export::default() };
        let (bytes, _) = verify(&model, &FORMAT, &export, &probe_rows(&model, 500, 5)).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn features(text: &str) -> Vec<&str> {
        let mut found: Vec<&str> =
            text.split("<feature> ").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn features_are_called_by_their_numbers_in_letor_files_and_trees_are_counted_from_1() {
        let by_place = text(&[]);
        assert_eq!(features(&by_place), ["1", "2", "3", "4"]);
        assert!(by_place.contains("<tree id=\"1\"") && !by_place.contains("<tree id=\"0\""));
        assert_eq!(text(&["1", "2", "3", "4"]), by_place);
        let by_number = text(&["1", "3", "7", "8"]);
        assert_eq!(features(&by_number), ["1", "3", "7", "8"]);
        assert!(by_number.contains("## Feature numbers = 1 3 7 8\n"));
        let named = text(&["price", "age", "c", "d"]);
        assert_eq!(features(&named), features(&by_place));
        assert!(named.contains("## Feature 2 = age\n"));
    }

    #[test]
    fn a_refusal_counts_trees_and_features_from_1() {
        let model = grown(1, false);
        let error = write(&model, &Export::default()).unwrap_err().to_string();
        let numbers: Vec<u32> =
            error.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
        assert!(error.starts_with("tree ") && numbers[..3].iter().all(|&number| number >= 1), "{error}");
        let first = model
            .trees
            .iter()
            .position(|tree| tree.nodes.iter().any(|node| node.goes_left(f32::NAN) != node.goes_left(0.0)));
        assert_eq!(numbers[0] as usize, first.unwrap() + 1, "{error}");
    }
}
