//! Processes as this machine shows them, and signals to them.

use std::process::Command;

pub fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().unwrap();
    assert!(status.success(), "kill -{name} {pid}");
}

/// Processes with that entry in their environment.
pub fn marked(entry: &str) -> Vec<u32> {
    let has = |pid: &u32| {
        std::fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|block| block.split(|b| *b == 0).any(|found| found == entry.as_bytes()))
    };
    processes().filter(has).collect()
}

fn processes() -> impl Iterator<Item = u32> {
    std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

pub fn command_line(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ")
}

/// Does that process live (and is no zombie)?
pub fn lives(pid: u32) -> bool {
    status_of(pid).is_some_and(|(state, _)| state != 'Z')
}

/// Children of that process that are dead and not reaped.
pub fn zombies_of(pid: u32) -> usize {
    processes().filter(|child| status_of(*child) == Some(('Z', pid))).count()
}

pub fn children_of(pid: u32) -> Vec<u32> {
    processes().filter(|child| status_of(*child).is_some_and(|(_, parent)| parent == pid)).collect()
}

/// State and parent of a process.
fn status_of(pid: u32) -> Option<(char, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Open descriptors of that process.
pub fn descriptors_of(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// Resident memory of that process, in MiB.
pub fn resident_of(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}
