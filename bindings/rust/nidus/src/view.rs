// SPDX-License-Identifier: MIT
//! Filters that are read where they are.

use crate::error::Result;
use crate::filter::{path_text, Filter};
use nidus_sys as sys;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::Path;

/// A filter in a mapped file, or in bytes that lie somewhere, used without a copy. It is a [`Filter`] that can only be
/// read; [`Filter::try_clone`] gives one that can be changed.
pub struct View<'a> {
    filter: Filter,
    bytes: PhantomData<&'a [u8]>,
}

impl View<'static> {
    /// Maps a file: lookups start at once, and processes share its pages. The header is checked and the table is not
    /// read, so a damaged file may give wrong answers, but no call reads outside of it.
    ///
    /// Replacing the file by a rename, as [`Filter::save`] does, does no harm. A file that another program truncates in
    /// place ends this one with SIGBUS: [`Filter::load`] is for files that others may truncate.
    pub fn open(path: impl AsRef<Path>) -> Result<View<'static>> {
        View::map(path.as_ref(), 0)
    }

    /// [`View::open`], with all of the file read and checked first.
    pub fn open_verified(path: impl AsRef<Path>) -> Result<View<'static>> {
        View::map(path.as_ref(), sys::NIDUS_OPEN_VERIFY)
    }

    fn map(path: &Path, flags: std::ffi::c_uint) -> Result<View<'static>> {
        let path = path_text(path)?;
        // SAFETY: a text that ends in NUL, and room for the filter.
        let filter = Filter::made(|filter| unsafe { sys::nidus_open(path.as_ptr(), flags, filter) })?;
        Ok(View { filter, bytes: PhantomData })
    }
}

impl<'a> View<'a> {
    /// The filter in the bytes of a saved one. They are checked as [`View::open`] checks a file.
    pub fn of(bytes: &'a [u8]) -> Result<View<'a>> {
        View::over(bytes, 0)
    }

    /// [`View::of`], with all bytes read and checked first.
    pub fn of_verified(bytes: &'a [u8]) -> Result<View<'a>> {
        View::over(bytes, sys::NIDUS_OPEN_VERIFY)
    }

    fn over(bytes: &'a [u8], flags: std::ffi::c_uint) -> Result<View<'a>> {
        let filter = Filter::made(|filter| {
            // SAFETY: bytes that outlive the view and do not change, and room for the filter.
            unsafe { sys::nidus_open_buffer(bytes.as_ptr().cast(), bytes.len(), flags, filter) }
        })?;
        Ok(View { filter, bytes: PhantomData })
    }
}

impl Deref for View<'_> {
    type Target = Filter;

    fn deref(&self) -> &Filter {
        &self.filter
    }
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.filter.fmt(f)
    }
}
