//! Rows that belong to classes: what an embedding learns from and is judged on.

use toprank_core::{Features, Lists, ParamError};
use toprank_data::split::{self, Part};
use toprank_data::transform::MOST_DENSE;
use toprank_data::{Dataset, Matrix, Names};

use crate::fit::engine::Examples;

/// Rows and the class of each. A class is a list of the data set, so its rows lie together, and all that is done to lists
/// (splits, samplers) is done to classes.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    /// One list per class, called by its name; every label is 1. The numbers of rows in their file are kept.
    pub data: Dataset,
}

impl Classes {
    /// The lists of `data` are the classes, where it has several or they have names (a column was named for them); in one
    /// nameless list each label is a class.
    ///
    /// ```
    /// use toprank_core::Lists;
    /// use toprank_data::{Dataset, Matrix};
    /// use toprank_train::embed::Classes;
    /// let data = Dataset {
    ///     lists: Lists::from_lengths(&[3], vec![7.0, 2.0, 7.0]),
    ///     features: Matrix::Dense { width: 1, values: vec![0.1, 0.2, 0.3] },
    ///     ..Dataset::default()
    /// };
    /// let classes = Classes::of(data).unwrap();
    /// assert_eq!((classes.len(), classes.name(1)), (2, "7".to_string()));
    /// assert_eq!(classes.data.features, Matrix::Dense { width: 1, values: vec![0.2, 0.1, 0.3] });
    /// ```
    ///
    /// # Errors
    /// If rows are shared between lists, a row has no class, or the features are too many to be written out.
    pub fn of(data: Dataset) -> Result<Classes, ParamError> {
        let wrong = |found: &str, expected: &str| Err(ParamError::new("the classes", found, expected));
        if data.lists.rows.is_some() || data.lists.output.is_some() {
            return wrong("several labels over the same rows", "one class for each row");
        }
        if data.columns.iter().any(|column| column.levels.is_some()) {
            let expected = "numbers only: an embedding network does not read words, code them as 0 and 1";
            return Err(ParamError::new("the features", "categories", expected));
        }
        let rows = data.lists.entries();
        let (width, named) = (data.features.width(), data.list_names.is_some() || data.lists.len() > 1);
        if rows.saturating_mul(width) > MOST_DENSE || rows > u32::MAX as usize {
            let found = format!("{rows} rows of {width} features");
            return Err(ParamError::new("the features", &found, &format!("at most {MOST_DENSE} numbers")));
        }
        let mut order: Vec<u32> = (0..rows as u32).collect();
        let (mut lengths, mut names) = (Vec::new(), Names::default());
        if named {
            for q in 0..data.lists.len() {
                lengths.push(data.lists.range(q).len());
                match &data.list_names {
                    Some(known) => names.push(known.get(q)),
                    None => names.push(&(q + 1).to_string()),
                }
            }
        } else {
            let label = |row: u32| data.lists.labels[row as usize];
            if let Some(row) = order.iter().find(|row| label(**row).is_nan()) {
                let found = format!("none for row {}", data.file_row(*row as usize) + 1);
                return wrong(&found, "a label for each row, or a column of names (--class)");
            }
            order.sort_by(|a, b| label(*a).total_cmp(&label(*b)));
            for same in order.chunk_by(|a, b| label(*a) == label(*b)) {
                lengths.push(same.len());
                names.push(&label(same[0]).to_string());
            }
        }
        let mut values = vec![0.0; rows * width];
        data.features.gather(&order, &mut values);
        let in_file = |row: &u32| data.file_row(*row as usize) as u32;
        let item_names = data.item_names.as_ref().map(|old| {
            let mut new = Names::default();
            for &row in &order {
                new.push(old.get(row as usize));
            }
            new
        });
        Ok(Classes {
            data: Dataset {
                lists: Lists::from_lengths(&lengths, vec![1.0; rows]),
                features: Matrix::Dense { width, values },
                file_rows: Some(order.iter().map(in_file).collect()),
                columns: data.columns,
                list_names: Some(names),
                item_names,
                ..Dataset::default()
            },
        })
    }

    /// Rows without classes, as one class: for views, which need none.
    ///
    /// # Errors
    /// As [`Classes::of`].
    pub fn unlabelled(mut data: Dataset) -> Result<Classes, ParamError> {
        if data.lists.rows.is_none() {
            data.lists = Lists::from_lengths(&[data.lists.entries()], vec![0.0; data.lists.entries()]);
        }
        data.list_names = None;
        Classes::of(data)
    }

    /// Divides the **classes**, so that no class is in two parts: `60/20/20` (that is, `lists:fractions=60/20/20`) for train,
    /// validation and test, or `none`.
    ///
    /// # Errors
    /// If it is no split of whole classes.
    pub fn split(&self, how: &str, seed: u64) -> Result<[Classes; 3], ParamError> {
        let spec = split::parse(how)?;
        if !["lists", "none"].contains(&spec.name.as_str()) {
            let expected = "a split of whole classes: fractions such as 60/20/20, or none";
            return Err(ParamError::new("split", how, expected));
        }
        let parts = split::plan(&self.data, &spec, seed)?;
        let part = |name: &str| {
            let of = |part: &Part| part.name == name;
            let found = parts.iter().find(|part| of(part)).map(|part| part.take(&self.data));
            Classes { data: found.unwrap_or_default() }
        };
        Ok(["train", "vali", "test"].map(part))
    }

    /// Lists and features.
    pub(crate) fn examples(&self) -> Examples<'_> {
        Examples { lists: &self.data.lists, features: &self.data.features }
    }

    /// Number of classes.
    pub fn len(&self) -> usize {
        self.data.lists.len()
    }

    /// True if there is no class.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.data.lists.entries()
    }

    /// The name of a class.
    pub fn name(&self, class: usize) -> String {
        self.data.list_names.as_ref().map_or_else(|| (class + 1).to_string(), |names| names.get(class).into())
    }

    /// The names of all classes.
    pub fn names(&self) -> Vec<String> {
        (0..self.len()).map(|class| self.name(class)).collect()
    }

    /// Only the classes with one of these names.
    ///
    /// # Errors
    /// If none is left.
    pub fn only(&self, names: &[String]) -> Result<Classes, ParamError> {
        let wanted = |class: &u32| names.contains(&self.name(*class as usize));
        let kept: Vec<u32> = (0..self.len() as u32).filter(wanted).collect();
        if kept.is_empty() {
            let expected = format!(
                "rows of some of {}",
                toprank_data::error::show_names(names.iter().map(String::as_str))
            );
            return Err(ParamError::new("the classes", "none of the part", &expected));
        }
        Ok(Classes { data: split::subset_lists(&self.data, &kept) })
    }

    /// The class of every row.
    pub fn of_rows(&self) -> Vec<u32> {
        let lists = &self.data.lists;
        (0..self.len())
            .flat_map(|class| std::iter::repeat_n(class as u32, lists.range(class).len()))
            .collect()
    }
}
