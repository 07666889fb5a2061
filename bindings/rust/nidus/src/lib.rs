// SPDX-License-Identifier: MIT
#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod batch;
mod error;
mod external;
mod filter;
mod key;
mod options;
mod stream;
mod view;

pub use error::{BatchError, Error, ErrorKind, Result};
pub use external::ExternalBuilder;
pub use filter::{Entries, Entry, Filter, Info, Merge, SharedFilter};
pub use key::Key;
pub use options::{Builder, Family, Features, Plan};
pub use view::View;

/// The version of the library in use, "major.minor.patch".
pub fn version() -> &'static str {
    // SAFETY: static text of the library.
    unsafe { error::text(nidus_sys::nidus_version()) }
}
