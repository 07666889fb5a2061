// SPDX-License-Identifier: MIT
//! Filters: one that is changed by whoever owns it, and one that threads share.

use crate::batch::{changed, hash, hash_all, in_blocks};
use crate::error::{check, check_unless, BatchError, Error, ErrorKind, Result};
use crate::key::sealed::Raw;
use crate::key::Key;
use crate::options::{Builder, Family, Features};
use nidus_sys as sys;
use std::ffi::CString;
use std::marker::PhantomData;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::{fmt, mem};

/// What a filter is and how full it is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// The real one, never [`Family::AUTO`].
    pub family: Family,
    /// Entries now, copies counted.
    pub count: u64,
    /// Keys promised to fit.
    pub capacity: u64,
    /// Keys it may grow to by itself.
    pub max_capacity: u64,
    /// Memory of the table.
    pub bytes: u64,
    /// What the hashing is keyed with.
    pub seed: u64,
    /// Used slots / slots.
    pub load: f64,
    /// Share of places left in the fullest chunk.
    pub headroom: f64,
    /// 8 * bytes / count; 0 when empty.
    pub bits_per_key: f64,
    /// The rate promised at capacity.
    pub fpr_target: f64,
    /// The rate expected with what is in it now.
    pub fpr_now: f64,
    /// Slots per bucket or window.
    pub slots: u32,
    /// Bits stored per key, without those that tell its place.
    pub fingerprint_bits: u32,
    /// Bits of the value beside each key; 0: it keeps none.
    pub value_bits: u32,
    /// What this filter can do.
    pub features: Features,
    /// Whether it is a [`View`](crate::View).
    pub readonly: bool,
    /// Whether threads may share it.
    pub concurrent: bool,
}

/// One stored entry: all that a filter knows of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The first bucket or window.
    pub home: u64,
    /// The bits that are kept of the key's hash.
    pub fingerprint: u64,
    /// The value beside it; 0 in a filter without values.
    pub value: u64,
}

/// A walk over the entries of a filter.
pub struct Entries<'a> {
    filter: *const sys::nidus_filter,
    cursor: sys::nidus_cursor,
    owner: PhantomData<&'a Filter>,
}

// SAFETY: it reads a filter that stays unchanged, or takes care itself, for as long as it is borrowed.
unsafe impl Send for Entries<'_> {}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let mut entry = sys::nidus_entry { home: 0, fingerprint: 0, value: 0 };
        // SAFETY: a filter that is borrowed, and a cursor of this walk.
        unsafe { sys::nidus_next(self.filter, &mut self.cursor, &mut entry) }.then_some(Entry {
            home: entry.home,
            fingerprint: entry.fingerprint,
            value: entry.value,
        })
    }
}

/// What a merge does with equal entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Merge {
    /// Keeps all of them, so that what was put in can be removed.
    Copies,
    /// Keeps them once, with values once for each value. Keys that look the same then share an entry, so the result
    /// refuses removes.
    Union,
    /// Keeps one, whose value is the sum of theirs: for counts. The result refuses removes.
    Sum,
    /// Keeps one, with the highest value. The result refuses removes.
    Max,
    /// Keeps one, whose value has all bits of theirs. The result refuses removes.
    Or,
}

/// A text for the library.
#[cfg(unix)]
pub(crate) fn path_text(path: &Path) -> Result<CString> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::new(ErrorKind::InvalidArgument, format!("{} has a NUL in it", path.display())))
}

/// A filter: a set that forgets its keys and keeps a few bits of each.
///
/// [`contains`](Filter::contains) is true for every key that is in it, and for others with the rate that was chosen. Any
/// number of threads may read it at the same time; changes need it for themselves, as the types say. To change it from
/// several threads, make a [`SharedFilter`].
///
/// ```
/// # fn main() -> nidus::Result<()> {
/// let mut seen = nidus::Filter::builder().capacity(1000).fpr(0.001).build()?;
/// seen.insert("heron")?;
/// assert!(seen.contains("heron"));
/// assert!(seen.remove("heron")?);
/// assert!(seen.is_empty());
/// # Ok(())
/// # }
/// ```
pub struct Filter {
    raw: NonNull<sys::nidus_filter>,
}

