// SPDX-License-Identifier: MIT
//! What the crate promises beyond the library: types, errors, batches, borrowed filters, streams.

use nidus::{BatchError, Error, ErrorKind, Family, Features, Filter, Merge, SharedFilter, View};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;

const FAMILIES: [Family; 9] = [
    Family::CUCKOO,
    Family::SEMISORT,
    Family::SIMPLIFIED,
    Family::CHUNKED,
    Family::BUCKETED,
    Family::WINDOWED,
    Family::BREADCRUMB,
    Family::BLOOM,
    Family::BLOCKED_BLOOM,
];

fn small() -> Filter {
    Filter::builder().capacity(1000).fpr(1e-6).seed(7).build().unwrap()
}

fn kind<T: std::fmt::Debug>(result: nidus::Result<T>) -> ErrorKind {
    let error = result.unwrap_err();
    assert!(error.to_string().len() > 5, "{error:?}");
    error.kind()
}

fn send<T: Send>() {}
fn sync<T: Sync>() {}

#[test]
fn threads_may_have_them() {
    send::<Filter>();
    sync::<Filter>();
    send::<SharedFilter>();
    sync::<SharedFilter>();
    send::<View<'static>>();
    sync::<View<'static>>();
    send::<Error>();
    sync::<BatchError>();
}

#[test]
fn text_bytes_and_integers_are_keys() {
    let mut filter = small();
    filter.insert("heron").unwrap();
    filter.insert(&7u64).unwrap();
    filter.insert(&-1i32).unwrap();
    filter.insert("").unwrap();
    assert!(filter.contains(b"heron") && filter.contains(&String::from("heron")) && filter.contains(&b"heron"[..]));
    assert!(filter.contains(&vec![b'h', b'e', b'r', b'o', b'n']) && filter.contains(&std::borrow::Cow::from("heron")));
    assert!(filter.contains(&7i16) && filter.contains(&7usize) && !filter.contains("7"));
    assert!(filter.contains(&u64::MAX) && filter.contains(&-1i64) && !filter.contains(&u32::MAX));
    assert!(filter.contains(b"") && filter.len() == 4);
    assert!(filter.remove("heron").unwrap() && !filter.remove("heron").unwrap());
    assert!(!filter.insert_new(&7u64).unwrap() && filter.insert_new(&8u64).unwrap());
    assert_eq!((filter.count(&7u64), filter.count("heron")), (1, 0));
}

#[test]
fn batches_do_what_single_calls_do_in_every_family() {
    for family in FAMILIES {
        for n in [0, 1, 1023, 1024, 1025, 5000] {
            let mut filter = Filter::builder().capacity(6000).fpr(1e-4).family(family).build().unwrap();
            let numbers: Vec<u64> = (0..n).map(|i| i * i).collect();
            let narrow: Vec<i32> = (0..n as i32).map(|i| -i - 1).collect();
            let words: Vec<String> = (0..n).map(|i| format!("word {i}")).collect();
            filter.insert_many(&numbers[..n as usize / 2]).unwrap();
            filter.insert_many(&words[n as usize / 2..]).unwrap();
            let all = |keys: Vec<bool>| keys.iter().all(|yes| *yes);
            assert!(all(filter.contains_many(&numbers[..n as usize / 2])), "{family}");
            assert!(all(filter.contains_many(&words[n as usize / 2..])), "{family}");
            let yes = filter.contains_many(&narrow);
            assert!(yes.iter().zip(&narrow).all(|(yes, key)| *yes == filter.contains(key)), "{family}");
            let mut again = vec![false; narrow.len()];
            filter.contains_hashes(&filter.hashes(&narrow), &mut again);
            assert_eq!(yes, again);
            filter.verify().unwrap();
        }
    }
}

