//! The data folder: one process at a time, and proof that the one before is dead.
//!
//! Its file `lock` holds a uuid that names the folder for good, and the device and inode of the file itself. The lock on
//! it ends with the process, however that ends, and is never inherited (close-on-exec). Who gets it knows that whoever
//! wrote that uuid into the database is gone: a copy of the folder is another file, and gets a uuid of its own.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FlockOperation, access, flock};
use uuid::Uuid;

/// The folder, ours until dropped.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    uuid: Uuid,
    _lock: File,
}

/// What a look at a folder found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FolderState {
    /// It can be made.
    Missing,
    Free,
    InUse,
}

#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("the data folder `{}` cannot be used: {error}; allowed is a folder on a local disk that can be written (`node.data`, `--data`)", path.display())]
    Unusable { path: PathBuf, error: std::io::Error },
    #[error("the data folder `{}` is in use by another windlass process; allowed is one at a time: stop it, or give this one a folder of its own (`--data`)", path.display())]
    InUse { path: PathBuf },
    #[error("`{}` does not hold a uuid: it is not ours, or was damaged; remove it if no windlass uses the folder", path.display())]
    Damaged { path: PathBuf },
}

impl DataFolder {
    /// Makes the folder where there is none, and locks it.
    pub fn claim(path: &Path) -> Result<Self, FolderError> {
        let unusable = |error| FolderError::Unusable { path: path.to_owned(), error };
        std::fs::create_dir_all(path).map_err(unusable)?;
        let path = path.canonicalize().map_err(unusable)?;
        let file = path.join("lock");
        let mut lock =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&file).map_err(unusable)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(FolderError::InUse { path }),
            Err(error) => return Err(unusable(error.into())),
        }
        let uuid = identity(&mut lock, &file).map_err(unusable)?.ok_or(FolderError::Damaged { path: file })?;
        Ok(DataFolder { path, uuid, _lock: lock })
    }

    /// Whether a start could claim it. Makes and changes nothing.
    pub fn look(path: &Path) -> Result<FolderState, FolderError> {
        let unusable = |error| FolderError::Unusable { path: path.to_owned(), error };
        let absolute = std::path::absolute(path).map_err(unusable)?;
        let Some(there) = absolute.ancestors().find(|it| it.exists()) else { return Ok(FolderState::Missing) };
        if !there.is_dir() {
            return Err(unusable(std::io::ErrorKind::NotADirectory.into()));
        }
        access(there, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| unusable(error.into()))?;
        if there != absolute {
            return Ok(FolderState::Missing);
        }
        let file = absolute.join("lock");
        if !file.exists() {
            return Ok(FolderState::Free);
        }
        let mut lock = File::open(&file).map_err(unusable)?;
        match flock(&lock, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(FolderState::InUse),
            Err(error) => return Err(unusable(error.into())),
        }
        let mut text = String::new();
        lock.read_to_string(&mut text).map_err(unusable)?;
        let is_ours = text.split_whitespace().next().is_none_or(|word| Uuid::parse_str(word).is_ok());
        if is_ours { Ok(FolderState::Free) } else { Err(FolderError::Damaged { path: file }) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn uuid(&self) -> Uuid {
        self.uuid
    }
}

/// Reads the uuid; writes a new one into an empty file, and over one that was copied here. None if something else is
/// there.
fn identity(lock: &mut File, path: &Path) -> std::io::Result<Option<Uuid>> {
    let mut text = String::new();
    lock.read_to_string(&mut text)?;
    let metadata = lock.metadata()?;
    let here = format!("{}:{}", metadata.dev(), metadata.ino());
    let mut words = text.split_whitespace();
    let uuid = match (words.next(), words.next()) {
        (None, _) => Uuid::new_v4(),
        (Some(word), place) => match (Uuid::parse_str(word), place) {
            (Err(_), _) => return Ok(None),
            (Ok(uuid), Some(place)) if place == here => return Ok(Some(uuid)),
            // of a build that did not note the place
            (Ok(uuid), None) => uuid,
            (Ok(copied), Some(_)) => {
                let uuid = Uuid::new_v4();
                tracing::warn!(
                    lock = %path.display(), was = %copied, now = %uuid,
                    "this data folder is a copy, or was moved to another disk: it gets a name of its own, and tasks that ran under the old one are taken back only when their leases are over"
                );
                uuid
            }
        },
    };
    let line = format!("{uuid} {here}\n");
    lock.rewind()?;
    lock.write_all(line.as_bytes())?;
    lock.set_len(line.len() as u64)?;
    lock.sync_all()?;
    Ok(Some(uuid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_and_the_same_name_for_good() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/data");
        let first = DataFolder::claim(&path).unwrap();
        assert!(matches!(DataFolder::claim(&path), Err(FolderError::InUse { .. })));
        let uuid = first.uuid();
        drop(first);
        assert_eq!(DataFolder::claim(&path).unwrap().uuid(), uuid);
    }

    #[test]
    fn a_copy_gets_a_name_of_its_own_and_the_original_keeps_its() {
        let folder = tempfile::tempdir().unwrap();
        let (original, copy) = (folder.path().join("original"), folder.path().join("copy"));
        let uuid = DataFolder::claim(&original).unwrap().uuid();
        std::fs::create_dir(&copy).unwrap();
        std::fs::copy(original.join("lock"), copy.join("lock")).unwrap();
        let copied = DataFolder::claim(&copy).unwrap().uuid();
        assert_ne!(copied, uuid);
        assert_eq!(DataFolder::claim(&copy).unwrap().uuid(), copied);
        assert_eq!(DataFolder::claim(&original).unwrap().uuid(), uuid);
        std::fs::rename(&original, folder.path().join("moved")).unwrap();
        assert_eq!(DataFolder::claim(&folder.path().join("moved")).unwrap().uuid(), uuid);
    }

    #[test]
    fn a_look_makes_nothing_and_sees_who_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/data");
        assert_eq!(DataFolder::look(&path).unwrap(), FolderState::Missing);
        assert!(!folder.path().join("deep").exists());
        assert_eq!(DataFolder::look(folder.path()).unwrap(), FolderState::Free);
        assert!(!folder.path().join("lock").exists());
        let claimed = DataFolder::claim(&path).unwrap();
        assert_eq!(DataFolder::look(&path).unwrap(), FolderState::InUse);
        drop(claimed);
        assert_eq!(DataFolder::look(&path).unwrap(), FolderState::Free);
        std::fs::write(path.join("lock"), "pid 1\n").unwrap();
        assert!(matches!(DataFolder::look(&path), Err(FolderError::Damaged { .. })));
        assert!(DataFolder::look(&path.join("lock/below")).is_err());
    }

    #[test]
    fn a_name_without_its_place_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let uuid = Uuid::new_v4();
        std::fs::write(folder.path().join("lock"), format!("{uuid}\n")).unwrap();
        assert_eq!(DataFolder::claim(folder.path()).unwrap().uuid(), uuid);
        let text = std::fs::read_to_string(folder.path().join("lock")).unwrap();
        assert!(text.starts_with(&format!("{uuid} ")), "{text}");
    }

    #[test]
    fn a_lock_file_that_is_not_ours_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("lock"), "pid 1\n").unwrap();
        assert!(matches!(DataFolder::claim(folder.path()), Err(FolderError::Damaged { .. })));
    }
}
