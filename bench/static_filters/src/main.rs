// SPDX-License-Identifier: MIT
//! nidus' ribbon beside the xor and binary fuse filters of the crate xorf, in one process.
//!
//!     cmake --build build --target nidus_static
//!     cd bench/static_filters && cargo run --release -- [KEYS [ROUNDS]]
//!
//! All are built from the same array of integers by one thread, and look up absent and present keys.
//! Times are processor time. The filters take turns, round by round, in pieces of 65,536 lookups, and the
//! best tenth of the pieces counts: other programs on the machine disturb little then. Hashing is inside.
use std::ffi::{c_char, c_void, CString};
use xorf::{BinaryFuse16, BinaryFuse8, Filter, Xor16, Xor8};

const PIECE: usize = 1 << 16;
const BATCH: usize = 1024;
const FIRST_ABSENT: u64 = 1 << 40;

extern "C" {
    fn bench_build(family: *const c_char, bits: f64, keys: *const u64, n: usize) -> *mut c_void;
    fn nidus_free(filter: *mut c_void);
    fn nidus_saved_size(filter: *const c_void) -> usize;
    fn nidus_contains_u64(filter: *const c_void, key: u64) -> bool;
    fn nidus_hash_u64_batch(filter: *const c_void, keys: *const u64, n: usize, hashes: *mut u64);
    fn nidus_contains_batch(filter: *const c_void, hashes: *const u64, n: usize, yes: *mut u8);
    fn clock() -> i64; // processor time in millionths of a second, by POSIX
}

fn seconds() -> f64 {
    unsafe { clock() as f64 * 1e-6 }
}

/// Any of the filters.
trait Static {
    fn bytes(&self) -> usize;
    fn has(&self, key: u64) -> bool;
    /// How many of the keys it finds, in a batch where there is such a call.
    fn count(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|&&key| self.has(key)).count()
    }
    fn batches(&self) -> bool {
        false
    }
}

struct Nidus(*mut c_void);

impl Drop for Nidus {
    fn drop(&mut self) {
        unsafe { nidus_free(self.0) }
    }
}

impl Static for Nidus {
    fn bytes(&self) -> usize {
        unsafe { nidus_saved_size(self.0) }
    }
    fn has(&self, key: u64) -> bool {
        unsafe { nidus_contains_u64(self.0, key) }
    }
    fn count(&self, keys: &[u64]) -> usize {
        let (mut hashes, mut yes) = ([0u64; BATCH], [0u8; BATCH]);
        keys.chunks(BATCH)
            .map(|some| {
                unsafe {
                    nidus_hash_u64_batch(self.0, some.as_ptr(), some.len(), hashes.as_mut_ptr());
                    nidus_contains_batch(self.0, hashes.as_ptr(), some.len(), yes.as_mut_ptr());
                }
                yes[..some.len()].iter().map(|&one| one as usize).sum::<usize>()
            })
            .sum()
    }
    fn batches(&self) -> bool {
        true
    }
}

macro_rules! of_xorf {
    ($($kind:ty: $bytes:expr),*) => { $(impl Static for $kind {
        fn bytes(&self) -> usize { self.fingerprints.len() * $bytes }
        fn has(&self, key: u64) -> bool { self.contains(&key) }
    })* };
}
of_xorf!(Xor8: 1, Xor16: 2, BinaryFuse8: 1, BinaryFuse16: 2);

fn nidus(family: &str, bits: f64, keys: &[u64]) -> Box<dyn Static> {
    let name = CString::new(family).unwrap();
    let filter = unsafe { bench_build(name.as_ptr(), bits, keys.as_ptr(), keys.len()) };
    assert!(!filter.is_null(), "nidus cannot build {family}");
    Box::new(Nidus(filter))
}

