//! The Python SDK and the example plugins, carried within the binary and written out where a worker finds them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};
use uuid::Uuid;

#[derive(RustEmbed)]
#[folder = "sdk/python/"]
#[include = "*.py"]
#[include = "*.pyi"]
#[include = "*/py.typed"]
struct Sdk;

#[derive(RustEmbed)]
#[folder = "plugins/"]
#[exclude = "*__pycache__*"]
struct Examples;

/// Writes the SDK below `data` unless it is there and intact. Returns the folder for `PYTHONPATH`.
pub fn materialise_sdk(data: &Path) -> io::Result<PathBuf> {
    materialise::<Sdk>(&data.join("sdk"))
}

/// Writes the example plugins below `data` unless they are there and intact. Returns the folder of plugins.
pub fn materialise_examples(data: &Path) -> io::Result<PathBuf> {
    materialise::<Examples>(&data.join("examples"))
}

/// The folder's name is the hash of what is in it, so that nodes of different versions can share `parent`.
fn materialise<E: RustEmbed>(parent: &Path) -> io::Result<PathBuf> {
    let parent = std::path::absolute(parent)?;
    let folder = parent.join(hash::<E>());
    if is_intact::<E>(&folder) {
        return Ok(folder);
    }
    fs::create_dir_all(&parent)?;
    let fresh = parent.join(format!(".new-{}", Uuid::new_v4()));
    write::<E>(&fresh)?;
    put_in_place(&fresh, &folder, &parent)?;
    if is_intact::<E>(&folder) {
        Ok(folder)
    } else {
        Err(io::Error::other(format!("`{}` is not what was written to it", folder.display())))
    }
}

fn write<E: RustEmbed>(folder: &Path) -> io::Result<()> {
    for (name, data) in files::<E>() {
        let path = folder.join(&name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, data)?;
    }
    Ok(())
}

/// Readers see the old folder or the new one; when two processes write at once, either may win.
fn put_in_place(fresh: &Path, folder: &Path, parent: &Path) -> io::Result<()> {
    let old = parent.join(format!(".old-{}", Uuid::new_v4()));
    let had_old = fs::rename(folder, &old).is_ok();
    let renamed = fs::rename(fresh, folder);
    if had_old {
        fs::remove_dir_all(&old)?;
    }
    if renamed.is_err() && folder.is_dir() { fs::remove_dir_all(fresh) } else { renamed }
}

fn is_intact<E: RustEmbed>(folder: &Path) -> bool {
    files::<E>().all(|(name, data)| fs::read(folder.join(name)).is_ok_and(|there| there == data.as_ref()))
}

fn files<E: RustEmbed>() -> impl Iterator<Item = (String, std::borrow::Cow<'static, [u8]>)> {
    E::iter().filter_map(|name| Some((name.to_string(), E::get(&name)?.data)))
}

fn hash<E: RustEmbed>() -> String {
    let mut all: Vec<_> = files::<E>().collect();
    all.sort();
    let mut sha = Sha256::new();
    for (name, data) in all {
        sha.update((name.len() as u64).to_be_bytes());
        sha.update(name);
        sha.update((data.len() as u64).to_be_bytes());
        sha.update(data);
    }
    sha.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sdk_is_written_once_and_again_if_it_was_changed() {
        let data = tempfile::tempdir().unwrap();
        let folder = materialise_sdk(data.path()).unwrap();
        let worker = folder.join("windlass/worker.py");
        assert!(worker.is_file() && folder.join("windlass/describe.py").is_file());
        fs::create_dir(folder.join("windlass/__pycache__")).unwrap();
        assert_eq!(materialise_sdk(data.path()).unwrap(), folder);
        assert!(folder.join("windlass/__pycache__").is_dir(), "written again without need");
        fs::write(&worker, "tampered").unwrap();
        assert_eq!(materialise_sdk(data.path()).unwrap(), folder);
        assert_ne!(fs::read(&worker).unwrap(), b"tampered");
        assert_eq!(fs::read_dir(data.path().join("sdk")).unwrap().count(), 1);
    }

    #[test]
    fn the_examples_are_there() {
        let data = tempfile::tempdir().unwrap();
        let folder = materialise_examples(data.path()).unwrap();
        assert!(folder.join("hello.py").is_file() && folder.join("ingest").is_dir());
    }
}
