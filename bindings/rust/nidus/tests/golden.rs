// SPDX-License-Identifier: MIT
//! The files of the format that the repository keeps, and files of the command. A package has neither: there is nothing
//! to compare with then.

use nidus::{ErrorKind, Family, Features, Filter, View};
use std::collections::HashSet;
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

/// Of all keys those are found that C finds, and no others.
fn check_found(filter: &Filter, expected: &str, keys: &str) {
    let found: HashSet<&str> = expected.lines().filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
    for line in keys.lines() {
        let (what, key) = line.split_once(' ').unwrap();
        let yes = match what {
            "text" => filter.contains(key),
            "u64" => filter.contains(&key.parse::<u64>().unwrap()),
            _ => filter.contains_hash(key.parse().unwrap()),
        };
        assert_eq!(yes, found.contains(line), "{line}");
    }
}

/// Every golden file, and what C says of it.
fn golden_files() -> Vec<(PathBuf, String)> {
    let Some(folder) = golden() else { return Vec::new() };
    let paths = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "nidus"))
        .map(|path| (path.clone(), fs::read_to_string(path.with_extension("expected")).unwrap()))
        .collect();
    assert!(files.len() > 50);
    files
}

#[test]
fn golden_files_answer_as_in_c() {
    for (path, expected) in golden_files() {
        let keys = fs::read_to_string(path.with_file_name("keys")).unwrap();
        let (loaded, mapped) = (Filter::load(&path).unwrap(), View::open(&path).unwrap());
        for filter in [&loaded, &*mapped] {
            check(filter, &expected);
            check_found(filter, &expected, &keys);
        }
        assert_eq!(loaded.to_bytes().unwrap(), fs::read(&path).unwrap());
    }
}

/// What a file that is no sound one is refused with.
fn is_of_a_file(kind: ErrorKind) -> bool {
    use ErrorKind::{Corrupt, Format, Truncated, Version};
    matches!(kind, Format | Version | Truncated | Corrupt)
}

#[test]
fn golden_files_that_were_damaged_are_refused() {
    for (path, _) in golden_files() {
        let bytes = fs::read(&path).unwrap();
        let name = path.display();
        for end in (0..bytes.len()).step_by(bytes.len() / 50 + 1) {
            let kind = Filter::from_bytes(&bytes[..end]).unwrap_err().kind();
            assert!(is_of_a_file(kind), "{name} to {end}: {kind:?}");
            assert!(is_of_a_file(View::of_verified(&bytes[..end]).unwrap_err().kind()), "{name} to {end}");
        }
        let mut damaged = bytes.clone();
        for at in (0..bytes.len()).filter(|at| *at < 192 || at % 97 == 0) {
            damaged[at] ^= 1 << (at % 8);
            let kind = Filter::from_bytes(&damaged).unwrap_err().kind();
            assert!(is_of_a_file(kind), "{name} at {at}: {kind:?}");
            if let Err(error) = View::of(&damaged) {
                assert!(is_of_a_file(error.kind()), "{name} at {at}: {error}");
            }
            damaged[at] = bytes[at];
        }
    }
}

/// What the command builds of lines of keys.
fn built_by_command(lines: &[String], arguments: &[&str]) -> Option<Vec<u8>> {
    let command = env::var_os("NIDUS_COMMAND")?;
    let path = env::temp_dir().join(format!("nidus-rust-command-{}.nidus", std::process::id()));
    let mut child = Command::new(command)
        .args(["build", "--seed", "77", "-p", "0.002", "--force"])
        .args(arguments)
        .arg("-o")
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(path).unwrap();
    Some(bytes)
}

#[test]
fn a_build_gives_the_bytes_of_the_command() {
    let words: Vec<String> = (0..5000).map(|i| format!("word {i}")).collect();
    let numbers: Vec<u64> = (0..5000).map(|i| i * i).collect();
    let lines: Vec<String> = numbers.iter().map(|number| number.to_string()).collect();
    for name in [
        "auto",
        "cuckoo",
        "semisort",
        "simplified",
        "chunked",
        "bucketed",
        "windowed",
        "breadcrumb",
        "bloom",
        "blocked-bloom",
        "ribbon",
    ] {
        let Some(of_words) = built_by_command(&words, &["-f", name]) else { return };
        let options = Filter::builder().seed(77).fpr(0.002).family(name.parse::<Family>().unwrap());
        assert!(options.build_from(&words).unwrap().to_bytes().unwrap() == of_words, "{name}");
        let of_numbers = built_by_command(&lines, &["-f", name, "--u64"]).unwrap();
        assert!(options.build_from(&numbers).unwrap().to_bytes().unwrap() == of_numbers, "{name}");
    }
}
