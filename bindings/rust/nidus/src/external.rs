// SPDX-License-Identifier: MIT
//! Builds of more keys than there is memory for.

use crate::batch::{changed, hash, hash_all};
use crate::error::{check, BatchError, Error, ErrorKind, Result};
use crate::filter::{path_text, Filter};
use crate::key::Key;
use crate::options::{Builder, Watcher};
use nidus_sys as sys;
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::Path;
use std::ptr::{self, NonNull};

/// Keys of one block: their hashes stay in the first-level cache.
const BLOCK: usize = 1024;

/// Whoever watches the build that runs just now; the library asks through this.
#[derive(Default)]
struct Watch {
    stop: Cell<Option<unsafe extern "C" fn(*mut c_void, f64) -> bool>>,
    context: Cell<*mut c_void>,
}

impl Watch {
    unsafe extern "C" fn ask(context: *mut c_void, share: f64) -> bool {
        // SAFETY: the context of `Builder::external`, which lives as long as the builder.
        let watch = unsafe { &*context.cast::<Watch>() };
        // SAFETY: what `watched` has put there for as long as it waits for the build.
        watch.stop.get().is_some_and(|stop| unsafe { stop(watch.context.get(), share) })
    }
}

/// Builds a filter of more keys than there is memory for, or of keys that come one after another; make one with
/// [`Builder::external`].
///
/// It takes keys in any number of calls, which threads may make at the same time. Beyond its memory their hashes go to a
/// temporary file, which has no name and is gone when the process is. The filter is, byte for byte, the one that
/// [`Builder::build_from`] makes with the same seed.
///
/// ```
/// # fn main() -> nidus::Result<()> {
/// let windowed = nidus::Filter::builder().fpr(0.001).family(nidus::Family::WINDOWED);
/// let mut lines = windowed.external(64 << 20, None)?;
/// for part in [["heron", "crane"], ["stork", "heron"]] {
///     lines.add_many(&part)?;
/// }
/// let seen = lines.finish()?;
/// assert!(seen.contains("stork") && seen.len() == 3);
/// # Ok(())
/// # }
/// ```
pub struct ExternalBuilder {
    raw: NonNull<sys::nidus_builder>,
    hasher: Filter, // with the same seed, and empty
    watch: Box<Watch>,
}

// SAFETY: the library ties no builder to a thread, and `watch` is used only by calls that take &mut self.
unsafe impl Send for ExternalBuilder {}
// SAFETY: calls that take &self only add keys, which the library allows at the same time.
unsafe impl Sync for ExternalBuilder {}

impl Drop for ExternalBuilder {
    fn drop(&mut self) {
        // SAFETY: nobody else has it any more.
        unsafe { sys::nidus_builder_free(self.raw.as_ptr()) }
    }
}

impl Builder {
    /// A builder that takes so many bytes of memory, 16 MiB at least, and makes temporary files in a folder: without one in
    /// that which `TMPDIR` names, or in /var/tmp.
    ///
    /// If no capacity is set it is the number of keys. Where a key may come several times, with
    /// [`Features::MULTISET`](crate::Features::MULTISET) or values, it must be set. The table must consist of parts, so
    /// [`Family::CUCKOO`](crate::Family::CUCKOO), [`Family::SEMISORT`](crate::Family::SEMISORT) and
    /// [`Family::BLOOM`](crate::Family::BLOOM) are [`ErrorKind::Unsupported`], and so is growth. For few keys
    /// [`Family::AUTO`](crate::Family::AUTO) may be one of those.
    pub fn external(&self, memory: u64, folder: Option<&Path>) -> Result<ExternalBuilder> {
        let (mut options, hasher) = self.hashing()?;
        let folder = folder.map(path_text).transpose()?;
        let folder = folder.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        let watch = Box::<Watch>::default();
        options.progress.stop = Some(Watch::ask);
        options.progress.context = ptr::addr_of!(*watch).cast_mut().cast();
        let mut raw = ptr::null_mut();
        // SAFETY: valid options, NULL or a text that ends in NUL, and room for the builder.
        check(unsafe { sys::nidus_builder_create(&options, memory, folder, self.threads, &mut raw) })?;
        let raw = NonNull::new(raw).ok_or_else(|| Error::new(ErrorKind::Other, "the library made no builder"))?;
        Ok(ExternalBuilder { raw, hasher, watch })
    }
}

