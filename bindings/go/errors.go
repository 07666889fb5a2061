// SPDX-License-Identifier: MIT

package nidus

// #include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"
)

// What can go wrong. An error of a call is an [*Error] that has one of them, as errors.Is tells, and the library's own
// words.
var (
	// ErrFull: no place was found.
	ErrFull = status(C.NIDUS_FULL, "the filter is full")
	// ErrNotFound: a key that RemoveMany was to remove is not there.
	ErrNotFound = status(C.NIDUS_NOT_FOUND, "no such key")
	// ErrCopies: no more copies of this key can be counted; other keys may still fit.
	ErrCopies = status(C.NIDUS_COPIES, "too many copies of a key")
	// ErrStopped: the context of a build was done. The error has the context's own, too.
	ErrStopped = status(C.NIDUS_STOPPED, "the build was stopped")
	// ErrArgument: an argument makes no sense.
	ErrArgument = status(C.NIDUS_E_ARG, "invalid argument")
	// ErrRange: a number is out of range for the family.
	ErrRange = status(C.NIDUS_E_RANGE, "out of range")
	// ErrUnsupported: the filter does not have what the call needs, as removes from a union. It is errors.ErrUnsupported.
	ErrUnsupported = status(C.NIDUS_E_UNSUPPORTED, "not supported by this filter")
	// ErrReadOnly: a change to a filter that cannot be changed.
	ErrReadOnly = status(C.NIDUS_E_READONLY, "the filter is read-only")
	// ErrMismatch: filters do not fit together.
	ErrMismatch = status(C.NIDUS_E_MISMATCH, "the filters do not fit together")
	// ErrMemory: there is not enough memory.
	ErrMemory = status(C.NIDUS_E_NOMEM, "out of memory")
	// ErrIO: the system refused. The error has the system's own, too, so that it may be fs.ErrNotExist.
	ErrIO = status(C.NIDUS_E_IO, "the system refused")
	// ErrFormat: it is not a nidus file, or its fields contradict each other.
	ErrFormat = status(C.NIDUS_E_FORMAT, "not a nidus file")
	// ErrVersion: it is a nidus file of another format version.
	ErrVersion = status(C.NIDUS_E_VERSION, "another format version")
	// ErrTruncated: the file ends too early.
	ErrTruncated = status(C.NIDUS_E_TRUNCATED, "the file is truncated")
	// ErrCorrupt: a checksum or an invariant does not hold.
	ErrCorrupt = status(C.NIDUS_E_CORRUPT, "the file is damaged")
	// ErrClosed: the filter was closed, or never made.
	ErrClosed = errors.New("nidus: the filter was closed")
)

// sentinels has the errors above by their numbers in C.
var sentinels = map[C.int]error{}

func status(number C.int, text string) error {
	sentinels[number] = errors.New("nidus: " + text)
	return sentinels[number]
}

// Error is a call that failed. The filter is as it was before; batches say how far they came.
type Error struct {
	// Kind is ErrFull or another of the errors of this package.
	Kind error
	// Reason is what the library says of it: "capacity must be at least 1".
	Reason string
	// Cause is the system's error, or that of a context; otherwise nil.
	Cause error
}

// Error is the reason.
func (e *Error) Error() string { return "nidus: " + e.Reason }

// Unwrap gives the kind, the cause, and errors.ErrUnsupported where the kind says the same.
func (e *Error) Unwrap() []error {
	all := []error{e.Kind}
	if e.Cause != nil {
		all = append(all, e.Cause)
	}
	if e.Kind == ErrUnsupported {
		all = append(all, errors.ErrUnsupported)
	}
	return all
}

// failure is the error of an answer, nil if it is none.
func failure(answer C.nidus_go_answer) error {
	if answer.status == C.NIDUS_OK {
		return nil
	}
	return failed(answer)
}

func failed(answer C.nidus_go_answer) *Error {
	kind, known := sentinels[answer.status]
	if !known {
		kind = fmt.Errorf("nidus: status %d", int(answer.status)) // of a library that is newer than this package
	}
	e := &Error{Kind: kind, Reason: kind.Error()[len("nidus: "):]}
	if answer.err != 0 {
		e.Cause = syscall.Errno(answer.err)
	}
	if answer.reason != nil {
		e.Reason = C.GoString(answer.reason)
		C.free(unsafe.Pointer(answer.reason))
	}
	return e
}

// unless is failure, but false for the one status that is an ordinary answer of a call.
func unless(answer C.nidus_go_answer, ordinary C.int) (bool, error) {
	if answer.status == ordinary {
		return false, nil
	}
	err := failure(answer)
	return err == nil, err
}
