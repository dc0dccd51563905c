
pub mod supervise;
