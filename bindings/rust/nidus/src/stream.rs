// SPDX-License-Identifier: MIT
//! Filters through readers and writers.

use crate::error::check;
use crate::filter::Filter;
use nidus_sys as sys;
use std::any::Any;
use std::ffi::{c_int, c_void};
use std::io::{self, Read, Write};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr;

const EIO: c_int = 5;

/// A reader or writer on its way through the library, and what it came to there.
struct Passage<S> {
    stream: S,
    error: Option<io::Error>,
    panic: Option<Box<dyn Any + Send>>,
}

impl<S> Passage<S> {
    fn new(stream: S) -> Self {
        Passage { stream, error: None, panic: None }
    }

    /// Lets the stream work; None if it failed or panicked, now or before.
    fn attempt<T>(&mut self, work: impl FnOnce(&mut S) -> io::Result<T>) -> Option<T> {
        if self.error.is_some() || self.panic.is_some() {
            return None;
        }
        match catch_unwind(AssertUnwindSafe(|| work(&mut self.stream))) {
            Ok(Ok(value)) => Some(value),
            Ok(Err(error)) => {
                self.error = Some(error);
                None
            }
            Err(panic) => {
                self.panic = Some(panic);
                None
            }
        }
    }

    /// The stream's own failure, which comes before the library's words for it.
    fn finish<T>(self, result: crate::Result<T>) -> io::Result<T> {
        if let Some(panic) = self.panic {
            resume_unwind(panic);
        }
        match self.error {
            Some(error) => Err(error),
            None => result.map_err(io::Error::from),
        }
    }
}

unsafe extern "C" fn sink<W: Write>(context: *mut c_void, data: *const c_void, size: usize) -> c_int {
    // SAFETY: the context of write_to, and `size` bytes of the library.
    let (passage, bytes) =
        unsafe { (&mut *context.cast::<Passage<W>>(), std::slice::from_raw_parts(data.cast::<u8>(), size)) };
    match passage.attempt(|writer| writer.write_all(bytes)) {
        Some(()) => 0,
        None => EIO,
    }
}

unsafe extern "C" fn source<R: Read>(context: *mut c_void, data: *mut c_void, size: usize) -> isize {
    // SAFETY: the context of read_from.
    let passage = unsafe { &mut *context.cast::<Passage<R>>() };
    // SAFETY: room for `size` bytes, which a reader may look at: so they are set first.
    let room = unsafe {
        ptr::write_bytes(data.cast::<u8>(), 0, size);
        std::slice::from_raw_parts_mut(data.cast::<u8>(), size)
    };
    let read = passage.attempt(|reader| loop {
        match reader.read(room) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(n) if n > room.len() => {
                return Err(io::Error::new(io::ErrorKind::Other, "a reader read more than it may"))
            }
            other => return other,
        }
    });
    read.map_or(-(EIO as isize), |n| n as isize)
}

impl Filter {
    /// Writes what [`Filter::save`] would, in pieces, without a second copy.
    pub fn write_to<W: Write>(&self, writer: W) -> io::Result<()> {
        let mut passage = Passage::new(writer);
        // SAFETY: a filter that is read, and the context that the sink expects.
        let status = unsafe { sys::nidus_write(self.as_ptr(), Some(sink::<W>), ptr::addr_of_mut!(passage).cast()) };
        let result = check(status);
        passage.finish(result)
    }

    /// Reads a filter, exactly to its end and not beyond. Everything is checked before it is trusted.
    pub fn read_from<R: Read>(reader: R) -> io::Result<Filter> {
        let mut passage = Passage::new(reader);
        let context = ptr::addr_of_mut!(passage).cast();
        // SAFETY: the context that the source expects, and room for the filter.
        let made = Filter::made(|filter| unsafe { sys::nidus_read(Some(source::<R>), context, ptr::null(), filter) });
        passage.finish(made)
    }
}