#[test]
fn a_batch_that_fails_tells_how_far_it_came() {
    let mut filter = Filter::builder().capacity(2000).family(Family::CUCKOO).seed(3).build().unwrap();
    let keys: Vec<u64> = (0..100_000).collect();
    let failed = filter.insert_many(&keys).unwrap_err();
    assert_eq!(failed.error.kind(), ErrorKind::Full);
    assert_eq!(failed.done as u64, filter.len());
    assert!(filter.contains_many(&keys[..failed.done]).iter().all(|yes| *yes));
    assert!(failed.to_string().starts_with(&format!("after {} keys: ", failed.done)));
    filter.remove_many(&keys[..failed.done]).unwrap();
    assert!(filter.is_empty());
    let failed = filter.remove_many(&keys[..10]).unwrap_err();
    assert_eq!(failed.done, 0);
    let error: Error = failed.into();
    assert!(error.to_string().len() > 5);
}

#[test]
fn new_keys_of_a_batch_are_told() {
    let mut filter = small();
    assert_eq!(filter.insert_new_many(&["a", "b", "a"]).unwrap(), [true, true, false]);
    assert_eq!(filter.insert_new_many(&["b", "c"]).unwrap(), [false, true]);
    assert_eq!(filter.len(), 3);
}

#[test]
fn builds_take_every_kind_of_key() {
    let builder = Filter::builder().fpr(1e-6).seed(9).threads(2);
    let words: Vec<String> = (0..3000).map(|i| format!("word {i}")).collect();
    let numbers: Vec<u64> = (0..3000).collect();
    let narrow: Vec<i32> = (0..3000).collect();
    assert!(builder.build_from(&words).unwrap().contains_many(&words).iter().all(|yes| *yes));
    let wide = builder.build_from(&numbers).unwrap();
    assert_eq!(wide.to_bytes().unwrap(), builder.build_from(&narrow).unwrap().to_bytes().unwrap());
    assert!(builder.build_from::<u64>(&[]).unwrap().is_empty() && builder.build_from::<&str>(&[]).unwrap().is_empty());
    assert_eq!(builder.build_from(&["a", "a", "b"]).unwrap().len(), 2);
    let copies = builder.features(Features::MULTISET).build_from(&["a", "a", "b"]).unwrap();
    assert_eq!((copies.len(), copies.count("a")), (3, 2));
}

#[test]
fn a_build_can_be_watched_and_stopped() {
    let keys: Vec<u64> = (0..2_000_000).collect();
    let mut told = Vec::new();
    let built = Filter::builder().build_from_with(&keys, |share| {
        told.push(share);
        ControlFlow::Continue(())
    });
    assert_eq!(built.unwrap().len(), 2_000_000);
    assert!(!told.is_empty() && told.windows(2).all(|pair| pair[0] <= pair[1]));
    assert_eq!(kind(Filter::builder().build_from_with(&keys, |_| ControlFlow::Break(()))), ErrorKind::Stopped);
    let panicked = std::panic::catch_unwind(|| Filter::builder().build_from_with(&keys, |_| panic!("watched")));
    assert_eq!(panicked.unwrap_err().downcast_ref::<&str>(), Some(&"watched"));
}

#[test]
fn a_ribbon_filter_is_built_and_never_changed() {
    let words: Vec<String> = (0..5000).map(|i| format!("word {i}")).collect();
    let mut ribbon = Filter::builder().family(Family::RIBBON).fpr(1e-4).build_from(&words).unwrap();
    assert!(ribbon.contains_many(&words).iter().all(|yes| *yes));
    assert_eq!(ribbon.info().family, Family::RIBBON);
    assert_eq!(kind(ribbon.insert("x")), ErrorKind::Unsupported);
}

#[test]
fn senseless_options_are_errors() {
    let builder = Filter::builder().capacity(10);
    for rate in [0.0, -1.0, 0.9, 0.0626, 1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(kind(builder.clone().fpr(rate).build()), ErrorKind::OutOfRange, "{rate}");
    }
    assert!(builder.clone().fpr(0.0625).build().is_ok());
    assert_eq!(kind(builder.clone().fpr(1e-12).build()), ErrorKind::OutOfRange);
    assert_eq!(kind(Filter::builder().build()), ErrorKind::InvalidArgument);
    let bloom = builder.clone().family(Family::BLOOM);
    assert_eq!(kind(bloom.clone().features(Features::DELETE).build()), ErrorKind::Unsupported);
    assert_eq!(kind(bloom.build().unwrap().remove("x")), ErrorKind::Unsupported);
    assert_eq!(kind(builder.capacity(1 << 43).build()), ErrorKind::OutOfMemory);
    assert_eq!(kind("robin".parse::<Family>()), ErrorKind::InvalidArgument);
    assert_eq!("windowed".parse::<Family>().unwrap(), Family::WINDOWED);
    assert_eq!(format!("{:>10}", Family::CUCKOO), "    cuckoo");
}

