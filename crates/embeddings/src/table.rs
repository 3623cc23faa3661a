/*!
Numbers of a table: on the heap, or in a memory-mapped file.

A memory-mapped table of a training run is a temporary file without a name: no other process can open it, and it is deleted when
the process ends, however it ends. The system writes pages to it when memory is short, as it would to swap, and keeps them in memory
otherwise. All of its blocks are reserved on the disk before it is mapped, because a disk that is full when a page is written would
kill the process (SIGBUS) in the middle of a step: here it is an error at the start.

Two cases remain: a failing disk kills the process when a page is read, and copy-on-write file systems (btrfs, ZFS) can run full
in spite of the reservation. A checkpoint survives both.
*/

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use memmap2::{Mmap, MmapMut, MmapOptions};

/// Where tables are stored. The numbers in them do not depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TableStorage {
    /// On the heap.
    #[default]
    Memory,
    /// In memory-mapped temporary files in this folder.
    Folder(PathBuf),
}

impl TableStorage {
    /// Memory for tables that take at most half of it (of the machine, or of its container if that has a limit), otherwise
    /// `folder`. If the size of the memory is unknown: memory.
    pub fn fitting(bytes: u64, folder: &Path) -> TableStorage {
        chosen(bytes, memory(), folder)
    }
}

fn chosen(bytes: u64, memory: Option<u64>, folder: &Path) -> TableStorage {
    match memory {
        Some(memory) if bytes > memory / 2 => TableStorage::Folder(folder.to_path_buf()),
        _ => TableStorage::Memory,
    }
}

/// Bytes of memory that are available to this process.
fn memory() -> Option<u64> {
    // Version 2 and version 1 of control groups, as a container sees its own; "max" is not a number.
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limits = limits.iter().filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok());
    limits.chain(physical()).min()
}

#[cfg(unix)]
fn physical() -> Option<u64> {
    // SAFETY: sysconf takes a number by value; what it does not know is −1.
    let [pages, size] = [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
    u64::try_from(pages).ok()?.checked_mul(u64::try_from(size).ok()?)
}

#[cfg(not(unix))]
fn physical() -> Option<u64> {
    None
}

/// A folder without enough space for a table, or that cannot be written to.
#[derive(Debug)]
pub struct TableError {
    folder: PathBuf,
    bytes: u64,
    error: io::Error,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let TableError { folder, bytes, error } = self;
        let folder = folder.display();
        write!(
            f,
            "{folder}: no table of {bytes} bytes can be made there ({error}); expected a folder on a disk with enough space"
        )
    }
}

impl std::error::Error for TableError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Numbers of one table; dereferences to a slice.
///
/// ```
/// use toprank_embeddings::{TableStorage, Table};
/// let mut table = Table::zeroed(3, &TableStorage::Folder(std::env::temp_dir())).unwrap();
/// table[1] = 0.5;
/// assert_eq!(*table, [0.0, 0.5, 0.0]);
/// ```
#[derive(Default)]
pub struct Table(Store);

enum Store {
    Heap(Vec<f32>),
    /// A temporary file of our own.
    Scratch(MmapMut),
    /// A part of a file that is only read.
    Part(Mmap),
}

impl Default for Store {
    fn default() -> Store {
        Store::Heap(Vec::new())
    }
}

impl Table {
    /// `length` zeros.
    ///
    /// # Errors
    /// If the folder cannot be written to or has not enough space. Running out of memory aborts, as for any vector.
    pub fn zeroed(length: usize, storage: &TableStorage) -> Result<Table, TableError> {
        match storage {
            // Some systems refuse to map 0 bytes.
            TableStorage::Folder(folder) if length > 0 => {
                let bytes = 4 * length as u64;
                let error = |error| TableError { folder: folder.clone(), bytes, error };
                scratch(folder, bytes).map(|map| Table(Store::Scratch(map))).map_err(error)
            }
            _ => Ok(Table::from(vec![0.0; length])),
        }
    }