// SAFETY: the library ties no filter to a thread.
unsafe impl Send for Filter {}
// SAFETY: calls that take &self only read, which the library allows at the same time.
unsafe impl Sync for Filter {}

impl Drop for Filter {
    fn drop(&mut self) {
        // SAFETY: nobody else has it any more.
        unsafe { sys::nidus_free(self.raw.as_ptr()) }
    }
}

/// A filter that threads share: every call takes `&self`, and any mix of them may run at the same time.
///
/// Each insert, remove and lookup takes effect at one moment between its start and its end. Calls that concern the whole
/// filter, as saves and growth, make changes wait.
///
/// ```
/// # fn main() -> nidus::Result<()> {
/// let seen = nidus::Filter::builder().capacity(10_000).build_shared()?;
/// std::thread::scope(|scope| {
///     for part in 0..4u64 {
///         let seen = &seen;
///         scope.spawn(move || {
///             for key in 0..1000 {
///                 seen.insert(&(part * 1000 + key)).unwrap();
///             }
///         });
///     }
/// });
/// assert_eq!(seen.len(), 4000);
/// # Ok(())
/// # }
/// ```
///
/// A [`Filter`] is no shared one:
///
/// ```compile_fail
/// let seen = nidus::Filter::builder().capacity(10_000).build().unwrap();
/// std::thread::scope(|scope| {
///     scope.spawn(|| seen.insert(&1u64));
/// });
/// ```
pub struct SharedFilter {
    filter: Filter,
}