#[test]
fn values_and_counts() {
    let mut filter = Filter::builder().capacity(2000).fpr(1e-6).value_bits(8).build().unwrap();
    filter.insert_value("heron", 3).unwrap();
    filter.insert_value("heron", 4).unwrap();
    let mut values = filter.values("heron");
    values.sort_unstable();
    assert_eq!(values, [3, 4]);
    assert!(filter.replace_value("heron", 3, 5).unwrap() && !filter.replace_value("heron", 3, 5).unwrap());
    assert!(filter.remove_value("heron", 4).unwrap() && !filter.remove_value("heron", 4).unwrap());
    assert_eq!(filter.values("heron"), [5]);
    assert_eq!(kind(filter.insert_value("heron", 256)), ErrorKind::OutOfRange);
    assert_eq!(filter.first_values(&["heron", "crane"]), [Some(5), None]);
    let keys: Vec<u64> = (0..1500).collect();
    let values: Vec<u64> = keys.iter().map(|key| key % 200).collect();
    filter.insert_values(&keys, &values).unwrap();
    assert!(filter.first_values(&keys).iter().zip(&values).all(|(found, value)| *found == Some(*value)));
    filter.add_counts(&["crane", "crane"]).unwrap();
    filter.add_count("crane", 400).unwrap();
    assert_eq!((filter.get_count("crane"), filter.get_count("stork")), (255, 0));
    assert_eq!(kind(small().insert_value("x", 1)), ErrorKind::Unsupported);
}

#[test]
#[should_panic(expected = "as many values as keys")]
fn a_value_belongs_to_each_key() {
    let mut filter = Filter::builder().capacity(10).value_bits(8).build().unwrap();
    let _ = filter.insert_values(&["a", "b"], &[1]);
}

#[test]
fn walks_see_every_entry_and_can_fill_another_filter() {
    let mut filter = small();
    filter.insert_many(&(0..500u64).collect::<Vec<_>>()).unwrap();
    let mut other = small();
    for entry in &filter {
        other.insert_entry(entry).unwrap();
    }
    assert_eq!((filter.iter().count(), other.len()), (500, 500));
    assert!(filter.same(&other) && other.remove(&1u64).unwrap() && !filter.same(&other));
    other.insert(&1u64).unwrap();
    assert!((0..500u64).all(|key| other.contains(&key)));
}

#[test]
fn a_union_has_an_entry_once_and_refuses_removes() {
    let (mut a, mut b) = (small(), small());
    a.insert_many(&["heron", "crane"]).unwrap();
    b.insert_many(&["heron", "stork"]).unwrap();
    let mut union = a.union(&b).unwrap();
    assert_eq!((union.len(), union.count("heron")), (3, 1));
    assert_eq!(kind(union.remove("heron")), ErrorKind::Unsupported);
    assert_eq!(kind(Filter::from_bytes(&union.to_bytes().unwrap()).unwrap().remove("heron")), ErrorKind::Unsupported);
    let mut all = Filter::merge(&[&a, &b, &b], Merge::Copies).unwrap();
    assert_eq!((all.len(), all.count("heron")), (6, 3));
    assert!(all.remove("heron").unwrap());
    let other = Filter::builder().capacity(1000).fpr(1e-6).seed(8).build().unwrap();
    assert_eq!(kind(a.union(&other)), ErrorKind::Mismatch);
    assert_eq!(kind(Filter::merge(&[], Merge::Union)), ErrorKind::InvalidArgument);
}