    /// `length` little-endian numbers of `file` from byte `at` on; they are memory-mapped if this machine can read them so,
    /// otherwise copied. `None`: the file is too short.
    ///
    /// While the table exists the file must not be changed or truncated; replacing it by renaming another file over it is fine.
    ///
    /// # Errors
    /// If the file cannot be mapped.
    pub fn of_file(file: &File, at: u64, length: usize) -> io::Result<Option<Table>> {
        let bytes = 4 * length;
        if file.metadata()?.len().checked_sub(at).is_none_or(|left| left < bytes as u64) {
            return Ok(None);
        }
        if bytes == 0 {
            return Ok(Some(Table::default()));
        }
        // SAFETY: the map is only read, as numbers for which every pattern of bits is valid, and lies within the file. That nobody
        // changes the file is asked of the caller; our own writers replace files by renaming, which leaves a mapped file whole.
        let map = unsafe { MmapOptions::new().offset(at).len(bytes).map(file) }?;
        if cfg!(target_endian = "little") && (map.as_ptr() as usize).is_multiple_of(align_of::<f32>()) {
            return Ok(Some(Table(Store::Part(map))));
        }
        let (numbers, _) = map.as_chunks::<4>();
        Ok(Some(Table::from(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect::<Vec<f32>>())))
    }

    /// True if its numbers are in a memory-mapped file.
    pub fn is_mapped(&self) -> bool {
        !matches!(self.0, Store::Heap(_))
    }
}

impl From<Vec<f32>> for Table {
    fn from(values: Vec<f32>) -> Table {
        Table(Store::Heap(values))
    }
}

impl Deref for Table {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        let bytes: &[u8] = match &self.0 {
            Store::Heap(values) => return values,
            Store::Scratch(map) => map,
            Store::Part(map) => map,
        };
        // SAFETY: both kinds of maps have a length that is a multiple of that of f32 and start aligned (one at a page, the other was checked); every
        // pattern of bits is a valid f32; the slice borrows the table, which owns the map.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / 4) }
    }
}

impl DerefMut for Table {
    fn deref_mut(&mut self) -> &mut [f32] {
        if let Store::Part(_) = self.0 {
            // A read-only table is copied before it is written to.
            self.0 = Store::Heap(self.to_vec());
        }
        let bytes: &mut [u8] = match &mut self.0 {
            Store::Heap(values) => return values,
            Store::Scratch(map) => map,
            Store::Part(_) => return &mut [],
        };
        // SAFETY: as above; the table is borrowed mutably, and nobody else has the file.
        unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / 4) }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        **self == **other
    }
}

/// A memory-mapped file of `bytes` zeros, without a name.
fn scratch(folder: &Path, bytes: u64) -> io::Result<MmapMut> {
    let mut file = tempfile::tempfile_in(folder)?;
    check_space(&file, bytes)?;
    reserve(&mut file, bytes)?;
    // SAFETY: the file was made just now, has no name and is handed to nobody: only this map changes it, and nobody shortens it.
    // Its blocks are reserved.
    unsafe { MmapMut::map_mut(&file) }
}

/// Refuses a size that cannot fit before anything is reserved: a reservation that fails half-way would have filled the disk.
#[cfg(unix)]
fn check_space(file: &File, bytes: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let mut about = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the descriptor is open and `about` has the size that the call fills.
    if unsafe { libc::fstatvfs(file.as_raw_fd(), about.as_mut_ptr()) } != 0 {
        // The free space is unknown; the reservation will fail if it is not enough.
        return Ok(());
    }
    // SAFETY: filled by the call, which succeeded; all its fields are numbers.
    let about = unsafe { about.assume_init() };
    #[allow(clippy::unnecessary_cast, reason = "narrower on some systems")]
    let free = (about.f_bavail as u64).saturating_mul(about.f_frsize as u64);
    match bytes > free {
        true => Err(io::Error::new(io::ErrorKind::StorageFull, format!("{free} bytes are free"))),
        false => Ok(()),
    }
}

#[cfg(not(unix))]
fn check_space(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

/// Makes a file of this length, all zeros, with its blocks reserved on the disk.
fn reserve(file: &mut File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)?;
    // On Windows setting the length reserves the blocks.
    if cfg!(windows) || allocated(file, bytes)? {
        return Ok(());
    }
    io::copy(&mut io::Read::take(io::repeat(0), bytes), file).map(|_| ())
}

