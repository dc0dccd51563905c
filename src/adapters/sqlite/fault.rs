//! What went wrong, sorted by what helps: waiting, reopening, or nothing.

use windlass_actors::ports::ledger::LedgerError;

/// A failure inside the adapter.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Fault {
    /// Another process holds the lock: again soon.
    Busy,
    /// The file can't be read or written now: reopen and try later.
    Away(String),
    /// The data or the statement is at fault: trying again won't help.
    Bad(String),
}

impl Fault {
    /// A row that does not hold what it must.
    pub fn damaged(what: &str) -> Fault {
        Fault::Bad(format!("a row is damaged: {what}"))
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Fault {
        match error {
            sqlx::Error::Database(error) => of_code(error.code().and_then(|c| c.parse().ok()), error.message()),
            sqlx::Error::Io(error) => Fault::Away(error.to_string()),
            sqlx::Error::WorkerCrashed => Fault::Away("its connection was lost".to_owned()),
            sqlx::Error::PoolTimedOut => Fault::Away("all of its readers are busy".to_owned()),
            sqlx::Error::PoolClosed => Fault::Away("it is closed".to_owned()),
            other => Fault::Bad(other.to_string()),
        }
    }
}

/// By SQLite's result code; the lower byte of an extended one is the primary one.
fn of_code(code: Option<i32>, message: &str) -> Fault {
    let away = |what: &str| Fault::Away(what.to_owned());
    match code.map(|c| c & 0xff) {
        Some(5 | 6) => Fault::Busy,
        Some(7) => away("no memory is left"),
        Some(8) => away("the database is read-only"),
        Some(10) => away("the disk failed"),
        Some(13) => away("the disk or the database is full"),
        Some(14) => away("the database file can't be opened"),
        Some(11 | 26) => away("the database file is damaged: see `windlass doctor`"),
        _ => Fault::Bad(message.to_owned()),
    }
}

impl From<Fault> for LedgerError {
    fn from(fault: Fault) -> LedgerError {
        match fault {
            Fault::Busy => LedgerError::Unavailable("another process holds its write lock".to_owned()),
            Fault::Away(why) => LedgerError::Unavailable(why),
            Fault::Bad(why) => LedgerError::Refused(why),
        }
    }
}
