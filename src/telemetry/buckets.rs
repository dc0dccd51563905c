//! Buckets of the histograms, in seconds.

/// Tasks run from 50 ms to six hours.
pub const TASK: &[f64] =
    &[0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21_600.0];

/// A task with a free slot starts within milliseconds; one in a queue may wait for hours.
pub const WAIT: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0];