#[test]
fn filters_grow_and_shrink() {
    let mut filter = Filter::builder().capacity(100).max_capacity(10_000).build().unwrap();
    let keys: Vec<u64> = (0..10_000).collect();
    filter.insert_many(&keys).unwrap();
    assert!(filter.contains_many(&keys).iter().all(|yes| *yes));
    let before = filter.info().bytes;
    filter.remove_many(&keys[100..]).unwrap();
    filter.shrink(0).unwrap();
    assert!(filter.info().bytes < before);
    filter.grow(5000).unwrap();
    assert!(filter.info().capacity >= 5000);
    filter.pack().unwrap();
    assert!(filter.info().capacity < 200 && filter.contains_many(&keys[..100]).iter().all(|yes| *yes));
    filter.clear().unwrap();
    assert!(filter.is_empty());
    assert_eq!(kind(small().grow(1_000_000)), ErrorKind::OutOfRange);
    let mut relaxed = small();
    relaxed.grow_relaxed(10_000).unwrap();
    assert!(relaxed.info().fpr_target > 1e-6);
}

#[test]
fn plans_tell_what_a_build_takes() {
    let builder = Filter::builder().capacity(1_000_000).fpr(0.001).features(Features::DELETE);
    let rows = builder.plan().unwrap();
    let chosen: Vec<_> = rows.iter().filter(|row| row.chosen).collect();
    assert_eq!(chosen.len(), 1);
    let info = builder.build().unwrap().info();
    assert_eq!((info.family, info.bytes), (chosen[0].family, chosen[0].bytes));
    let bloom = rows.iter().find(|row| row.family == Family::BLOOM).unwrap();
    assert!(bloom.why_not.as_ref().unwrap().contains("delete"), "{bloom:?}");
    assert!(info.features.contains(Features::DELETE | Features::MERGE) && !info.readonly && !info.concurrent);
}

// ------------------------------------------------------------------- files

struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("nidus-rust-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_are_loaded_or_mapped() {
    let folder = Folder::new("files");
    let path = folder.0.join("é birds.nidus");
    let mut filter = small();
    filter.insert("heron").unwrap();
    filter.save(&path).unwrap();
    for view in [View::open(&path).unwrap(), View::open_verified(&path).unwrap()] {
        assert!(view.contains("heron") && view.info().readonly);
        let mut copy = view.try_clone().unwrap();
        copy.insert("crane").unwrap();
        assert!(copy.contains("crane") && !view.contains("crane"));
    }
    let mut loaded = Filter::load(&path).unwrap();
    loaded.insert("crane").unwrap();
    let missing = Filter::load(folder.0.join("nothing")).unwrap_err();
    assert_eq!((missing.kind(), missing.raw_os_error()), (ErrorKind::Io, Some(2)));
    assert_eq!(io::Error::from(missing).kind(), io::ErrorKind::NotFound);
    assert_eq!(kind(Filter::load("a\0b")), ErrorKind::InvalidArgument);
    assert_eq!(kind(loaded.save(folder.0.join("no/such/folder"))), ErrorKind::Io);
    assert_eq!(kind(SharedFilter::load(&path)), ErrorKind::Unsupported);
}

#[test]
fn a_view_borrows_its_bytes() {
    let mut filter = small();
    filter.insert("heron").unwrap();
    let bytes = filter.to_bytes().unwrap();
    let view = View::of(&bytes).unwrap();
    assert!(view.contains("heron") && View::of_verified(&bytes).unwrap().contains("heron"));
    assert_eq!(view.to_bytes().unwrap(), bytes);
}

#[test]
fn damaged_bytes_are_errors() {
    let mut filter = small();
    filter.insert_many(&(0..900u64).collect::<Vec<_>>()).unwrap();
    let bytes = filter.to_bytes().unwrap();
    for end in 0..bytes.len() {
        let error = Filter::from_bytes(&bytes[..end]).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Truncated | ErrorKind::Format | ErrorKind::Corrupt),
            "{end}: {error}"
        );
        assert!(View::of(&bytes[..end]).is_err());
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(Filter::from_bytes(&damaged).is_err(), "{at}");
        assert!(View::of_verified(&damaged).is_err(), "{at}");
        if let Ok(view) = View::of(&damaged) {
            let _ = view.contains_many(&(0..100u64).collect::<Vec<_>>());
        }
    }
    let mut longer = bytes;
    longer.push(0);
    assert_eq!(kind(Filter::from_bytes(&longer)), ErrorKind::Format);
}

