// SPDX-License-Identifier: MIT
//! Links the static library of this tree: NIDUS_BUILD names its build folder (default: ../../build).
use std::{env, fs, process::Command};

fn main() {
    let folder = env::var("NIDUS_BUILD").unwrap_or_else(|_| "../../build".into());
    let folder = fs::canonicalize(&folder).expect("build the library first: cmake --build build --target nidus_static");
    let object = format!("{}/shim.o", env::var("OUT_DIR").unwrap());
    let done = Command::new("cc").args(["-O2", "-c", "-I../../include", "shim.c", "-o", &object]).status().unwrap();
    assert!(done.success(), "shim.c does not compile");
    println!("cargo:rustc-link-arg={object}");
    println!("cargo:rustc-link-arg={}/libnidus.a", folder.display());
    println!("cargo:rustc-link-arg=-lm");
    println!("cargo:rerun-if-env-changed=NIDUS_BUILD");
    println!("cargo:rerun-if-changed=shim.c");
    println!("cargo:rerun-if-changed={}/libnidus.a", folder.display());
}
