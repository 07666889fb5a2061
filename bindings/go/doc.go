// SPDX-License-Identifier: MIT

// Package nidus has fingerprint filters: sets that forget their keys and keep a few bits of each. Contains is true for
// every key that is in a filter, and for others with the rate that was chosen. Unlike a Bloom filter a filter can also
// delete, grow and keep values, and its files are the same in every language.
//
// The type parameter says what the keys are: text, bytes, or integers. Text and its bytes are one kind of key, integers
// are another: 7 is not "7". An integer is the same key in every type; a negative one is taken modulo 2^64.
//
// A [Filter] is like a map: any number of goroutines may read it at the same time, and a change needs it for itself. A
// [SharedFilter] takes any mix of calls at the same time. A [View] is a file that was mapped and can only be read.
//
// A call into C costs some 30 ns beyond its work, so prefer the batches (InsertMany, ContainsMany and others), which
// call once for many keys.
//
// The memory of a filter is C's, and the garbage collector does not know how large it is: Close filters that are no
// longer needed. Those that are forgotten are freed some time after they can no longer be reached. Close needs a filter
// for itself, whatever its type. Afterwards calls that return an error return [ErrClosed], and others panic with it.
//
// Remove only keys that were inserted: any other key may take the entry of one that looks the same.
//
// The C library is compiled with the package, which takes a minute once. With the build tag nidus_system an installed
// one is linked, which pkg-config finds. Package read reads filter files without C.
package nidus
