// SPDX-License-Identifier: MIT
//! The declarations of `nidus.h`. The header documents every name; the crate `nidus` is safe on top of this one.
//!
//! Enums of C are integers here: a library that is newer than these declarations may answer with other numbers.
#![no_std]
#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_int, c_uint, c_void};

include!(concat!(env!("OUT_DIR"), "/nidus.rs"));
