// SPDX-License-Identifier: MIT
//! What can be a key.

use std::borrow::Cow;

/// A key: text, bytes, or an integer.
///
/// Text and its UTF-8 bytes are one key. Integers are keys of their own kind: `7` is not `"7"`. An integer is the same
/// key in every type, and a negative one is taken modulo 2^64, as other languages do: `-1i32` is `u64::MAX`. `u8` and
/// `i8` are no keys, so that the bytes of one key are never mistaken for a batch of integers.
///
/// The trait is implemented for all types that can be keys, and cannot be implemented elsewhere.
pub trait Key: sealed::Sealed {}

impl<T: sealed::Sealed + ?Sized> Key for T {}

pub(crate) mod sealed {
    /// A key as the library takes it.
    #[derive(Clone, Copy)]
    pub enum Raw<'a> {
        Bytes(&'a [u8]),
        Integer(u64),
    }

    pub trait Sealed {
        fn raw(&self) -> Raw<'_>;

        /// The keys themselves where they are what the library takes.
        fn as_integers(keys: &[Self]) -> Option<&[u64]>
        where
            Self: Sized,
        {
            let _ = keys;
            None
        }
    }
}

use sealed::{Raw, Sealed};

macro_rules! bytes {
    ($as:ty: $($kind:ty),*) => {$(
        impl Sealed for $kind {
            #[inline]
            fn raw(&self) -> Raw<'_> {
                Raw::Bytes(<Self as AsRef<$as>>::as_ref(self).as_ref())
            }
        }
    )*};
}

bytes! { str: str, String, Box<str>, Cow<'_, str> }
bytes! { [u8]: [u8], Vec<u8>, Box<[u8]>, Cow<'_, [u8]> }

impl<const N: usize> Sealed for [u8; N] {
    #[inline]
    fn raw(&self) -> Raw<'_> {
        Raw::Bytes(self)
    }
}

impl<T: Sealed + ?Sized> Sealed for &T {
    #[inline]
    fn raw(&self) -> Raw<'_> {
        (**self).raw()
    }
}

macro_rules! integers {
    ($($kind:ty)*) => {$(
        impl Sealed for $kind {
            #[inline]
            fn raw(&self) -> Raw<'_> {
                Raw::Integer(*self as u64) // extends the sign
            }
        }
    )*};
}

integers! { u16 u32 usize i16 i32 i64 isize }

impl Sealed for u64 {
    #[inline]
    fn raw(&self) -> Raw<'_> {
        Raw::Integer(*self)
    }

    fn as_integers(keys: &[u64]) -> Option<&[u64]> {
        Some(keys)
    }
}
