// SPDX-License-Identifier: MIT
//! How a filter is to be.

use crate::error::{check, text, Error, ErrorKind, Result};
use crate::filter::{Filter, SharedFilter};
use crate::key::sealed::Raw;
use crate::key::Key;
use nidus_sys as sys;
use std::any::Any;
use std::ffi::{c_void, CString};
use std::ops::{BitOr, ControlFlow};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::{fmt, mem, ptr, str};

/// A filter design. The choice is one of space and speed; [`Family::AUTO`] makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Family(pub(crate) sys::nidus_family);

impl Family {
    /// The smallest that has the features asked for, or one that is clearly faster and hardly larger.
    pub const AUTO: Family = Family(sys::NIDUS_AUTO);
    /// Two buckets, power-of-two sizes.
    pub const CUCKOO: Family = Family(sys::NIDUS_CUCKOO);
    /// Cuckoo with coded buckets: one bit per key less.
    pub const SEMISORT: Family = Family(sys::NIDUS_SEMISORT);
    /// Cuckoo in small subtables with a stash each.
    pub const SIMPLIFIED: Family = Family(sys::NIDUS_SIMPLIFIED);
    /// Chunks of any number, few moves.
    pub const CHUNKED: Family = Family(sys::NIDUS_CHUNKED);
    /// Any number of buckets.
    pub const BUCKETED: Family = Family(sys::NIDUS_BUCKETED);
    /// Overlapping windows.
    pub const WINDOWED: Family = Family(sys::NIDUS_WINDOWED);
    /// About one cache line per operation.
    pub const BREADCRUMB: Family = Family(sys::NIDUS_BREADCRUMB);
    /// The classic, which cannot remove.
    pub const BLOOM: Family = Family(sys::NIDUS_BLOOM);
    /// One cache line per operation; cannot remove.
    pub const BLOCKED_BLOOM: Family = Family(sys::NIDUS_BLOCKED_BLOOM);
    /// Built from all keys at once, never changed, and smaller than all others: [`Builder::build_from`] makes it.
    pub const RIBBON: Family = Family(sys::NIDUS_RIBBON);

    /// The family's name, "windowed".
    pub fn name(self) -> &'static str {
        // SAFETY: static text, or NULL for a number that is no family.
        unsafe { text(sys::nidus_family_name(self.0)) }
    }

    /// What the family can do.
    pub fn features(self) -> Features {
        // SAFETY: takes any number.
        Features(unsafe { sys::nidus_family_features(self.0) })
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl str::FromStr for Family {
    type Err = Error;

    fn from_str(name: &str) -> Result<Family> {
        let name = CString::new(name).map_err(|_| Error::new(ErrorKind::InvalidArgument, "a name has no NUL in it"))?;
        let mut family = sys::NIDUS_AUTO;
        // SAFETY: a text that ends in NUL, and room for the answer.
        check(unsafe { sys::nidus_family_by_name(name.as_ptr(), &mut family) })?;
        Ok(Family(family))
    }
}

/// What a filter can do, or must be able to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features(pub(crate) u32);

impl Features {
    /// Keys can be removed.
    pub const DELETE: Features = Features(sys::NIDUS_DELETE);
    /// Entries can be walked.
    pub const ENUMERATE: Features = Features(sys::NIDUS_ENUMERATE);
    /// Filters can be merged.
    pub const MERGE: Features = Features(sys::NIDUS_MERGE);
    /// A filter can grow.
    pub const GROW: Features = Features(sys::NIDUS_GROW);
    /// Threads can share a filter; [`Builder::build_shared`] asks for it.
    pub const CONCURRENT: Features = Features(sys::NIDUS_CONCURRENT);
    /// To ask for: the quickest family instead of the smallest.
    pub const FAST: Features = Features(sys::NIDUS_FAST);
    /// To ask for: bulk builds keep copies of equal keys.
    pub const MULTISET: Features = Features(sys::NIDUS_MULTISET);
    /// To ask for: nothing will be removed, and a breadcrumb filter is smaller.
    pub const NO_DELETE: Features = Features(sys::NIDUS_NO_DELETE);
    /// To ask for: sorted, coded buckets, which are smaller and slower.
    pub const COMPACT: Features = Features(sys::NIDUS_COMPACT);
    /// To ask for: a filter that is built once and never changed, the smallest of all.
    pub const STATIC: Features = Features(sys::NIDUS_STATIC);

    /// Whether all of `others` are among them.
    pub fn contains(self, others: Features) -> bool {
        self.0 & others.0 == others.0
    }
}

impl BitOr for Features {
    type Output = Features;

    fn bitor(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }
}

/// What one family would take; see [`Builder::plan`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The family.
    pub family: Family,
    /// Why there can be no such filter, if there cannot.
    pub why_not: Option<String>,
    /// Whether a build takes this one.
    pub chosen: bool,
    /// Why, of the chosen one.
    pub why: String,
    /// Memory of the table.
    pub bytes: u64,
    /// Keys promised to fit.
    pub capacity: u64,
    /// Bits per key at the capacity asked for.
    pub bits_per_key: f64,
    /// The rate expected at the capacity asked for.
    pub fpr: f64,
    /// Cache lines of a lookup of an absent key, expected.
    pub lines_per_lookup: f64,
    /// What the family can do.
    pub features: Features,
}

