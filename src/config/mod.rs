//! Configuration: `windlass.toml` < environment < flags, read into a [`Config`] or refused with all [`Faults`] at once.
//!
//! Raw settings ([`raw`]) are judged by the table of keys ([`keys`]) and converted once ([`mod@resolve`]). Everything here
//! is pure: the file's text, the environment and the host's name are arguments; [`load()`] alone asks the world.

mod documentation;
mod fault;
mod keys;
mod load;
mod nearest;
mod raw;
mod resolve;
mod resolved;
mod secret;
mod settings;
mod show;
mod value;
mod variables;

#[cfg(test)]
mod tests;

pub use documentation::markdown;
pub use fault::{Fault, Faults, Source};
pub use load::load;
pub use raw::{File, Override};
pub use resolved::*;
pub use secret::{MASK, Secret, mask_urls};
pub use settings::is_type_name;
pub use show::{Entry, entries_of as entries};
pub use variables::{CONFIG_FILE, DEFAULT_FILE};

/// Reads the layers into a configuration.
///
/// # Errors
/// Every fault of every layer, in the order file, environment, flags, then what does not go together.
pub fn parse(
    file: Option<&File>,
    environment: &[(String, String)],
    flags: &[Override],
    host_name: &str,
) -> Result<Config, Faults> {
    let mut faults = Vec::new();
    let raw = raw::Raw::read(file, environment, flags, &mut faults);
    let settings = settings::Settings::judge(raw.layers(), &mut faults);
    let mut config = resolve::resolve(&settings, host_name, &mut faults);
    config.entries = show::entries(&settings, &config);
    if faults.is_empty() { Ok(config) } else { Err(Faults(faults)) }
}
