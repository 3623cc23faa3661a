//! Many short names in one piece of memory.

/// Names of items or lists: one text, cut by offsets.
///
/// ```
/// use toprank_data::Names;
/// let names: Names = ["doc-1", "", "doc-3"].into_iter().collect();
/// assert_eq!(names.get(2), "doc-3");
/// assert_eq!(names.len(), 3);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    text: String,
    ends: Vec<u64>,
}

impl Names {
    /// No name yet.
    pub fn new() -> Names {
        Names::default()
    }

    /// No name yet, with capacity for `names` names of `bytes` bytes in all.
    pub fn with_capacity(names: usize, bytes: usize) -> Names {
        Names { text: String::with_capacity(bytes), ends: Vec::with_capacity(names) }
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there is no name.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Name `i`.
    #[inline]
    pub fn get(&self, i: usize) -> &str {
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.text[start..self.ends[i] as usize]
    }

    /// Adds a name at the end.
    #[inline]
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len() as u64);
    }

    /// Adds all names of `other` at the end.
    ///
    /// ```
    /// use toprank_data::Names;
    /// let mut names: Names = ["a"].into_iter().collect();
    /// names.append(&["b", "c"].into_iter().collect());
    /// assert_eq!(names, ["a", "b", "c"].into_iter().collect());
    /// ```
    pub fn append(&mut self, other: &Names) {
        let before = self.text.len() as u64;
        self.text.push_str(&other.text);
        self.ends.extend(other.ends.iter().map(|end| before + end));
    }

    /// The name added last.
    pub fn last(&self) -> Option<&str> {
        self.len().checked_sub(1).map(|last| self.get(last))
    }

    /// Removes all names and keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// All names in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// All names in one text, and where each ends in it.
    pub(crate) fn parts(&self) -> (&str, &[u64]) {
        (&self.text, &self.ends)
    }

    /// Names out of their parts; `None` unless every end is one of a character and none is before the last.
    pub(crate) fn from_parts(text: String, ends: Vec<u64>) -> Option<Names> {
        let inside = |end: &u64| usize::try_from(*end).is_ok_and(|end| text.is_char_boundary(end));
        let whole = ends.last().copied().unwrap_or(0) == text.len() as u64;
        (whole && ends.is_sorted() && ends.iter().all(inside)).then_some(Names { text, ends })
    }

    /// Bytes held in memory.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<u64>()
    }

    /// Frees spare memory.
    pub fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

impl<S: AsRef<str>> FromIterator<S> for Names {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Names {
        let mut all = Names::new();
        names.into_iter().for_each(|name| all.push(name.as_ref()));
        all
    }
}
