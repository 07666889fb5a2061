// SPDX-License-Identifier: MIT
//! The files of the format that the repository keeps, and files of the command. A package has neither: there is nothing
//! to compare with then.

use nidus::{Features, Filter, View};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io::Write};

fn golden() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/golden");
    folder.is_dir().then_some(folder)
}

/// What the library's own test writes of a filter, without what Rust does not tell.
fn check(filter: &Filter, expected: &str) {
    let info = filter.info();
    let mut entries: Vec<_> = filter.iter().map(|entry| (entry.home, entry.fingerprint, entry.value)).collect();
    entries.sort_unstable();
    let mut walk = entries.into_iter();
    for line in expected.lines() {
        let (what, rest) = line.split_once(' ').unwrap();
        let numbers: Vec<u64> = rest.split(' ').filter_map(|word| word.parse().ok()).collect();
        match what {
            "family" => assert_eq!(info.family.name(), rest),
            "seed" => assert_eq!(info.seed, numbers[0]),
            "capacity" => assert_eq!(info.capacity, numbers[0]),
            "max_capacity" => assert_eq!(info.max_capacity, numbers[0]),
            "slots" => assert_eq!(u64::from(info.slots), numbers[0]),
            "count" => assert_eq!(info.count, numbers[0]),
            "fpr" => assert_eq!(format!("{:#018x}", info.fpr_target.to_bits()), rest),
            "entry" => {
                let (home, fingerprint, value) = walk.next().unwrap();
                assert_eq!(numbers[..2], [home, fingerprint]);
                assert_eq!(numbers.get(2).copied().unwrap_or(0), value);
            }
            "u64" => assert_eq!(filter.count(&numbers[0]), numbers[1]),
            "hash" => assert!(filter.contains_hash(numbers[0])),
            "text" => {
                let (key, copies) = rest.rsplit_once(' ').unwrap();
                assert_eq!(filter.count(key), copies.parse::<u64>().unwrap());
            }
            _ => {}
        }
    }
    assert!(!info.features.contains(Features::ENUMERATE) || walk.next().is_none());
}

#[test]
fn golden_files_answer_as_in_c() {
    let Some(folder) = golden() else { return };
    let mut checked = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let Ok(expected) = fs::read_to_string(path.with_extension("expected")) else { continue };
        if path.extension().map_or(true, |ending| ending != "nidus") {
            continue;
        }
        check(&Filter::load(&path).unwrap(), &expected);
        check(&View::open(&path).unwrap(), &expected);
        assert_eq!(Filter::load(&path).unwrap().to_bytes().unwrap(), fs::read(&path).unwrap());
        checked += 1;
    }
    assert!(checked > 50);
}

#[test]
fn a_build_gives_the_bytes_of_the_command() {
    let Some(command) = env::var_os("NIDUS_COMMAND") else { return };
    let keys: Vec<String> = (0..5000).map(|i| format!("word {i}")).collect();
    let path = env::temp_dir().join(format!("nidus-rust-command-{}.nidus", std::process::id()));
    let mut child = Command::new(command)
        .args(["build", "--seed", "77", "-p", "0.002", "--force", "-o"])
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all((keys.join("\n") + "\n").as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let built = Filter::builder().seed(77).fpr(0.002).build_from(&keys).unwrap();
    assert_eq!(built.to_bytes().unwrap(), fs::read(&path).unwrap());
    fs::remove_file(path).unwrap();
}
