// SPDX-License-Identifier: MIT
//! What can go wrong, and the library's words for it.

use nidus_sys as sys;
use std::ffi::{c_char, CStr};
use std::{error, fmt, io};

/// The result of a call that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of failure it is. A library that is newer than this crate may know others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No place was found.
    Full,
    /// There is no room for another copy of this key; other keys may still fit.
    Copies,
    /// Whoever watched a build stopped it.
    Stopped,
    /// An argument makes no sense.
    InvalidArgument,
    /// A number is out of range for the family.
    OutOfRange,
    /// The filter does not have what the call needs, as removes from a union.
    Unsupported,
    /// A change to a filter that cannot be changed.
    ReadOnly,
    /// Two filters do not fit together.
    Mismatch,
    /// There is not enough memory.
    OutOfMemory,
    /// The system refused; [`Error::raw_os_error`] tells why.
    Io,
    /// It is not a nidus file, or its fields contradict each other.
    Format,
    /// It is a nidus file of another format version.
    Version,
    /// The file ends too early.
    Truncated,
    /// A checksum or an invariant does not hold.
    Corrupt,
    /// Something else.
    Other,
}

/// A failed call. The filter is as it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    reason: String,
    os: Option<i32>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, reason: impl Into<String>) -> Self {
        Error { kind, reason: reason.into(), os: None }
    }

    /// This thread's last failure: to be asked right after the call.
    fn last(status: sys::nidus_status) -> Self {
        let os = (status == sys::NIDUS_E_IO).then(|| io::Error::last_os_error().raw_os_error()).flatten();
        // SAFETY: both are texts that stay until the next call.
        let (reason, plain) = unsafe { (text(sys::nidus_reason()), text(sys::nidus_status_text(status))) };
        // These two leave the reason of an older failure in place.
        let told = status != sys::NIDUS_NOT_FOUND && status != sys::NIDUS_PRESENT && !reason.is_empty();
        Error { kind: kind_of(status), reason: if told { reason } else { plain }.to_owned(), os }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The system's number of the error, of [`ErrorKind::Io`].
    pub fn raw_os_error(&self) -> Option<i32> {
        self.os
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl error::Error for Error {}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind {
            ErrorKind::Io => match error.os {
                Some(code) => io::Error::from_raw_os_error(code).kind(),
                None => io::ErrorKind::Other,
            },
            ErrorKind::OutOfMemory => io::ErrorKind::OutOfMemory,
            ErrorKind::Truncated => io::ErrorKind::UnexpectedEof,
            ErrorKind::Format | ErrorKind::Version | ErrorKind::Corrupt => io::ErrorKind::InvalidData,
            ErrorKind::InvalidArgument | ErrorKind::OutOfRange => io::ErrorKind::InvalidInput,
            ErrorKind::Unsupported => io::ErrorKind::Unsupported,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

/// A batch that ended early: the keys before `done` were dealt with, and no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchError {
    /// How many keys were dealt with.
    pub done: usize,
    /// Why the next one was not.
    pub error: Error,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {} keys: {}", self.done, self.error)
    }
}

impl error::Error for BatchError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.error)
    }
}

impl From<BatchError> for Error {
    fn from(batch: BatchError) -> Self {
        batch.error
    }
}

fn kind_of(status: sys::nidus_status) -> ErrorKind {
    match status {
        sys::NIDUS_FULL => ErrorKind::Full,
        sys::NIDUS_COPIES => ErrorKind::Copies,
        sys::NIDUS_STOPPED => ErrorKind::Stopped,
        sys::NIDUS_E_ARG => ErrorKind::InvalidArgument,
        sys::NIDUS_E_RANGE => ErrorKind::OutOfRange,
        sys::NIDUS_E_UNSUPPORTED => ErrorKind::Unsupported,
        sys::NIDUS_E_READONLY => ErrorKind::ReadOnly,
        sys::NIDUS_E_MISMATCH => ErrorKind::Mismatch,
        sys::NIDUS_E_NOMEM => ErrorKind::OutOfMemory,
        sys::NIDUS_E_IO => ErrorKind::Io,
        sys::NIDUS_E_FORMAT => ErrorKind::Format,
        sys::NIDUS_E_VERSION => ErrorKind::Version,
        sys::NIDUS_E_TRUNCATED => ErrorKind::Truncated,
        sys::NIDUS_E_CORRUPT => ErrorKind::Corrupt,
        _ => ErrorKind::Other,
    }
}

pub(crate) fn check(status: sys::nidus_status) -> Result<()> {
    if status == sys::NIDUS_OK {
        Ok(())
    } else {
        Err(Error::last(status))
    }
}

/// True for OK, false for the one status that is an ordinary answer of the call.
pub(crate) fn check_unless(status: sys::nidus_status, answer: sys::nidus_status) -> Result<bool> {
    if status == answer {
        return Ok(false);
    }
    check(status).map(|()| true)
}

/// A text of the library; "" for NULL.
///
/// # Safety
/// `at` is NULL or a text that ends in NUL and stays for as long as the result is used.
pub(crate) unsafe fn text<'a>(at: *const c_char) -> &'a str {
    if at.is_null() {
        return "";
    }
    CStr::from_ptr(at).to_str().unwrap_or("")
}