/// How a filter is to be; make one with [`Filter::builder`]. What is not set is the library's default.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Builder {
    family: Option<Family>,
    capacity: u64,
    fpr: Option<f64>,
    seed: u64,
    max_capacity: u64,
    slots: u32,
    features: Features,
    value_bits: u32,
    pub(crate) threads: u32,
}

impl Builder {
    /// Keys that must fit. A build from keys has room for those if this is not set.
    pub fn capacity(mut self, keys: u64) -> Self {
        self.capacity = keys;
        self
    }

    /// The false-positive rate at the capacity, from 2^-32 to 2^-4; of a static filter up to 2^-1. The default is
    /// 2^-8.
    pub fn fpr(mut self, rate: f64) -> Self {
        self.fpr = Some(rate);
        self
    }

    /// The family; the default is [`Family::AUTO`].
    pub fn family(mut self, family: Family) -> Self {
        self.family = Some(family);
        self
    }

    /// What the hashing is keyed with; 0, the default, is a random one. Filters can be merged if they have the same.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Lets the filter grow by itself up to so many keys.
    pub fn max_capacity(mut self, keys: u64) -> Self {
        self.max_capacity = keys;
        self
    }

    /// Slots per bucket or window; the default is the family's best.
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = slots;
        self
    }

    /// What the filter must be able to do.
    pub fn features(mut self, features: Features) -> Self {
        self.features = features;
        self
    }

    /// Bits of the value beside each key, up to 32; none by default.
    pub fn value_bits(mut self, bits: u32) -> Self {
        self.value_bits = bits;
        self
    }

    /// How many threads may work on a build from keys; one by default.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }

    fn is_static(&self) -> bool {
        self.family == Some(Family::RIBBON) || self.features.contains(Features::STATIC)
    }

    fn options(&self) -> Result<sys::nidus_options> {
        // SAFETY: zero is the default of every field.
        let mut options: sys::nidus_options = unsafe { mem::zeroed() };
        if let Some(rate) = self.fpr {
            let most = if self.is_static() { 0.5 } else { sys::NIDUS_FPR_MOST };
            if !(rate > 0.0 && rate <= most) {
                let reason = format!("fpr must be above 0 and at most {most}, not {rate}");
                return Err(Error::new(ErrorKind::OutOfRange, reason));
            }
            options.fpr = rate;
        }
        options.struct_size = mem::size_of_val(&options);
        options.family = self.family.unwrap_or(Family::AUTO).0;
        options.capacity = self.capacity;
        options.seed = self.seed;
        options.max_capacity = self.max_capacity;
        options.slots = self.slots;
        options.features = self.features.0;
        options.value_bits = self.value_bits;
        Ok(options)
    }

    /// The options with a seed that is known, and an empty filter that hashes with it.
    pub(crate) fn hashing(&self) -> Result<(sys::nidus_options, Filter)> {
        let mut options = self.options()?;
        let hasher = Builder { capacity: 1, seed: self.seed, ..Builder::default() }.build()?;
        options.seed = hasher.info().seed;
        Ok((options, hasher))
    }

    /// Makes an empty filter.
    pub fn build(&self) -> Result<Filter> {
        let options = self.options()?;
        // SAFETY: valid options, and room for the filter.
        Filter::made(|filter| unsafe { sys::nidus_create(&options, filter) })
    }

    /// Makes an empty filter that threads share.
    pub fn build_shared(&self) -> Result<SharedFilter> {
        let shared = self.clone().features(self.features | Features::CONCURRENT);
        SharedFilter::try_from(shared.build()?)
    }

    /// Makes a filter of all these keys. Equal keys are stored once, unless [`Features::MULTISET`] is asked for.
    pub fn build_from<K: Key>(&self, keys: &[K]) -> Result<Filter> {
        self.build_any(self.options()?, keys)
    }

    /// [`Builder::build_from`], watched: `progress` is told what share of the work is done, about once per millisecond,
    /// and may stop the build, which is [`ErrorKind::Stopped`] then.
    pub fn build_from_with<K, P>(&self, keys: &[K], progress: P) -> Result<Filter>
    where
        K: Key,
        P: FnMut(f64) -> ControlFlow<()>,
    {
        let mut watcher = Watcher { progress, panic: None };
        let mut options = self.options()?;
        options.progress.stop = Some(Watcher::<P>::stop);
        options.progress.context = ptr::addr_of_mut!(watcher).cast();
        let made = self.build_any(options, keys);
        if let Some(panic) = watcher.panic {
            resume_unwind(panic);
        }
        made
    }

    fn build_any<K: Key>(&self, options: sys::nidus_options, keys: &[K]) -> Result<Filter> {
        if let Some(integers) = K::as_integers(keys) {
            return self.build_integers(&options, integers);
        }
        if let Some(Raw::Bytes(_)) = keys.first().map(|key| key.raw()) {
            return self.build_bytes(&options, keys);
        }
        let integers: Vec<u64> = keys
            .iter()
            .map(|key| match key.raw() {
                Raw::Integer(integer) => integer,
                Raw::Bytes(_) => unreachable!("keys of one type are of one kind"),
            })
            .collect();
        self.build_integers(&options, &integers)
    }

    fn build_integers(&self, options: &sys::nidus_options, keys: &[u64]) -> Result<Filter> {
        Filter::made(|filter| {
            // SAFETY: valid options, a slice, and room for the filter.
            unsafe { sys::nidus_build_u64(options, keys.as_ptr(), keys.len(), self.threads, filter) }
        })
    }

    fn build_bytes<K: Key>(&self, options: &sys::nidus_options, keys: &[K]) -> Result<Filter> {
        let (starts, lengths): (Vec<*const c_void>, Vec<usize>) = keys
            .iter()
            .map(|key| match key.raw() {
                Raw::Bytes(bytes) => (bytes.as_ptr().cast(), bytes.len()),
                Raw::Integer(_) => unreachable!("keys of one type are of one kind"),
            })
            .unzip();
        Filter::made(|filter| {
            // SAFETY: valid options, as many starts as lengths, each of a slice, and room for the filter.
            unsafe {
                sys::nidus_build_bytes(options, starts.as_ptr(), lengths.as_ptr(), keys.len(), self.threads, filter)
            }
        })
    }

    /// [`Builder::build_from`] with a value for each key, of [`value_bits`](Builder::value_bits). Pairs that are equal in both
    /// are stored once, unless [`Features::MULTISET`] is asked for. A static filter has one value per key, and another one
    /// is [`ErrorKind::InvalidArgument`].
    ///
    /// # Panics
    /// If there are not as many values as keys.
    pub fn build_values<K: Key>(&self, keys: &[K], values: &[u64]) -> Result<Filter> {
        assert_eq!(keys.len(), values.len(), "as many values as keys");
        let (options, hasher) = self.hashing()?;
        let (mut hashes, mut values) = (hasher.hashes(keys), values.to_vec()); // the library sorts them
        let (hashes, values, n) = (hashes.as_mut_ptr(), values.as_mut_ptr(), keys.len());
        // SAFETY: valid options, as many values as hashes, and room for the filter.
        Filter::made(|filter| unsafe { sys::nidus_build_values(&options, hashes, values, n, self.threads, filter) })
    }

    /// Makes a static filter that is right about two lists: it finds all keys and none of the excluded ones. A key of neither
    /// is found with a rate of at most [`fpr`](Builder::fpr), or what makes the filter smallest if that is not set. A key
    /// that is in both lists is [`ErrorKind::InvalidArgument`].
    pub fn build_exclude<K: Key>(&self, keys: &[K], excluded: &[K]) -> Result<Filter> {
        let (options, hasher) = self.clone().features(self.features | Features::STATIC).hashing()?;
        let (mut hashes, mut others) = (hasher.hashes(keys), hasher.hashes(excluded));
        let (hashes, others, n, m) = (hashes.as_mut_ptr(), others.as_mut_ptr(), keys.len(), excluded.len());
        Filter::made(|filter| {
            // SAFETY: valid options, both lists, and room for the filter.
            unsafe { sys::nidus_build_exclude(&options, hashes, n, others, m, self.threads, filter) }
        })
    }

    /// What each family would take for such a filter, without making one.
    pub fn plan(&self) -> Result<Vec<Plan>> {
        let options = self.options()?;
        let mut n = 0;
        // SAFETY: asks for the number only.
        check(unsafe { sys::nidus_plan(&options, ptr::null_mut(), 0, &mut n) })?;
        // SAFETY: zero is a value of every field.
        let mut rows: Vec<sys::nidus_plan_row> = vec![unsafe { mem::zeroed() }; n];
        // SAFETY: room for as many rows.
        check(unsafe { sys::nidus_plan(&options, rows.as_mut_ptr(), rows.len(), &mut n) })?;
        Ok(rows.iter().map(plan_of).collect())
    }
}

