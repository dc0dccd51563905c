//! The hidden subcommand `worker-shim`: one process above each worker that owns everything the worker starts.
//!
//! It is a child subreaper: whatever a worker leaves behind, in sessions of its own or twice forked, becomes its child.
//! It kills all of it until nothing is left when the node says so, when the node is gone, or when the worker has ended.
//!
//! Its standard input is the control socket. From the node: one byte with the worker's protocol socket attached, then
//! nothing; any further byte, or the end of the stream, is the order to kill. To the node, a line each: `pid N` once
//! the worker runs; at last, when nothing is left, `exit N`, `signal N`, or `unlaunched WHY`.

#![allow(clippy::disallowed_methods, reason = "another program than the node: no runtime, nothing to drop")]
#![allow(unsafe_code, reason = "a child between fork and exec, and descriptors that nobody owns")]

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, getppid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, set_parent_process_death_signal, setsid, wait,
};

use super::proc;

/// The subcommand's name.
pub const SUBCOMMAND: &str = "worker-shim";
/// The descriptor on which a worker finds its protocol socket.
pub const PROTOCOL_FD: i32 = 3;

/// Signals that a service manager or a terminal may send to everything: the node decides when a host ends.
const SPARED: [i32; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

/// Becomes the shim, and never returns, if this process was started as one. To be called before all else in `main`.
pub fn run_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == SUBCOMMAND) {
        let worker: Vec<OsString> = arguments.skip_while(|a| a == "--").collect();
        std::process::exit(run(&worker));
    }
}

fn run(worker: &[OsString]) -> i32 {
    match launch(worker) {
        Ok(pid) => {
            report(&format!("pid {}\n", pid.as_raw_pid()));
            let end = outlive(pid);
            report(&end);
            0
        }
        Err(why) => {
            report(&format!("unlaunched {}\n", why.to_string().replace('\n', " ")));
            1
        }
    }
}

fn launch(worker: &[OsString]) -> io::Result<Pid> {
    close_strays()?;
    // Fails if we lead a group already, which is as good.
    let _ = setsid();
    dispose(libc::SIG_IGN);
    set_child_subreaper(Some(getpid()))?;
    let protocol = receive_protocol()?;
    let pid = spawn(worker)?;
    drop(protocol);
    watch_node(pid)?;
    // The kernel, when short of memory, takes a worker before the node.
    let _ = std::fs::write(format!("/proc/{}/oom_score_adj", pid.as_raw_pid()), "500");
    Ok(pid)
}

/// Closes what the node's own parent may have leaked to us.
fn close_strays() -> io::Result<()> {
    let listed: Vec<i32> = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|fd| *fd >= PROTOCOL_FD)
        .collect();
    for fd in listed {
        // SAFETY: nothing of this process owns a descriptor beyond the standard three yet; the one that `read_dir` had
        // is closed already, and closing it again fails without harm.
        unsafe { libc::close(fd) };
    }
    Ok(())
}

fn dispose(how: libc::sighandler_t) {
    for signal in SPARED {
        // SAFETY: no handler is installed, only the default or "ignore"; `signal` may be called between fork and exec.
        unsafe { libc::signal(signal, how) };
    }
}

/// Takes the worker's end of the protocol socket, which must land where the worker looks for it.
fn receive_protocol() -> io::Result<OwnedFd> {
    let mut byte = [0u8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    // Without close-on-exec: this descriptor is the one that the worker inherits.
    rustix::net::recvmsg(io::stdin(), &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::empty())?;
    let received = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut rights) => rights.next(),
        _ => None,
    });
    match received {
        Some(fd) if fd.as_raw_fd() == PROTOCOL_FD => Ok(fd),
        Some(fd) => Err(io::Error::other(format!("the protocol socket came as descriptor {}", fd.as_raw_fd()))),
        None => Err(io::Error::other("no protocol socket came")),
    }
}

fn spawn(worker: &[OsString]) -> io::Result<Pid> {
    let (program, arguments) = worker.split_first().ok_or_else(|| io::Error::other("no command was given"))?;
    let parent = getpid();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    // SAFETY: the closure only makes system calls; it neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(move || {
            dispose(libc::SIG_DFL);
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before it would have been noticed.
            if getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
        });
    }
    let child = command.spawn()?;
    Ok(Pid::from_child(&child))
}

/// Kills the worker when the node says so or is gone. What is below it then is the main thread's to kill.
fn watch_node(worker: Pid) -> io::Result<()> {
    let worker = pidfd_open(worker, PidfdFlags::empty())?;
    let watch = move || {
        let mut byte = [0u8];
        while let Err(rustix::io::Errno::INTR) = rustix::io::read(io::stdin(), &mut byte) {}
        let _ = pidfd_send_signal(&worker, Signal::KILL);
    };
    thread::Builder::new().stack_size(64 << 10).spawn(watch)?;
    Ok(())
}

/// Reaps orphans until the worker ends, then kills and reaps everything. Returns how the worker ended.
fn outlive(worker: Pid) -> String {
    let status = loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == worker => break Some(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break None,
        }
    };
    kill_the_rest();
    told(status)
}

fn told(status: Option<WaitStatus>) -> String {
    let mut text = String::new();
    let _ = match status.map(|s| (s.exit_status(), s.terminating_signal())) {
        Some((Some(code), _)) => writeln!(text, "exit {code}"),
        Some((_, Some(signal))) => writeln!(text, "signal {signal}"),
        _ => writeln!(text, "unlaunched the worker was not there to wait for"),
    };
    text
}

/// Kills all children again and again, since what those leave behind becomes our children in turn.
fn kill_the_rest() {
    let mut pause = Duration::from_micros(200);
    loop {
        for pid in proc::descendants(getpid()) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn report(line: &str) {
    // A node that is gone hears nothing.
    let _ = rustix::io::write(io::stdin(), line.as_bytes());
}