/// Reads and writes a few bytes at a time; fails or panics after so many.
struct Odd<'a> {
    bytes: &'a mut Vec<u8>,
    at: usize,
    until: usize,
    panics: bool,
}

impl Odd<'_> {
    fn step(&mut self) -> io::Result<()> {
        if self.at < self.until {
            return Ok(());
        }
        assert!(!self.panics, "odd stream");
        Err(io::Error::new(io::ErrorKind::ConnectionReset, "odd stream"))
    }
}

impl Read for Odd<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.step()?;
        let n = to.len().min(7).min(self.bytes.len() - self.at);
        to[..n].copy_from_slice(&self.bytes[self.at..][..n]);
        self.at += n;
        Ok(n)
    }
}

impl Write for Odd<'_> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.step()?;
        let n = from.len().min(7);
        self.bytes.extend(&from[..n]);
        self.at += n;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn streams_carry_filters_and_their_own_errors() {
    let mut filter = small();
    filter.insert("heron").unwrap();
    let mut bytes = Vec::new();
    filter.write_to(Odd { bytes: &mut bytes, at: 0, until: usize::MAX, panics: false }).unwrap();
    assert_eq!(bytes, filter.to_bytes().unwrap());
    let again = Filter::read_from(Odd { bytes: &mut bytes, at: 0, until: usize::MAX, panics: false }).unwrap();
    assert!(again.contains("heron"));
    for until in [0, 100] {
        let refused = filter.write_to(Odd { bytes: &mut Vec::new(), at: 0, until, panics: false });
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        let mut source = bytes.clone();
        let stream = Odd { bytes: &mut source, at: 0, until, panics: false };
        assert_eq!(Filter::read_from(stream).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        let panicked =
            std::panic::catch_unwind(|| filter.write_to(Odd { bytes: &mut Vec::new(), at: 0, until, panics: true }));
        assert!(panicked.is_err());
        let panicked = std::panic::catch_unwind(|| {
            Filter::read_from(Odd { bytes: &mut bytes.clone(), at: 0, until, panics: true })
        });
        assert!(panicked.is_err());
    }
    assert_eq!(Filter::read_from(&bytes[..100]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    // Exactly to the end: what follows is left for the next one.
    let twice = [bytes.clone(), bytes].concat();
    let mut rest = &twice[..];
    for _ in 0..2 {
        assert!(Filter::read_from(&mut rest).unwrap().contains("heron"));
    }
    assert!(rest.is_empty());
}

// ----------------------------------------------------------------- threads

#[test]
fn threads_insert_find_and_remove_at_the_same_time() {
    let shared = Filter::builder().capacity(1000).max_capacity(200_000).fpr(1e-4).build_shared().unwrap();
    let (threads, each) = (4u64, 20_000u64);
    std::thread::scope(|scope| {
        for part in 0..threads {
            let shared = &shared;
            scope.spawn(move || {
                let keys: Vec<u64> = (part * each..(part + 1) * each).collect();
                for some in keys.chunks(1000) {
                    shared.insert_many(some).unwrap();
                    assert!(shared.contains_many(some).iter().all(|yes| *yes));
                }
                for key in keys.iter().step_by(2) {
                    assert!(shared.remove(key).unwrap());
                }
            });
        }
    });
    assert_eq!(shared.len(), threads * each / 2);
    assert!((1..threads * each).step_by(2).all(|key| shared.contains(&key)));
    shared.verify().unwrap();
    assert_eq!(shared.iter().count() as u64, shared.len());
    let folder = Folder::new("shared");
    shared.save(folder.0.join("shared.nidus")).unwrap();
    let again = SharedFilter::load(folder.0.join("shared.nidus")).unwrap();
    again.insert("one more").unwrap();
    assert_eq!(again.into_inner().len(), threads * each / 2 + 1);
    assert_eq!(kind(SharedFilter::try_from(small())), ErrorKind::Unsupported);
}
