// SPDX-License-Identifier: MIT
//! Compiles nidus (feature `bundled`), or tells the linker where an installed one is.
//!
//! A package has the library as one file and its declarations in `vendor`. In the repository both are made of the
//! sources.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=NIDUS_LIB_DIR");
    declare();
    if let Some(folder) = env::var_os("NIDUS_LIB_DIR") {
        link_folder(Path::new(&folder));
    } else if cfg!(feature = "bundled") {
        bundled();
    } else {
        link_installed();
    }
}

fn here() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it").into()
}

fn out() -> PathBuf {
    env::var_os("OUT_DIR").expect("cargo sets it").into()
}

/// The repository's folder.
fn top() -> PathBuf {
    here().join("../../..")
}

/// Runs a script of the repository.
fn run(script: &str, arguments: &[&OsStr]) {
    let script = top().join(script);
    assert!(script.exists(), "vendor/ is missing, and this is not the repository of nidus, where it is made");
    println!("cargo:rerun-if-changed={}", script.display());
    let done = Command::new("python3").arg(&script).args(arguments).status();
    assert!(matches!(done, Ok(status) if status.success()), "{} failed; it needs Python 3", script.display());
}

/// Leaves the declarations where lib.rs includes them.
fn declare() {
    let (packed, target) = (here().join("vendor/nidus.rs"), out().join("nidus.rs"));
    if packed.exists() {
        std::fs::copy(packed, target).expect("the declarations can be copied");
        return;
    }
    let header = top().join("include/nidus.h");
    println!("cargo:rerun-if-changed={}", header.display());
    run("tools/rust_sys.py", &[header.as_ref(), target.as_ref()]);
}

/// The static library, if there is one.
fn link_folder(folder: &Path) {
    let archive = folder.join("libnidus.a");
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rerun-if-changed={}", archive.display());
    if archive.exists() {
        println!("cargo:rustc-link-lib=static=nidus");
        link_system();
    } else {
        println!("cargo:rustc-link-lib=dylib=nidus");
    }
}

/// What the static library needs.
fn link_system() {
    println!("cargo:rustc-link-lib=dylib=m");
    println!("cargo:rustc-link-lib=dylib=pthread");
}

fn link_installed() {
    let version = env!("CARGO_PKG_VERSION");
    let asked = Command::new("pkg-config").args(["--libs", &format!("nidus >= {version}")]).output();
    let flags = match asked {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        _ => panic!(
            "pkg-config knows no nidus {version}: install it, set NIDUS_LIB_DIR to the folder of its library, \
             or use the feature `bundled`"
        ),
    };
    for flag in flags.split_whitespace() {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        } else if let Some(name) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={name}");
        }
    }
}

#[cfg(not(feature = "bundled"))]
fn bundled() {}

#[cfg(feature = "bundled")]
fn bundled() {
    let source = source();
    println!("cargo:rerun-if-changed={}", source.display());
    cc::Build::new()
        .file(&source)
        .define("NDEBUG", None)
        .opt_level(2) // in debug builds, too: filters are what programs wait for
        .flag_if_supported("-ffp-contract=off")
        .warnings(false)
        .compile("nidus");
    link_system();
}

/// The library as one file.
#[cfg(feature = "bundled")]
fn source() -> PathBuf {
    let packed = here().join("vendor/nidus.c");
    if packed.exists() {
        return packed;
    }
    println!("cargo:rerun-if-env-changed=XXHASH_INCLUDE");
    println!("cargo:rerun-if-changed={}", top().join("src").display());
    let xxhash = PathBuf::from(env::var_os("XXHASH_INCLUDE").unwrap_or("/usr/include".into())).join("xxhash.h");
    assert!(xxhash.exists(), "there is no {}: set XXHASH_INCLUDE to the folder of xxhash.h", xxhash.display());
    run("tools/amalgamate.py", &[top().as_ref(), xxhash.as_ref(), out().as_ref()]);
    out().join("nidus.c")
}
