// SPDX-License-Identifier: MIT
//! Builds of many keys: with values, of two lists, and of more keys than there is memory for.

use nidus::{ErrorKind, ExternalBuilder, Family, Features, Filter};
use std::ops::ControlFlow;
use std::{env, fs};

const LEAST: u64 = 16 << 20; // memory of a builder

fn words(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("word {i}")).collect()
}

fn kind<T: std::fmt::Debug>(result: nidus::Result<T>) -> ErrorKind {
    let error = result.unwrap_err();
    assert!(error.to_string().len() > 5, "{error:?}");
    error.kind()
}

#[test]
fn values_are_built_in_every_family_that_has_them() {
    let (words, numbers) = (words(2000), (0..2000u64).collect::<Vec<_>>());
    let values: Vec<u64> = numbers.iter().map(|i| i % 1000).collect();
    for family in [Family::WINDOWED, Family::BREADCRUMB, Family::CUCKOO, Family::RIBBON] {
        let options = Filter::builder().family(family).fpr(1e-6).seed(5).value_bits(10);
        for filter in [
            options.build_values(&words, &values).unwrap(),
            options.clone().threads(2).build_values(&words, &values).unwrap(),
        ] {
            let found = filter.first_values(&words);
            assert!(found.iter().zip(&values).all(|(found, value)| *found == Some(*value)), "{family}");
        }
        let filter = options.build_values(&numbers, &values).unwrap();
        assert_eq!(filter.values(&1999u64), [999], "{family}");
        assert_eq!(kind(options.build_values(&["x"], &[1024])), ErrorKind::OutOfRange);
    }
    let twice = Filter::builder().fpr(1e-6).value_bits(4).build_values(&["x", "x", "x"], &[1, 2, 2]).unwrap();
    assert_eq!(twice.len(), 2);
    let ribbon = Filter::builder().features(Features::STATIC).value_bits(4);
    assert_eq!(kind(ribbon.build_values(&["x", "x"], &[1, 2])), ErrorKind::InvalidArgument);
    assert_eq!(kind(Filter::builder().build_values(&["x"], &[1])), ErrorKind::Unsupported);
}

#[test]
fn a_filter_of_two_lists_is_right_about_both() {
    let all: Vec<u64> = (0..20_000).collect();
    let (revoked, sound) = all.split_at(300);
    for options in [Filter::builder(), Filter::builder().fpr(0.4).threads(2)] {
        let filter = options.build_exclude(revoked, sound).unwrap();
        assert!(filter.contains_many(revoked).iter().all(|yes| *yes));
        assert!(!filter.contains_many(sound).iter().any(|yes| *yes));
        assert_eq!(filter.info().family, Family::RIBBON);
    }
    assert_eq!(kind(Filter::builder().build_exclude(&["a", "b"], &["b"])), ErrorKind::InvalidArgument);
    assert_eq!(kind(Filter::builder().family(Family::CUCKOO).build_exclude(&["a"], &["b"])), ErrorKind::Unsupported);
    assert_eq!(kind(Filter::builder().fpr(0.6).build_exclude(&["a"], &["b"])), ErrorKind::OutOfRange);
}

