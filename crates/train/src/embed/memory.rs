/*!
Cross-batch memory: vectors of past batches as further candidates, without a gradient.

Source: Wang, Zhang, Huang, Scott, "Cross-batch memory for embedding learning", CVPR 2020. A row has at most one vector, its
newest; the oldest place is given away first. Rows of the present batch are not taken from it.
*/

/// The place of a row that has none.
const NOWHERE: u32 = u32::MAX;

/// A ring of rows and their vectors.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Memory {
    most: usize,
    width: usize,
    /// The rows, place by place.
    pub rows: Vec<u32>,
    /// Their vectors.
    pub vectors: Vec<f32>,
    /// The place to be given away next once all are taken.
    pub next: usize,
    /// The place of every row.
    places: Vec<u32>,
}

impl Memory {
    /// Space for `most` of `rows` rows.
    pub fn new(most: usize, width: usize, rows: usize) -> Memory {
        let places = if most == 0 { Vec::new() } else { vec![NOWHERE; rows] };
        Memory { most, width, places, ..Memory::default() }
    }

    /// What a checkpoint holds; `None`: it is not of this memory.
    pub fn restored(&self, rows: Vec<u32>, vectors: Vec<f32>, next: usize) -> Option<Memory> {
        let mut memory = Memory::new(self.most, self.width, self.places.len());
        let fits = rows.len() <= self.most && vectors.len() == rows.len() * self.width;
        if !fits || next > self.most || rows.iter().any(|row| *row as usize >= self.places.len()) {
            return None;
        }
        for (place, &row) in rows.iter().enumerate() {
            if memory.places[row as usize] != NOWHERE {
                return None;
            }
            memory.places[row as usize] = place as u32;
        }
        Some(Memory { rows, vectors, next, ..memory })
    }

    /// Rows and vectors that are not of the ascending `batch`.
    pub fn beside(&self, batch: &[u32], rows: &mut Vec<u32>, vectors: &mut Vec<f32>) {
        rows.clear();
        vectors.clear();
        for (row, vector) in self.rows.iter().zip(self.vectors.chunks_exact(self.width.max(1))) {
            if batch.binary_search(row).is_err() {
                rows.push(*row);
                vectors.extend_from_slice(vector);
            }
        }
    }

    /// Takes in the vectors of a batch.
    pub fn push(&mut self, batch: &[u32], vectors: &[f32]) {
        if self.most == 0 {
            return;
        }
        for (&row, vector) in batch.iter().zip(vectors.chunks_exact(self.width)) {
            let place = match self.places[row as usize] {
                NOWHERE if self.rows.len() < self.most => {
                    self.rows.push(row);
                    self.vectors.extend_from_slice(vector);
                    self.rows.len() - 1
                }
                NOWHERE => {
                    let place = self.next % self.most;
                    self.next = (place + 1) % self.most;
                    self.places[self.rows[place] as usize] = NOWHERE;
                    self.rows[place] = row;
                    place
                }
                place => place as usize,
            };
            self.places[row as usize] = place as u32;
            self.vectors[place * self.width..][..self.width].copy_from_slice(vector);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_there_once_with_its_newest_vector_and_the_oldest_goes_first() {
        let mut memory = Memory::new(3, 1, 10);
        memory.push(&[1, 2], &[0.1, 0.2]);
        memory.push(&[2, 5], &[0.3, 0.5]);
        assert_eq!(
            (memory.rows.as_slice(), memory.vectors.as_slice()),
            (&[1, 2, 5][..], &[0.1, 0.3, 0.5][..])
        );
        memory.push(&[7], &[0.7]);
        assert_eq!(memory.rows, [7, 2, 5]);
        let (mut rows, mut vectors) = (Vec::new(), Vec::new());
        memory.beside(&[1, 2, 9], &mut rows, &mut vectors);
        assert_eq!((rows, vectors), (vec![7, 5], vec![0.7, 0.5]));
        let back = memory.restored(memory.rows.clone(), memory.vectors.clone(), memory.next).unwrap();
        assert_eq!(back, memory);
        assert!(memory.restored(vec![1, 1], vec![0.0; 2], 0).is_none(), "a row twice");
        assert!(memory.restored(vec![10], vec![0.0], 0).is_none(), "no such row");
        assert!(memory.restored(vec![1], vec![0.0; 2], 0).is_none(), "half a vector");
    }

    #[test]
    fn without_room_nothing_is_kept() {
        let mut memory = Memory::new(0, 4, 100);
        memory.push(&[1], &[1.0; 4]);
        assert!(memory.rows.is_empty() && memory.places.is_empty());
    }
}
