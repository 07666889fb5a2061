// SPDX-License-Identifier: MIT
//! Structs have the sizes that the C compiler gives them: `NIDUS_SIZES` names a file that one of its programs wrote.

use nidus_sys as sys;
use std::mem::size_of;

#[test]
fn structs_are_as_large_as_in_c() {
    let Some(path) = std::env::var_os("NIDUS_SIZES") else { return };
    let told = std::fs::read_to_string(path).unwrap();
    let here = [
        ("nidus_options", size_of::<sys::nidus_options>()),
        ("nidus_info", size_of::<sys::nidus_info>()),
        ("nidus_entry", size_of::<sys::nidus_entry>()),
        ("nidus_cursor", size_of::<sys::nidus_cursor>()),
        ("nidus_plan_row", size_of::<sys::nidus_plan_row>()),
        ("nidus_allocator", size_of::<sys::nidus_allocator>()),
        ("nidus_progress", size_of::<sys::nidus_progress>()),
        ("nidus_builder_info", size_of::<sys::nidus_builder_info>()),
    ];
    assert_eq!(told.lines().count(), here.len());
    for (name, size) in here {
        assert!(told.lines().any(|line| line == format!("{name} {size}")), "{name} has {size} bytes here:\n{told}");
    }
}

#[test]
fn the_library_has_the_version_of_the_declarations() {
    let version = unsafe { std::ffi::CStr::from_ptr(sys::nidus_version()) };
    let declared = [sys::NIDUS_VERSION_MAJOR, sys::NIDUS_VERSION_MINOR, sys::NIDUS_VERSION_PATCH];
    assert_eq!(version.to_str().unwrap(), declared.map(|part| part.to_string()).join("."));
    assert_eq!(version.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
}
