//! `windlass demo`: the main job in one command.

use crate::rig::{Said, said, windlass};

async fn demo(files: &[(&str, &[u8])]) -> Said {
    let folder = tempfile::tempdir().unwrap();
    let mut command = windlass(folder.path(), &["demo"]);
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
        command.arg(name);
    }
    command.env("TMPDIR", folder.path());
    let ended = said(command).await;
    let left = std::fs::read_dir(folder.path()).unwrap().filter_map(Result::ok).map(|it| it.file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("windlass-demo-")).collect();
    assert!(left.is_empty(), "the demo left {left:?}");
    ended
}

/// The chunks that it counted.
fn chunks(ended: &Said) -> u64 {
    let line = ended.out.lines().last().unwrap_or_default();
    let count = line.strip_suffix(" chunks").and_then(|line| line.rsplit(' ').next()?.parse().ok());
    count.unwrap_or_else(|| panic!("{ended:?}"))
}

#[tokio::test]
async fn the_demo_reads_the_projects_readme() {
    let ended = demo(&[]).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(chunks(&ended) > 0);
    let steps = ["stage", "progress", "state       succeeded"];
    assert!(steps.iter().all(|step| ended.out.contains(step)), "{ended:?}");
}

#[tokio::test]
async fn the_demo_reads_the_documents_that_it_is_given() {
    let html = b"<html><title>Winches</title><body><h1>Winches</h1><p>A windlass lifts an anchor.</p></body></html>";
    let ended = demo(&[("page.html", html), ("notes.md", b"# Notes\n\nRope, and more rope.\n")]).await;
    assert_eq!((ended.code, chunks(&ended)), (0, 1), "{ended:?}");
    assert_eq!(ended.out.matches("state       succeeded").count(), 2, "{ended:?}");
}

#[tokio::test]
async fn a_document_that_cannot_be_read_ends_the_demo_with_its_code() {
    let ended = demo(&[("empty.txt", b""), ("fine.txt", b"Some text.\n")]).await;
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.err.contains("FILE_EMPTY"), "{ended:?}");
    assert!(ended.out.contains("fine.txt: 1 chunks"), "one bad document does not keep the others: {ended:?}");
    let ended = demo(&[("fake.pdf", b"%PDF-1.7\ntrailer << /Encrypt 1 0 R >>\n")]).await;
    assert_eq!(ended.code, 1, "{ended:?}");
    let codes = ["PDF_SUPPORT_MISSING", "PDF_BROKEN", "FILE_ENCRYPTED"];
    assert!(codes.iter().any(|code| ended.err.contains(code)), "{ended:?}");
    let ended = demo(&[("picture.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")]).await;
    assert_eq!(ended.code, 1, "{ended:?}");
    let folder = tempfile::tempdir().unwrap();
    let ended = said(windlass(folder.path(), &["demo", "nowhere.txt"])).await;
    assert!(ended.code == 1 && ended.err.contains("FILE_NOT_FOUND"), "{ended:?}");
}