/// What only looks at a filter: the same for both types.
macro_rules! reads {
    ($me:ident) => {
        /// Whether the key is in the filter: true for every key that is, and for others with the filter's rate.
        #[inline]
        pub fn contains<K: Key + ?Sized>(&$me, key: &K) -> bool {
            // SAFETY: a filter that may be read, and a slice.
            unsafe {
                match key.raw() {
                    Raw::Bytes(bytes) => sys::nidus_contains($me.as_ptr(), bytes.as_ptr().cast(), bytes.len()),
                    Raw::Integer(integer) => sys::nidus_contains_u64($me.as_ptr(), integer),
                }
            }
        }

        /// [`contains`](Self::contains) of each key.
        pub fn contains_many<K: Key>(&$me, keys: &[K]) -> Vec<bool> {
            let mut yes = vec![false; keys.len()];
            $me.contains_into(keys, &mut yes);
            yes
        }

        /// [`contains`](Self::contains) of each key, in room of the caller's.
        ///
        /// # Panics
        /// If there are not as many answers as keys.
        pub fn contains_into<K: Key>(&$me, keys: &[K], yes: &mut [bool]) {
            assert_eq!(keys.len(), yes.len(), "as many answers as keys");
            // SAFETY: a filter that may be read, and room for the answers of each block, which are 0 or 1.
            let done = unsafe {
                in_blocks($me.as_ptr(), keys, |hashes, first| {
                    let to = yes[first..][..hashes.len()].as_mut_ptr().cast();
                    sys::nidus_contains_batch($me.as_ptr(), hashes.as_ptr(), hashes.len(), to);
                    Ok(())
                })
            };
            debug_assert!(done.is_ok());
        }

        /// How many copies of the key are in the filter; those of keys that look the same count too.
        pub fn count<K: Key + ?Sized>(&$me, key: &K) -> u64 {
            // SAFETY: a filter that may be read.
            unsafe { sys::nidus_count_key_hash($me.as_ptr(), hash($me.as_ptr(), key)) }
        }

        /// The number of entries.
        pub fn len(&$me) -> u64 {
            // SAFETY: a filter that may be read.
            unsafe { sys::nidus_size($me.as_ptr()) }
        }

        /// Whether there are no entries.
        pub fn is_empty(&$me) -> bool {
            $me.len() == 0
        }

        /// The hash of a key, for the calls on hashes of this filter or of others with the same seed.
        pub fn hash<K: Key + ?Sized>(&$me, key: &K) -> u64 {
            // SAFETY: a filter that may be read.
            unsafe { hash($me.as_ptr(), key) }
        }

        /// [`hash`](Self::hash) of each key.
        pub fn hashes<K: Key>(&$me, keys: &[K]) -> Vec<u64> {
            let mut hashes = vec![0; keys.len()];
            // SAFETY: a filter that may be read.
            unsafe { hash_all($me.as_ptr(), keys, &mut hashes) };
            hashes
        }

        /// [`contains`](Self::contains) of the key that has this hash.
        pub fn contains_hash(&$me, hash: u64) -> bool {
            // SAFETY: a filter that may be read.
            unsafe { sys::nidus_contains_hash($me.as_ptr(), hash) }
        }

        /// [`contains_hash`](Self::contains_hash) of each hash.
        ///
        /// # Panics
        /// If there are not as many answers as hashes.
        pub fn contains_hashes(&$me, hashes: &[u64], yes: &mut [bool]) {
            assert_eq!(hashes.len(), yes.len(), "as many answers as hashes");
            // SAFETY: a filter that may be read, and room for the answers, which are 0 or 1.
            unsafe {
                sys::nidus_contains_batch($me.as_ptr(), hashes.as_ptr(), hashes.len(), yes.as_mut_ptr().cast());
            }
        }

        /// Fetches what a call with this hash will look at, without waiting: some 8 to 32 keys ahead.
        pub fn prefetch_hash(&$me, hash: u64) {
            // SAFETY: a filter that may be read.
            unsafe { sys::nidus_prefetch_hash($me.as_ptr(), hash) }
        }

        /// The values of all entries that look like the key; its own are among them.
        pub fn values<K: Key + ?Sized>(&$me, key: &K) -> Vec<u64> {
            let hash = $me.hash(key);
            let mut values = vec![0; 8];
            loop {
                // SAFETY: a filter that may be read, and room for so many values.
                let n = unsafe { sys::nidus_find_hash($me.as_ptr(), hash, values.as_mut_ptr(), values.len()) };
                if n <= values.len() {
                    values.truncate(n);
                    return values;
                }
                values.resize(n, 0); // threads that share it may have added more meanwhile
            }
        }

        /// A value of each key, of one of the entries that look like it; None where there are none.
        pub fn first_values<K: Key>(&$me, keys: &[K]) -> Vec<Option<u64>> {
            let mut values = Vec::with_capacity(keys.len());
            // SAFETY: a filter that may be read, and as much room as there are hashes.
            let done = unsafe {
                in_blocks($me.as_ptr(), keys, |hashes, _| {
                    let (mut first, mut found) = (vec![0; hashes.len()], vec![0; hashes.len()]);
                    let n = hashes.len();
                    sys::nidus_find_batch($me.as_ptr(), hashes.as_ptr(), n, first.as_mut_ptr(), found.as_mut_ptr());
                    values.extend(first.iter().zip(&found).map(|(value, found)| (*found > 0).then_some(*value)));
                    Ok(())
                })
            };
            debug_assert!(done.is_ok());
            values
        }

        /// The count of a key: never too low, but for the highest value, which means "or more".
        pub fn get_count<K: Key + ?Sized>(&$me, key: &K) -> u64 {
            // SAFETY: a filter that may be read.
            unsafe { sys::nidus_get_count_hash($me.as_ptr(), hash($me.as_ptr(), key)) }
        }

        /// What the filter is and how full it is.
        pub fn info(&$me) -> Info {
            info_of($me.as_ptr())
        }

        /// All entries, in an order of the library's choosing. Bloom filters have none.
        pub fn iter(&$me) -> Entries<'_> {
            Entries { filter: $me.as_ptr(), cursor: sys::nidus_cursor { position: [0; 2] }, owner: PhantomData }
        }

        /// Checks every entry.
        pub fn verify(&$me) -> Result<()> {
            // SAFETY: a filter that may be read.
            check(unsafe { sys::nidus_verify($me.as_ptr(), ptr::null_mut()) })
        }

        /// Writes the filter to a file, which is at any moment the old one or the new one.
        pub fn save(&$me, path: impl AsRef<Path>) -> Result<()> {
            let path = path_text(path.as_ref())?;
            // SAFETY: a filter that may be read, and a text that ends in NUL.
            check(unsafe { sys::nidus_save($me.as_ptr(), path.as_ptr()) })
        }
    };
}