/// Reserves the blocks without writing them; false if the file system does not support it.
#[cfg(target_os = "linux")]
fn allocated(file: &File, bytes: u64) -> io::Result<bool> {
    use std::os::fd::AsRawFd;
    let length = bytes.try_into().map_err(|_| io::ErrorKind::FileTooLarge)?;
    loop {
        // SAFETY: an open descriptor and two numbers.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
            0 => return Ok(true),
            libc::EINTR => {}
            libc::EOPNOTSUPP | libc::EINVAL | libc::ENOSYS => return Ok(false),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn allocated(_: &File, _: u64) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_mapped_table_is_a_slice_of_zeros_that_keeps_what_is_written_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let storage = TableStorage::Folder(folder.path().to_path_buf());
        let (mut mapped, mut heap) =
            (Table::zeroed(5000, &storage).unwrap(), Table::zeroed(5000, &TableStorage::Memory).unwrap());
        assert!(mapped.is_mapped() && !heap.is_mapped());
        assert!(mapped.len() == 5000 && mapped.iter().all(|value| value.to_bits() == 0));
        for table in [&mut mapped, &mut heap] {
            table.iter_mut().enumerate().for_each(|(i, value)| *value = i as f32);
        }
        assert_eq!(mapped, heap);
        #[cfg(unix)]
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
        drop(mapped);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(Table::zeroed(0, &storage).unwrap().is_empty());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn all_blocks_of_a_mapped_table_are_taken_at_the_start() {
        use std::os::unix::fs::MetadataExt;
        let mut file = tempfile::tempfile().unwrap();
        reserve(&mut file, 1 << 20).unwrap();
        let about = file.metadata().unwrap();
        assert!(about.len() == 1 << 20 && about.blocks() * 512 >= 1 << 20, "{} blocks", about.blocks());
    }

    #[test]
    fn a_folder_without_space_or_that_does_not_exist_is_named_with_the_size() {
        let folder = tempfile::tempdir().unwrap();
        let storage = TableStorage::Folder(folder.path().to_path_buf());
        let error = Table::zeroed(1 << 52, &storage).err().unwrap().to_string();
        assert!(error.contains(&folder.path().display().to_string()), "{error}");
        assert!(error.contains(&format!("{} bytes", 1u64 << 54)), "{error}");
        #[cfg(unix)]
        assert!(error.contains("bytes are free"), "{error}");
        let absent = TableStorage::Folder(folder.path().join("absent"));
        let error = Table::zeroed(1, &absent).err().unwrap().to_string();
        assert!(error.contains("absent: no table of 4 bytes"), "{error}");
    }

    #[test]
    fn a_part_of_a_file_is_read_in_place_and_copied_before_it_is_changed() {
        let mut file = tempfile::tempfile().unwrap();
        let numbers: Vec<f32> = (0..3000).map(|i| i as f32 / 7.0).collect();
        file.write_all(&[7; 8]).unwrap();
        for value in &numbers {
            file.write_all(&value.to_le_bytes()).unwrap();
        }
        let mut part = Table::of_file(&file, 8 + 4 * 1000, 2000).unwrap().unwrap();
        assert_eq!(*part, numbers[1000..]);
        assert!(part.is_mapped() || cfg!(target_endian = "big"));
        part[0] = -1.0;
        assert!(part[0] == -1.0 && part[1..] == numbers[1001..] && !part.is_mapped());
        let again = Table::of_file(&file, 8, 3000).unwrap().unwrap();
        assert_eq!(*again, *numbers, "the file is as it was");
        assert!(
            Table::of_file(&file, 8, 3001).unwrap().is_none()
                && Table::of_file(&file, 99_999, 0).unwrap().is_none()
        );
        // Not at a multiple of four: copied.
        file.write_all(&[1]).unwrap();
        file.write_all(&2.5f32.to_le_bytes()).unwrap();
        let odd = Table::of_file(&file, 8 + 12_000 + 1, 1).unwrap().unwrap();
        assert!(*odd == [2.5] && !odd.is_mapped());
    }

    #[test]
    fn tables_move_to_the_folder_above_half_of_the_memory() {
        let folder = Path::new("out");
        assert_eq!(chosen(50, Some(100), folder), TableStorage::Memory);
        assert_eq!(chosen(51, Some(100), folder), TableStorage::Folder(folder.into()));
        assert_eq!(chosen(u64::MAX, None, folder), TableStorage::Memory);
        #[cfg(target_os = "linux")]
        assert!(memory().is_some_and(|bytes| bytes > 1 << 20));
    }
}
