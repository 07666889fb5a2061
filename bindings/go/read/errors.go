// SPDX-License-Identifier: MIT

package read

import (
	"errors"
	"fmt"
)

// What can be wrong with a file. An error of Parse is an [*Error] that has one of them, as errors.Is tells.
var (
	// ErrFormat: it is not a nidus file, or its fields contradict each other.
	ErrFormat = errors.New("nidus: not a nidus file")
	// ErrVersion: it is a nidus file of another format version.
	ErrVersion = errors.New("nidus: another format version")
	// ErrTruncated: it ends too early.
	ErrTruncated = errors.New("nidus: the file is truncated")
	// ErrCorrupt: a checksum or an invariant does not hold.
	ErrCorrupt = errors.New("nidus: the file is damaged")
)

// Error is a file that cannot be read.
type Error struct {
	// Kind is ErrFormat or another of the errors of this package.
	Kind error
	// Reason says what is wrong.
	Reason string
}

// Error is the reason.
func (e *Error) Error() string { return "nidus: " + e.Reason }

// Unwrap is the kind.
func (e *Error) Unwrap() error { return e.Kind }

func wrong(kind error, reason string, values ...any) error {
	return &Error{kind, fmt.Sprintf(reason, values...)}
}

// must is nil if all is right, and otherwise an error of fields that contradict each other.
func must(right bool, reason string, values ...any) error {
	if right {
		return nil
	}
	return wrong(ErrFormat, reason, values...)
}

// first is the first that is an error. All are evaluated: none may need that another one is right.
func first(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
