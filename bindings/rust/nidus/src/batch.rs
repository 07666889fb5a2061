// SPDX-License-Identifier: MIT
//! Batches: keys are hashed a block at a time, and the library takes the hashes of a block.

use crate::error::{check, BatchError};
use crate::key::sealed::Raw;
use crate::key::Key;
use nidus_sys as sys;

/// Keys of one block: their hashes stay in the first-level cache.
const BLOCK: usize = 1024;

/// The hash of a key.
///
/// # Safety
/// `filter` is a filter that may be read.
#[inline]
pub(crate) unsafe fn hash<K: Key + ?Sized>(filter: *const sys::nidus_filter, key: &K) -> u64 {
    match key.raw() {
        Raw::Bytes(bytes) => sys::nidus_hash(filter, bytes.as_ptr().cast(), bytes.len()),
        Raw::Integer(integer) => sys::nidus_hash_u64(filter, integer),
    }
}

/// The hashes of keys, as many as there are of both.
///
/// # Safety
/// `filter` is a filter that may be read.
pub(crate) unsafe fn hash_all<K: Key>(filter: *const sys::nidus_filter, keys: &[K], hashes: &mut [u64]) {
    if let Some(integers) = K::as_integers(keys) {
        let n = integers.len().min(hashes.len());
        sys::nidus_hash_u64_batch(filter, integers.as_ptr(), n, hashes.as_mut_ptr());
        return;
    }
    for (key, to) in keys.iter().zip(hashes) {
        *to = hash(filter, key);
    }
}

/// Calls `each(hashes, first)` for one block of keys after another.
///
/// # Safety
/// `filter` is a filter that may be read.
pub(crate) unsafe fn in_blocks<K: Key>(
    filter: *const sys::nidus_filter,
    keys: &[K],
    mut each: impl FnMut(&[u64], usize) -> Result<(), BatchError>,
) -> Result<(), BatchError> {
    let mut room = [0; BLOCK];
    let mut first = 0;
    for some in keys.chunks(BLOCK) {
        let hashes = &mut room[..some.len()];
        hash_all(filter, some, hashes);
        each(hashes, first)?;
        first += some.len();
    }
    Ok(())
}

/// What a call that changes a batch of hashes came to; `first` were done before it.
pub(crate) fn changed(status: sys::nidus_status, first: usize, done: usize) -> Result<(), BatchError> {
    check(status).map_err(|error| BatchError { done: first + done, error })
}
