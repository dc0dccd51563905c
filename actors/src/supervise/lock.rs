//! A mutex whose poison does not spread: a panic of one actor must not become the panic of all that share a row with it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whether or not a holder panicked. What is kept under these locks is whole after each statement.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