/// What changes a filter: with `&mut self` or, where threads share it, with `&self`.
macro_rules! writes {
    ($me:ident, $($receiver:tt)+) => {
        /// Puts one copy of a key in.
        #[inline]
        pub fn insert<K: Key + ?Sized>($($receiver)+, key: &K) -> Result<()> {
            // SAFETY: a filter that may be changed, and a slice.
            check(unsafe {
                match key.raw() {
                    Raw::Bytes(bytes) => sys::nidus_insert($me.as_ptr(), bytes.as_ptr().cast(), bytes.len()),
                    Raw::Integer(integer) => sys::nidus_insert_u64($me.as_ptr(), integer),
                }
            })
        }

        /// Puts a key in unless the filter already says yes for it. Then false: the copy may be that of a key that looks
        /// the same, and you must not remove it.
        pub fn insert_new<K: Key + ?Sized>($($receiver)+, key: &K) -> Result<bool> {
            // SAFETY: a filter that may be changed.
            let status = unsafe { sys::nidus_insert_new_hash($me.as_ptr(), hash($me.as_ptr(), key)) };
            check_unless(status, sys::NIDUS_PRESENT)
        }

        /// [`insert`](Self::insert) of each key, up to the first that fails.
        pub fn insert_many<K: Key>($($receiver)+, keys: &[K]) -> std::result::Result<(), BatchError> {
            // SAFETY: a filter that may be changed.
            unsafe {
                in_blocks($me.as_ptr(), keys, |hashes, first| {
                    let mut done = 0;
                    let status = sys::nidus_insert_batch($me.as_ptr(), hashes.as_ptr(), hashes.len(), &mut done);
                    changed(status, first, done)
                })
            }
        }

        /// [`insert_new`](Self::insert_new) of each key, up to the first that fails: true where it was put in.
        pub fn insert_new_many<K: Key>($($receiver)+, keys: &[K]) -> std::result::Result<Vec<bool>, BatchError> {
            let mut fresh = vec![false; keys.len()];
            // SAFETY: a filter that may be changed, and room for the answers of each block, which are 0 or 1.
            unsafe {
                in_blocks($me.as_ptr(), keys, |hashes, first| {
                    let (mut done, n) = (0, hashes.len());
                    let to = fresh[first..][..n].as_mut_ptr().cast();
                    let status = sys::nidus_insert_new_batch($me.as_ptr(), hashes.as_ptr(), n, to, &mut done);
                    changed(status, first, done)
                })
            }?;
            Ok(fresh)
        }

        /// Takes one copy of a key out; false if there is none.
        ///
        /// **Only for keys that were put in**: any other key may take the entry of one that looks the same.
        pub fn remove<K: Key + ?Sized>($($receiver)+, key: &K) -> Result<bool> {
            // SAFETY: a filter that may be changed.
            let status = unsafe { sys::nidus_remove_hash($me.as_ptr(), hash($me.as_ptr(), key)) };
            check_unless(status, sys::NIDUS_NOT_FOUND)
        }

        /// [`remove`](Self::remove) of each key, up to the first that is not there, which is an error here.
        pub fn remove_many<K: Key>($($receiver)+, keys: &[K]) -> std::result::Result<(), BatchError> {
            // SAFETY: a filter that may be changed.
            unsafe {
                in_blocks($me.as_ptr(), keys, |hashes, first| {
                    let mut done = 0;
                    let status = sys::nidus_remove_batch($me.as_ptr(), hashes.as_ptr(), hashes.len(), &mut done);
                    changed(status, first, done)
                })
            }
        }

        /// [`insert`](Self::insert) of the key that has this hash.
        pub fn insert_hash($($receiver)+, hash: u64) -> Result<()> {
            // SAFETY: a filter that may be changed.
            check(unsafe { sys::nidus_insert_hash($me.as_ptr(), hash) })
        }

        /// [`insert_hash`](Self::insert_hash) of each hash, up to the first that fails.
        pub fn insert_hashes($($receiver)+, hashes: &[u64]) -> std::result::Result<(), BatchError> {
            let mut done = 0;
            // SAFETY: a filter that may be changed, and a slice.
            let status = unsafe { sys::nidus_insert_batch($me.as_ptr(), hashes.as_ptr(), hashes.len(), &mut done) };
            changed(status, 0, done)
        }

        /// [`remove`](Self::remove) of the key that has this hash.
        pub fn remove_hash($($receiver)+, hash: u64) -> Result<bool> {
            // SAFETY: a filter that may be changed.
            check_unless(unsafe { sys::nidus_remove_hash($me.as_ptr(), hash) }, sys::NIDUS_NOT_FOUND)
        }

        /// [`remove_hash`](Self::remove_hash) of each hash, up to the first that is not there.
        pub fn remove_hashes($($receiver)+, hashes: &[u64]) -> std::result::Result<(), BatchError> {
            let mut done = 0;
            // SAFETY: a filter that may be changed, and a slice.
            let status = unsafe { sys::nidus_remove_batch($me.as_ptr(), hashes.as_ptr(), hashes.len(), &mut done) };
            changed(status, 0, done)
        }

        /// Puts one entry in: a key with a value. Equal pairs are all kept.
        pub fn insert_value<K: Key + ?Sized>($($receiver)+, key: &K, value: u64) -> Result<()> {
            // SAFETY: a filter that may be changed.
            check(unsafe { sys::nidus_insert_value_hash($me.as_ptr(), hash($me.as_ptr(), key), value) })
        }

        /// [`insert_value`](Self::insert_value) of each key, up to the first that fails.
        ///
        /// # Panics
        /// If there are not as many values as keys.
        pub fn insert_values<K: Key>($($receiver)+, keys: &[K], values: &[u64]) -> std::result::Result<(), BatchError> {
            assert_eq!(keys.len(), values.len(), "as many values as keys");
            // SAFETY: a filter that may be changed, and a value for each hash.
            unsafe {
                in_blocks($me.as_ptr(), keys, |hashes, first| {
                    let (mut done, n) = (0, hashes.len());
                    let values = values[first..][..n].as_ptr();
                    let status = sys::nidus_insert_value_batch($me.as_ptr(), hashes.as_ptr(), values, n, &mut done);
                    changed(status, first, done)
                })
            }
        }

        /// Takes out one entry of the key that has this value; false if there is none.
        pub fn remove_value<K: Key + ?Sized>($($receiver)+, key: &K, value: u64) -> Result<bool> {
            // SAFETY: a filter that may be changed.
            let status = unsafe { sys::nidus_remove_value_hash($me.as_ptr(), hash($me.as_ptr(), key), value) };
            check_unless(status, sys::NIDUS_NOT_FOUND)
        }

        /// Gives one entry of the key that has the value `old` the value `fresh`; false if there is none.
        pub fn replace_value<K: Key + ?Sized>($($receiver)+, key: &K, old: u64, fresh: u64) -> Result<bool> {
            // SAFETY: a filter that may be changed.
            let status = unsafe { sys::nidus_replace_value_hash($me.as_ptr(), hash($me.as_ptr(), key), old, fresh) };
            check_unless(status, sys::NIDUS_NOT_FOUND)
        }

        /// Counts: adds to the value of the key, or puts it in with that value. The highest value means "or more".
        pub fn add_count<K: Key + ?Sized>($($receiver)+, key: &K, delta: u64) -> Result<()> {
            // SAFETY: a filter that may be changed.
            check(unsafe { sys::nidus_add_count_hash($me.as_ptr(), hash($me.as_ptr(), key), delta) })
        }

        /// Adds 1 to the count of each key, up to the first that fails.
        pub fn add_counts<K: Key>($($receiver)+, keys: &[K]) -> std::result::Result<(), BatchError> {
            // SAFETY: a filter that may be changed; NULL means 1 for each.
            unsafe {
                in_blocks($me.as_ptr(), keys, |hashes, first| {
                    let (mut done, n) = (0, hashes.len());
                    let status = sys::nidus_add_count_batch($me.as_ptr(), hashes.as_ptr(), ptr::null(), n, &mut done);
                    changed(status, first, done)
                })
            }
        }

        /// Puts an entry of a walk into a filter of the same options and seed.
        pub fn insert_entry($($receiver)+, entry: Entry) -> Result<()> {
            let entry = sys::nidus_entry { home: entry.home, fingerprint: entry.fingerprint, value: entry.value };
            // SAFETY: a filter that may be changed.
            check(unsafe { sys::nidus_insert_entry($me.as_ptr(), &entry) })
        }

        /// Takes everything out; size and seed stay.
        pub fn clear($($receiver)+) -> Result<()> {
            // SAFETY: a filter that may be changed.
            check(unsafe { sys::nidus_clear($me.as_ptr()) })
        }

        /// Makes room for so many keys at the same rate, of a filter with
        /// [`max_capacity`](crate::Builder::max_capacity).
        pub fn grow($($receiver)+, capacity: u64) -> Result<()> {
            // SAFETY: a filter that may be changed.
            check(unsafe { sys::nidus_grow($me.as_ptr(), capacity) })
        }

        /// [`grow`](Self::grow) that goes on where no reserved bits are left: each doubling then doubles the rate.
        pub fn grow_relaxed($($receiver)+, capacity: u64) -> Result<()> {
            // SAFETY: a filter that may be changed.
            check(unsafe { sys::nidus_grow_relaxed($me.as_ptr(), capacity) })
        }

        /// Gives memory back: room for so many keys, or for those in it if that is 0.
        pub fn shrink($($receiver)+, capacity: u64) -> Result<()> {
            // SAFETY: a filter that may be changed.
            check(unsafe { sys::nidus_shrink($me.as_ptr(), capacity) })
        }

        /// Makes a finished filter as small as it can be: a table of fixed size for the keys in it. Merge before: a packed
        /// filter fits only others that were packed to its size.
        pub fn pack($($receiver)+) -> Result<()> {
            // SAFETY: a filter that may be changed.
            check(unsafe { sys::nidus_pack($me.as_ptr()) })
        }
    };
}