fn build(name: &str, keys: &[u64]) -> Box<dyn Static> {
    match name {
        "nidus ribbon, 8 bits" => nidus("ribbon", 8.0, keys),
        "nidus ribbon, 16 bits" => nidus("ribbon", 16.0, keys),
        "nidus windowed, 8 bits" => nidus("windowed", 8.0, keys),
        "xor, 8 bits" => Box::new(Xor8::from(keys)),
        "xor, 16 bits" => Box::new(Xor16::from(keys)),
        "binary fuse, 8 bits" => Box::new(BinaryFuse8::try_from(keys).unwrap()),
        "binary fuse, 16 bits" => Box::new(BinaryFuse16::try_from(keys).unwrap()),
        _ => unreachable!(),
    }
}

const NAMES: [&str; 7] = [
    "nidus ribbon, 8 bits", "xor, 8 bits", "binary fuse, 8 bits", "nidus windowed, 8 bits",
    "nidus ribbon, 16 bits", "xor, 16 bits", "binary fuse, 16 bits",
];

/// Keys per second of the best tenth of the pieces.
fn best(mut spans: Vec<f64>) -> f64 {
    spans.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let some = (spans.len() / 10).max(1);
    PIECE as f64 * some as f64 / spans[..some].iter().sum::<f64>()
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<f64>().expect("a number"));
    let n = arguments.next().unwrap_or(1e7) as usize;
    let rounds = arguments.next().unwrap_or(3.0) as usize;
    let keys: Vec<u64> = (0..n as u64).map(|i| i.wrapping_mul(0x9e3779b97f4a7c15)).collect();
    let mut building = [f64::INFINITY; NAMES.len()];
    let mut filters: Vec<Box<dyn Static>> = Vec::new();
    for round in 0..rounds {
        for (i, name) in NAMES.iter().enumerate() {
            let began = seconds();
            let filter = build(name, &keys);
            building[i] = building[i].min(seconds() - began);
            if round == 0 {
                filters.push(filter);
            }
        }
    }
    // [present one by one, absent one by one, absent in batches]
    let mut spans: Vec<[Vec<f64>; 3]> = NAMES.iter().map(|_| Default::default()).collect();
    let (mut found, mut asked) = ([0usize; NAMES.len()], 0);
    let mut some = vec![0u64; PIECE];
    for piece in 0..60 * rounds {
        for (i, filter) in filters.iter().enumerate() {
            for (j, key) in some.iter_mut().enumerate() {
                *key = keys[(piece * PIECE + j) * 7919 % n];
            }
            let began = seconds();
            let there = some.iter().filter(|&&key| filter.has(key)).count();
            spans[i][0].push(seconds() - began);
            assert_eq!(there, PIECE, "{} lost a key", NAMES[i]);
            for (j, key) in some.iter_mut().enumerate() {
                *key = (FIRST_ABSENT + (piece * PIECE + j) as u64).wrapping_mul(0x9e3779b97f4a7c15);
            }
            let began = seconds();
            found[i] += some.iter().filter(|&&key| filter.has(key)).count();
            spans[i][1].push(seconds() - began);
            if filter.batches() {
                let began = seconds();
                std::hint::black_box(filter.count(&some));
                spans[i][2].push(seconds() - began);
            }
        }
        asked += PIECE;
    }
    println!("{n} keys; builds and lookups in million keys per second of processor time");
    println!("{:<24}{:>10}{:>10}{:>8}{:>9}{:>8}{:>8}", "", "bits/key", "1/fpr", "build", "present", "absent", "batch");
    for (i, spans) in spans.into_iter().enumerate() {
        let [present, absent, batch] = spans;
        let batched = if batch.is_empty() { "-".into() } else { format!("{:.1}", best(batch) / 1e6) };
        println!("{:<24}{:>10.3}{:>10.0}{:>8.1}{:>9.1}{:>8.1}{:>8}", NAMES[i], filters[i].bytes() as f64 * 8.0 / n as f64,
                 asked as f64 / found[i] as f64, n as f64 / building[i] / 1e6, best(present) / 1e6, best(absent) / 1e6, batched);
    }
}
