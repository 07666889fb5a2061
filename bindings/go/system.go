// SPDX-License-Identifier: MIT

//go:build nidus_system

package nidus

// #cgo CFLAGS: -DNIDUS_GO_SYSTEM
// #cgo pkg-config: nidus
import "C"