impl Filter {
    /// Says how a filter is to be.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Keeps what a call made.
    pub(crate) fn made(call: impl FnOnce(*mut *mut sys::nidus_filter) -> sys::nidus_status) -> Result<Filter> {
        let mut raw = ptr::null_mut();
        check(call(&mut raw))?;
        let raw = NonNull::new(raw).ok_or_else(|| Error::new(ErrorKind::Other, "the library made no filter"))?;
        Ok(Filter { raw })
    }

    /// For the calls of `nidus-sys` that have no method here. The filter stays this one's.
    pub fn as_ptr(&self) -> *mut sys::nidus_filter {
        self.raw.as_ptr()
    }

    /// Reads a filter from a file. Everything is checked before it is trusted.
    pub fn load(path: impl AsRef<Path>) -> Result<Filter> {
        let path = path_text(path.as_ref())?;
        // SAFETY: a text that ends in NUL, and room for the filter.
        Filter::made(|filter| unsafe { sys::nidus_load(path.as_ptr(), filter) })
    }

    /// Reads a filter from the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Filter> {
        // SAFETY: a slice, and room for the filter.
        Filter::made(|filter| unsafe {
            sys::nidus_load_buffer(bytes.as_ptr().cast(), bytes.len(), ptr::null(), filter)
        })
    }

    /// The bytes of a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        // SAFETY: a filter that may be read.
        let mut bytes = vec![0; unsafe { sys::nidus_saved_size(self.as_ptr()) }];
        let mut written = 0;
        // SAFETY: room for so many bytes.
        check(unsafe { sys::nidus_save_buffer(self.as_ptr(), bytes.as_mut_ptr().cast(), bytes.len(), &mut written) })?;
        bytes.truncate(written);
        Ok(bytes)
    }

    /// An independent copy. That of a [`View`](crate::View) lies in memory and can be changed.
    pub fn try_clone(&self) -> Result<Filter> {
        // SAFETY: a filter that may be read, and room for the copy.
        Filter::made(|copy| unsafe { sys::nidus_clone(self.as_ptr(), copy) })
    }

    /// A filter with the entries of all, which were made with the same options and the same seed; how far each has grown
    /// does not matter.
    pub fn merge(filters: &[&Filter], how: Merge) -> Result<Filter> {
        let raw: Vec<*const sys::nidus_filter> = filters.iter().map(|filter| filter.as_ptr().cast_const()).collect();
        let how = match how {
            Merge::Copies => sys::NIDUS_MERGE_COPIES,
            Merge::Union => sys::NIDUS_MERGE_UNIQUE,
            Merge::Sum => sys::NIDUS_MERGE_SUM,
            Merge::Max => sys::NIDUS_MERGE_MAX,
            Merge::Or => sys::NIDUS_MERGE_OR,
        };
        // SAFETY: filters that may be read, and room for another.
        Filter::made(|merged| unsafe { sys::nidus_merge_many(raw.as_ptr(), raw.len(), how, merged) })
    }

    /// Whether both hold the same entries, copies and values included. Filters of different seeds or sizes are never the
    /// same unless both are empty.
    pub fn same(&self, other: &Filter) -> bool {
        // SAFETY: filters that may be read.
        unsafe { sys::nidus_same(self.as_ptr(), other.as_ptr()) }
    }

    /// The union of two: [`Filter::merge`] with [`Merge::Union`].
    pub fn union(&self, other: &Filter) -> Result<Filter> {
        Filter::merge(&[self, other], Merge::Union)
    }

    reads!(self);
    writes!(self, &mut self);
}