fn plan_of(row: &sys::nidus_plan_row) -> Plan {
    // SAFETY: texts in the row that end in NUL.
    let (why, why_not) = unsafe { (text(row.why.as_ptr()), text(row.why_not.as_ptr())) };
    Plan {
        family: Family(row.family),
        why_not: (row.status != sys::NIDUS_OK).then(|| why_not.to_owned()),
        chosen: row.chosen,
        why: why.to_owned(),
        bytes: row.bytes,
        capacity: row.capacity,
        bits_per_key: row.bits_per_key,
        fpr: row.fpr,
        lines_per_lookup: row.lines_per_lookup,
        features: Features(row.features),
    }
}

/// Carries a closure to the library, and its panic back.
pub(crate) struct Watcher<P> {
    pub(crate) progress: P,
    pub(crate) panic: Option<Box<dyn Any + Send>>,
}

impl<P: FnMut(f64) -> ControlFlow<()>> Watcher<P> {
    pub(crate) unsafe extern "C" fn stop(context: *mut c_void, share: f64) -> bool {
        // SAFETY: the context of whoever waits for the build in this thread.
        let watcher = unsafe { &mut *context.cast::<Watcher<P>>() };
        if watcher.panic.is_some() {
            return true;
        }
        match catch_unwind(AssertUnwindSafe(|| (watcher.progress)(share))) {
            Ok(flow) => flow.is_break(),
            Err(panic) => {
                watcher.panic = Some(panic);
                true
            }
        }
    }
}