impl ExternalBuilder {
    /// Adds a key. [`add_many`](Self::add_many) is faster.
    pub fn add<K: Key + ?Sized>(&self, key: &K) -> Result<()> {
        // SAFETY: a builder that may be added to, and a filter that may be read.
        check(unsafe { sys::nidus_builder_add_hash(self.raw.as_ptr(), hash(self.hasher.as_ptr(), key)) })
    }

    /// Adds each key, up to the first that fails. After an error of the system, such as a full disk, the keys before it are
    /// still there: make room and go on.
    pub fn add_many<K: Key>(&self, keys: &[K]) -> std::result::Result<(), BatchError> {
        if let Some(integers) = K::as_integers(keys) {
            let mut done = 0;
            // SAFETY: a builder that may be added to, and a slice.
            let status = unsafe {
                sys::nidus_builder_add_u64_batch(self.raw.as_ptr(), integers.as_ptr(), integers.len(), &mut done)
            };
            return changed(status, 0, done);
        }
        self.in_blocks(keys, |hashes, _, done| {
            // SAFETY: a builder that may be added to, and a slice.
            unsafe { sys::nidus_builder_add_batch(self.raw.as_ptr(), hashes.as_ptr(), hashes.len(), done) }
        })
    }

    /// Adds each key with a value, up to the first that fails.
    ///
    /// # Panics
    /// If there are not as many values as keys.
    pub fn add_values<K: Key>(&self, keys: &[K], values: &[u64]) -> std::result::Result<(), BatchError> {
        assert_eq!(keys.len(), values.len(), "as many values as keys");
        self.in_blocks(keys, |hashes, first, done| {
            let (n, values) = (hashes.len(), values[first..].as_ptr());
            // SAFETY: a builder that may be added to, and a value for each hash.
            unsafe { sys::nidus_builder_add_value_batch(self.raw.as_ptr(), hashes.as_ptr(), values, n, done) }
        })
    }

    fn in_blocks<K: Key>(
        &self,
        keys: &[K],
        add: impl Fn(&[u64], usize, &mut usize) -> sys::nidus_status,
    ) -> std::result::Result<(), BatchError> {
        let mut room = [0; BLOCK];
        for (first, some) in keys.chunks(BLOCK).enumerate().map(|(i, some)| (i * BLOCK, some)) {
            let hashes = &mut room[..some.len()];
            // SAFETY: a filter that may be read.
            unsafe { hash_all(self.hasher.as_ptr(), some, hashes) };
            let mut done = 0;
            changed(add(hashes, first, &mut done), first, done)?;
        }
        Ok(())
    }

    /// Builds the filter of all keys that were added. Its table takes memory beside the builder's. The builder keeps its
    /// keys: it may take more and build again.
    pub fn finish(&mut self) -> Result<Filter> {
        // SAFETY: a builder that nobody else uses, and room for the filter.
        Filter::made(|filter| unsafe { sys::nidus_builder_finish(self.raw.as_ptr(), filter) })
    }

    /// [`finish`](Self::finish), watched as by [`Builder::build_from_with`]. A builder that was stopped can only be dropped.
    pub fn finish_with<P: FnMut(f64) -> ControlFlow<()>>(&mut self, progress: P) -> Result<Filter> {
        self.watched(progress, Self::finish)
    }

    /// [`finish`](Self::finish) to a file, with no more than the builder's memory. An existing file is at any moment the old
    /// one or the new one.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let path = path_text(path.as_ref())?;
        // SAFETY: a builder that nobody else uses, and a text that ends in NUL.
        check(unsafe { sys::nidus_builder_save(self.raw.as_ptr(), path.as_ptr()) })
    }

    /// [`save`](Self::save), watched as by [`Builder::build_from_with`]. A builder that was stopped can only be dropped.
    pub fn save_with<P: FnMut(f64) -> ControlFlow<()>>(&mut self, path: impl AsRef<Path>, progress: P) -> Result<()> {
        self.watched(progress, |builder| builder.save(path))
    }

    fn watched<P, T>(&mut self, progress: P, build: impl FnOnce(&mut Self) -> Result<T>) -> Result<T>
    where
        P: FnMut(f64) -> ControlFlow<()>,
    {
        let mut watcher = Watcher { progress, panic: None };
        self.watch.context.set(ptr::addr_of_mut!(watcher).cast());
        self.watch.stop.set(Some(Watcher::<P>::stop));
        let built = build(self);
        self.watch.stop.set(None);
        if let Some(panic) = watcher.panic {
            resume_unwind(panic);
        }
        built
    }
}

impl fmt::Debug for ExternalBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalBuilder").finish_non_exhaustive()
    }
}
