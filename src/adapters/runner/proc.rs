//! Process trees as `/proc` shows them.

use std::fs;

use rustix::process::Pid;

/// All processes below that one, parents before children. A tree that changes meanwhile may be seen in part.
pub(super) fn descendants(root: Pid) -> Vec<Pid> {
    let mut found = children(root);
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        for child in children(pid) {
            if !found.contains(&child) {
                found.push(child);
            }
        }
        next += 1;
    }
    found
}

/// As [`descendants`], without the dead that nobody has waited for.
pub(super) fn living_descendants(root: Pid) -> Vec<Pid> {
    descendants(root).into_iter().filter(|pid| !is_zombie(*pid)).collect()
}

fn is_zombie(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap_or_default();
    // the name is in parentheses and may hold anything
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
}

fn children(pid: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", pid.as_raw_pid())) else {
        return Vec::new();
    };
    threads
        .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok())
        .flat_map(|listed| listed.split_ascii_whitespace().filter_map(to_pid).collect::<Vec<_>>())
        .collect()
}

fn to_pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

/// All processes of this machine that we can see.
pub(super) fn all() -> impl Iterator<Item = Pid> {
    fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str().and_then(to_pid))
}

/// Whether a process was started with exactly that variable, `NAME=value`.
pub(super) fn has_variable(pid: Pid, variable: &str) -> bool {
    fs::read(format!("/proc/{}/environ", pid.as_raw_pid()))
        .is_ok_and(|block| block.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes()))
}

/// Resident memory of everything below that process, in bytes; memory that members share counts once for each.
pub(super) fn resident(root: Pid) -> u64 {
    descendants(root).into_iter().filter_map(resident_of).sum()
}

/// As [`resident`], with shared memory divided among those who share it: exact, and some hundred times slower.
pub(super) fn proportional(root: Pid) -> u64 {
    descendants(root).into_iter().filter_map(|pid| proportional_of(pid).or_else(|| resident_of(pid))).sum()
}

fn resident_of(pid: Pid) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_pid())).ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

fn proportional_of(pid: Pid) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", pid.as_raw_pid())).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}