#[test]
fn an_external_builder_makes_the_bytes_of_a_build() {
    let (words, numbers) = (words(50_000), (0..50_000u64).collect::<Vec<_>>());
    let options = Filter::builder().seed(5).fpr(0.001).family(Family::WINDOWED);
    let mut of_words = options.external(LEAST, Some(&env::temp_dir())).unwrap();
    for some in words.chunks(7777) {
        of_words.add_many(some).unwrap();
    }
    of_words.add("one more").unwrap();
    let mut all = words;
    all.push("one more".into());
    let whole = options.build_from(&all).unwrap().to_bytes().unwrap();
    let path = env::temp_dir().join(format!("nidus-rust-external-{}.nidus", std::process::id()));
    of_words.save(&path).unwrap();
    assert!(fs::read(&path).unwrap() == whole);
    assert!(of_words.finish().unwrap().to_bytes().unwrap() == whole);
    of_words.save_with(&path, |_| ControlFlow::Continue(())).unwrap();
    assert!(fs::read(&path).unwrap() == whole);
    fs::remove_file(path).unwrap();

    let of_numbers = options.external(LEAST, None).unwrap();
    std::thread::scope(|scope| {
        for some in numbers.chunks(12_500) {
            let of_numbers = &of_numbers;
            scope.spawn(move || of_numbers.add_many(some).unwrap());
        }
    });
    let mut of_numbers = of_numbers;
    let whole = options.build_from(&numbers).unwrap();
    assert!(of_numbers.finish().unwrap().to_bytes().unwrap() == whole.to_bytes().unwrap());
    of_numbers.add(&-1i32).unwrap();
    of_numbers.add_many(&[1i16, -2]).unwrap();
    assert_eq!(of_numbers.finish().unwrap().len(), 50_002);
}

#[test]
fn an_external_builder_takes_values_and_spills() {
    let options = Filter::builder().fpr(1e-6).family(Family::BUCKETED).capacity(3_000_000).value_bits(12);
    let mut builder = options.external(LEAST, None).unwrap();
    let keys: Vec<u64> = (0..3_000_000).collect();
    let values: Vec<u64> = keys.iter().map(|key| key % 4000).collect();
    builder.add_values(&keys, &values).unwrap();
    let filter = builder.finish().unwrap();
    let found = filter.first_values(&keys[..10_000]);
    assert!(found.iter().zip(&values).filter(|(found, value)| **found == Some(**value)).count() > 9_990);
    let failed = builder.add_values(&["a", "b"], &[1, 1 << 12]).unwrap_err();
    assert_eq!(failed.error.kind(), ErrorKind::OutOfRange);
    assert!(failed.done <= 1);
}

#[test]
fn an_external_builder_is_watched_and_stopped() {
    fn shared<T: Send + Sync>(value: T) -> T {
        value
    }
    let mut builder: ExternalBuilder =
        shared(Filter::builder().family(Family::WINDOWED).external(LEAST, None).unwrap());
    builder.add_many(&(0..1_000_000u64).collect::<Vec<_>>()).unwrap();
    let mut shares = Vec::new();
    let filter = builder.finish_with(|share| {
        shares.push(share);
        ControlFlow::Continue(())
    });
    assert_eq!(filter.unwrap().len(), 1_000_000);
    assert!(!shares.is_empty() && shares.windows(2).all(|pair| pair[0] <= pair[1]));
    let panicked =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| builder.finish_with(|_| panic!("odd watcher"))));
    assert!(panicked.is_err());
    let mut builder = Filter::builder().family(Family::WINDOWED).external(LEAST, None).unwrap();
    builder.add_many(&(0..1_000_000u64).collect::<Vec<_>>()).unwrap();
    assert_eq!(kind(builder.finish_with(|_| ControlFlow::Break(()))), ErrorKind::Stopped);
}

#[test]
fn external_builders_that_cannot_be_are_refused() {
    assert_eq!(kind(Filter::builder().family(Family::CUCKOO).external(LEAST, None)), ErrorKind::Unsupported);
    assert_eq!(kind(Filter::builder().external(1, None)), ErrorKind::OutOfRange);
    assert_eq!(kind(Filter::builder().external(LEAST, Some("a\0b".as_ref()))), ErrorKind::InvalidArgument);
    let small = Filter::builder().capacity(10).family(Family::WINDOWED);
    let mut full = small.external(LEAST, None).unwrap();
    full.add_many(&(0..1000u64).collect::<Vec<_>>()).unwrap();
    assert_eq!(kind(full.finish()), ErrorKind::Full);
    assert_eq!(kind(full.save("/no/such/folder/x.nidus")), ErrorKind::Io);
}
