// SPDX-License-Identifier: MIT
//! Compares batches with the same calls as C makes them: processor time of one thread, in turns on the same filter, so that
//! a busy machine slows both alike. Prints what share of C's speed the crate has, the median of all turns.
//!
//!     NIDUS_LIB_DIR=build cargo run --release --no-default-features --example bars [KEYS]

use nidus::Filter;
use nidus_sys as sys;
use std::ffi::{c_int, c_long, c_void};
use std::ptr;

const BLOCK: usize = 1024;
const CHUNK: usize = 1 << 15;
const THREAD_CPUTIME: c_int = 3; // of Linux

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: c_long,
}

extern "C" {
    fn clock_gettime(clock: c_int, to: *mut Timespec) -> c_int;
}

fn seconds(work: impl FnOnce()) -> f64 {
    let now = || {
        let mut at = Timespec { seconds: 0, nanoseconds: 0 };
        // SAFETY: room for the answer.
        unsafe { clock_gettime(THREAD_CPUTIME, &mut at) };
        at.seconds as f64 + 1e-9 * at.nanoseconds as f64
    };
    let start = now();
    work();
    now() - start
}

/// What a program in C does: it hashes a block, and uses the hashes.
fn in_c<K>(keys: &[K], hash: impl Fn(&[K], &mut [u64]), mut use_hashes: impl FnMut(&[u64], usize)) {
    let mut room = [0; BLOCK];
    for (i, some) in keys.chunks(BLOCK).enumerate() {
        hash(some, &mut room[..some.len()]);
        use_hashes(&room[..some.len()], i * BLOCK);
    }
}

fn hash_integers(filter: &Filter, keys: &[u64], hashes: &mut [u64]) {
    // SAFETY: as many hashes as keys.
    unsafe { sys::nidus_hash_u64_batch(filter.as_ptr(), keys.as_ptr(), keys.len(), hashes.as_mut_ptr()) }
}

fn hash_texts(filter: &Filter, keys: &[(*const c_void, usize)], hashes: &mut [u64]) {
    for (key, to) in keys.iter().zip(hashes) {
        // SAFETY: bytes of a text that is still there.
        *to = unsafe { sys::nidus_hash(filter.as_ptr(), key.0, key.1) };
    }
}

fn tell(what: &str, mut shares: Vec<f64>) {
    shares.sort_unstable_by(f64::total_cmp);
    println!("{what:<24} {:.3}", shares[shares.len() / 2]);
}

/// Runs ours and C's in turns, on chunks that are far from each other, now one first and now the other.
fn in_turns<K, C>(
    keys: &[K],
    c: &[C],
    rounds: usize,
    mut ours: impl FnMut(&[K]),
    mut theirs: impl FnMut(&[C]),
) -> Vec<f64> {
    let mut shares = Vec::new();
    let chunk = CHUNK.min(keys.len());
    let chunks = keys.len() / chunk;
    for turn in 0..rounds * chunks {
        let (here, there) = (turn % chunks * chunk, (turn + chunks / 2) % chunks * chunk);
        let (mine, other) = (&keys[here..here + chunk], &c[there..there + chunk]);
        let first = if turn % 2 == 0 { seconds(|| ours(mine)) } else { seconds(|| theirs(other)) };
        let second = if turn % 2 == 0 { seconds(|| theirs(other)) } else { seconds(|| ours(mine)) };
        shares.push(if turn % 2 == 0 { second / first } else { first / second });
    }
    shares
}

fn compare<K: nidus::Key, C>(name: &str, keys: &[K], c: &[C], hash: fn(&Filter, &[C], &mut [u64])) {
    let options = Filter::builder().capacity(keys.len() as u64).fpr(1.0 / 256.0).seed(1);
    let full = options.build_from(keys).expect("they fit");
    let (mut yes, mut answers) = (vec![false; CHUNK], vec![0u8; CHUNK]);
    let contains = |keys: &[C]| {
        in_c(
            keys,
            |keys, to| hash(&full, keys, to),
            |hashes, at| {
                let to = answers[at..][..hashes.len()].as_mut_ptr();
                // SAFETY: room for as many answers.
                unsafe { sys::nidus_contains_batch(full.as_ptr(), hashes.as_ptr(), hashes.len(), to) }
            },
        );
    };
    let rounds = 4 + (1 << 22) / keys.len();
    let ours = |keys: &[K]| full.contains_into(keys, &mut yes[..keys.len()]);
    tell(&format!("contains, {name}"), in_turns(keys, c, rounds, ours, contains));

    let (mut filter, other) = (options.build().expect("it can be"), options.build().expect("it can be"));
    let insert = |keys: &[C]| {
        in_c(
            keys,
            |keys, to| hash(&other, keys, to),
            |hashes, _| {
                // SAFETY: a filter that nobody else uses.
                unsafe { sys::nidus_insert_batch(other.as_ptr(), hashes.as_ptr(), hashes.len(), ptr::null_mut()) };
            },
        );
    };
    tell(&format!("insert, {name}"), in_turns(keys, c, 1, |keys| filter.insert_many(keys).expect("they fit"), insert));
    assert_eq!(filter.len(), other.len());
}

fn main() {
    let sizes = match std::env::args().nth(1) {
        Some(n) => vec![n.parse().expect("a number of keys")],
        None => vec![20_000, 4_000_000],
    };
    for n in sizes {
        println!("{n} keys, share of C's speed, by processor time");
        let numbers: Vec<u64> = (0..n as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        compare("integers", &numbers, &numbers, hash_integers);
        let texts: Vec<String> = numbers.iter().map(|number| format!("user-{number}")).collect();
        let bytes: Vec<_> = texts.iter().map(|text| (text.as_ptr().cast::<c_void>(), text.len())).collect();
        compare("texts", &texts, &bytes, hash_texts);
    }
}
