/*!
Rows of several classes: a column that names the class of each row becomes one list and one model output per class, one against the
rest. All that is known of multi-label data (folds, metrics per label and their mean, outputs) then holds for classes.

```
use toprank_data::{ReadOptions, Source, classes, formats};
let text = Source::bytes("d.csv", *b"x,kind\n1,cat\n2,dog\n3,cat\n4,emu\n");
let options = ReadOptions { label_optional: true, keep: vec!["kind".into()], ..ReadOptions::default() };
let data = classes::one_list_each(formats::read(&text, &options).unwrap(), "d.csv", "kind", None).unwrap();
assert_eq!(data.output_names.unwrap().iter().collect::<Vec<_>>(), ["cat", "dog", "emu"]);
assert_eq!(data.lists.labels[..4], [1.0, 0.0, 1.0, 0.0]);
```
*/

use hashbrown::HashMap;
use toprank_core::Lists;

use crate::dataset::Dataset;
use crate::error::{ReadError, show};
use crate::names::Names;

/// Each class has a model output, and trees of its own in every boosting round.
const MOST: usize = 1000;

/// One list per class over all rows, label 1 for the rows of the class and 0 for the others. The class stands in the kept column
/// `column`, which is no feature afterwards. Classes are `known` ones (those of the training data), else those that occur, in the order
/// of their numbers if all are numbers, else bytewise.
///
/// # Errors
/// If there are several lists already, fewer than two classes or more than 1000, or a row without a class or of one that is not known.
pub fn one_list_each(
    mut data: Dataset,
    file: &str,
    column: &str,
    known: Option<&Names>,
) -> Result<Dataset, ReadError> {
    if data.lists.len() > 1 || data.lists.rows.is_some() {
        let expected = "rows without a list column and with one label: each class becomes a list";
        return Err(ReadError::options(file, format!("{} lists", data.lists.len()), expected));
    }
    let Some(at) = data.extra.iter().position(|(name, _)| name == column) else {
        return Err(ReadError::options(file, format!("no column {column}"), "the column of the class"));
    };
    let (_, of_rows) = data.extra.remove(at);
    if let Some(feature) = data.columns.iter().position(|feature| feature.name == column) {
        data.columns.remove(feature);
        let others: Vec<Option<usize>> =
            (0..data.features.width()).filter(|&other| other != feature).map(Some).collect();
        data.features = data.features.pick_columns(&others, 0.0);
    }
    let names = known.cloned().unwrap_or_else(|| in_order(&of_rows));
    if !(2..=MOST).contains(&names.len()) {
        let found = format!("{} classes", names.len());
        return Err(ReadError::data(file, found, format!("2 to {MOST}")).in_column(column));
    }
    let numbers: HashMap<&str, usize> = names.iter().zip(0..).collect();
    let rows = of_rows.len();
    let mut labels = vec![0.0; rows * names.len()];
    for (row, class) in of_rows.iter().enumerate() {
        let Some(&number) = numbers.get(class) else {
            let (found, expected) = match class {
                "" => ("a row without a class".to_string(), "a class for each row"),
                class => (format!("class {}", show(class.as_bytes())), "a class of the training data"),
            };
            let error = ReadError::data(file, found, expected).in_column(column);
            return Err(match data.lines.of(row) {
                Some(line) => error.at_line(line),
                None => error,
            });
        };
        labels[number * rows + row] = 1.0;
    }
    drop(numbers);
    data.lists = Lists {
        rows: Some((0..names.len()).flat_map(|_| 0..rows as u32).collect()),
        output: Some((0..names.len() as u16).collect()),
        item_weights: data.lists.item_weights.map(|weights| weights.repeat(names.len())),
        ..Lists::from_lengths(&vec![rows; names.len()], labels)
    };
    data.list_names = Some(names.clone());
    data.output_names = Some(names);
    Ok(data)
}

/// Every class once; rows without a class are left to the caller.
fn in_order(of_rows: &Names) -> Names {
    let mut classes: Vec<&str> = of_rows.iter().filter(|class| !class.is_empty()).collect();
    classes.sort_unstable();
    classes.dedup();
    let numbers: Option<Vec<f64>> = classes.iter().map(|class| class.parse().ok()).collect();
    if let Some(numbers) = numbers {
        let mut order: Vec<usize> = (0..classes.len()).collect();
        order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
        return order.into_iter().map(|at| classes[at]).collect();
    }
    classes.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{self, ReadOptions};
    use crate::source::Source;

    fn read(text: &str, known: Option<&Names>) -> Result<Dataset, String> {
        let keep = vec!["kind".into()];
        let options = ReadOptions { label_optional: true, keep, ..ReadOptions::default() };
        let data = formats::read(&Source::bytes("d.csv", text.as_bytes()), &options).unwrap();
        one_list_each(data, "d.csv", "kind", known).map_err(|error| error.to_string())
    }

    #[test]
    fn classes_that_are_numbers_are_ordered_by_them_and_are_no_feature() {
        let data = read("x,kind,item_weight\n1,10,2\n2,9,1\n3,10,1\n", None).unwrap();
        let names: Vec<&str> = data.output_names.as_ref().unwrap().iter().collect();
        assert_eq!(names, ["9", "10"]);
        assert_eq!((data.columns.len(), data.features.width()), (1, 1));
        assert_eq!(data.lists.labels, [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
        assert_eq!(data.lists.item_weights.as_deref(), Some([2.0, 1.0, 1.0, 2.0, 1.0, 1.0].as_slice()));
        assert_eq!(data.lists.check(), Ok(()));
    }

    #[test]
    fn rows_without_a_known_class_are_named() {
        let train = read("x,kind\n1,a\n2,b\n", None).unwrap();
        let valid = read("x,kind\n1,b\n", train.output_names.as_ref()).unwrap();
        assert_eq!(valid.lists.labels, [0.0, 1.0]);
        let error = read("x,kind\n1,b\n2,c\n", train.output_names.as_ref()).unwrap_err();
        assert_eq!(error, "d.csv:3: column kind: class \"c\"; expected a class of the training data.");
        assert!(
            read("x,kind\n1,b\n2,\n3,c\n", None)
                .unwrap_err()
                .contains("d.csv:3: column kind: a row without a class")
        );
        assert!(read("x,kind\n1,b\n", None).unwrap_err().contains("1 classes; expected 2 to 1000"));
        assert!(read("qid,x,kind\n1,1,b\n2,1,a\n", None).unwrap_err().contains("2 lists"));
    }
}