impl SharedFilter {
    /// Reads a filter that was made to be shared from a file. Everything is checked before it is trusted.
    pub fn load(path: impl AsRef<Path>) -> Result<SharedFilter> {
        SharedFilter::try_from(Filter::load(path)?)
    }

    /// The filter for one owner again.
    pub fn into_inner(self) -> Filter {
        self.filter
    }

    /// The filter for calls that only read, as [`Filter::merge`] and [`Filter::write_to`].
    pub fn as_filter(&self) -> &Filter {
        &self.filter
    }

    /// For the calls of `nidus-sys` that have no method here. The filter stays this one's.
    pub fn as_ptr(&self) -> *mut sys::nidus_filter {
        self.filter.as_ptr()
    }

    reads!(self);
    writes!(self, &self);
}

impl TryFrom<Filter> for SharedFilter {
    type Error = Error;

    /// Fails unless the filter was made with [`Features::CONCURRENT`].
    fn try_from(filter: Filter) -> Result<SharedFilter> {
        if filter.info().concurrent {
            return Ok(SharedFilter { filter });
        }
        let reason = "the filter was not made to be shared: build it with build_shared or Features::CONCURRENT";
        Err(Error::new(ErrorKind::Unsupported, reason))
    }
}

fn info_of(filter: *const sys::nidus_filter) -> Info {
    // SAFETY: zero is a value of every field.
    let mut info: sys::nidus_info = unsafe { mem::zeroed() };
    info.struct_size = mem::size_of_val(&info);
    // SAFETY: a filter that may be read, and room for so many bytes.
    let status = unsafe { sys::nidus_get_info(filter, &mut info) };
    debug_assert_eq!(status, sys::NIDUS_OK);
    Info {
        family: Family(info.family),
        count: info.count,
        capacity: info.capacity,
        max_capacity: info.max_capacity,
        bytes: info.bytes,
        seed: info.seed,
        load: info.load,
        headroom: info.headroom,
        bits_per_key: info.bits_per_key,
        fpr_target: info.fpr_target,
        fpr_now: info.fpr_now,
        slots: info.slots,
        fingerprint_bits: info.fingerprint_bits,
        value_bits: info.value_bits,
        features: Features(info.features),
        readonly: info.readonly,
        concurrent: info.concurrent,
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.info();
        f.debug_struct("Filter")
            .field("family", &info.family.name())
            .field("count", &info.count)
            .field("capacity", &info.capacity)
            .field("fpr", &info.fpr_target)
            .finish()
    }
}

impl fmt::Debug for SharedFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.filter.fmt(f)
    }
}

impl<'a> IntoIterator for &'a Filter {
    type Item = Entry;
    type IntoIter = Entries<'a>;

    fn into_iter(self) -> Entries<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a SharedFilter {
    type Item = Entry;
    type IntoIter = Entries<'a>;

    fn into_iter(self) -> Entries<'a> {
        self.iter()
    }
}
