// SPDX-License-Identifier: MIT

package nidus

// #include "glue.h"
import "C"

import (
	"errors"
	"io"
	"runtime"
	"runtime/cgo"
	"strings"
	"unsafe"
)

// withPath calls with a path for C.
func withPath(path string, call func(*C.char) error) error {
	if strings.Contains(path, "\x00") {
		return &Error{Kind: ErrArgument, Reason: "a path has no NUL in it"}
	}
	c := C.CString(path)
	defer C.free(unsafe.Pointer(c))
	return call(c)
}

// Save writes the filter to a file, which is at any moment the old one or the new one.
func (f *lookups[K]) Save(path string) error {
	if f.core.closed() {
		return ErrClosed
	}
	return withPath(path, func(path *C.char) error {
		answer := C.nidus_go_save(f.core.c, path)
		runtime.KeepAlive(f.core)
		return failure(answer)
	})
}

// Load reads a filter from a file. Everything is checked before it is trusted. The file does not say of what kind the
// keys are: K does.
func Load[K Key](path string) (filter *Filter[K], err error) {
	err = withPath(path, func(path *C.char) error {
		var c *C.nidus_filter
		answer := C.nidus_go_load(path, &c)
		filter, err = filterOf[K](c, answer, 0)
		return err
	})
	return filter, err
}

// LoadShared is Load of a filter that was made with FeatureConcurrent.
func LoadShared[K Key](path string) (*SharedFilter[K], error) {
	filter, err := Load[K](path)
	if err != nil {
		return nil, err
	}
	shared, err := Share(filter)
	if err != nil {
		filter.Close()
	}
	return shared, err
}

// Open maps a file: lookups start at once, and processes share its pages. The header is checked and the table is not
// read, so a damaged file may give wrong answers, but no call reads outside of it.
//
// Replacing the file by a rename, as Save does, does no harm. A file that another program truncates in place ends this
// one with SIGBUS: Load files that others may truncate.
func Open[K Key](path string) (*View[K], error) { return open[K](path, 0) }

// OpenVerified is Open, with all of the file read and checked first.
func OpenVerified[K Key](path string) (*View[K], error) { return open[K](path, C.NIDUS_OPEN_VERIFY) }

func open[K Key](path string, flags C.uint) (view *View[K], err error) {
	err = withPath(path, func(path *C.char) error {
		var c *C.nidus_filter
		answer := C.nidus_go_open(path, flags, &c)
		view, err = viewOf[K](c, answer, nil)
		return err
	})
	return view, err
}

func viewOf[K Key](c *C.nidus_filter, answer C.nidus_go_answer, pinned *runtime.Pinner) (*View[K], error) {
	if err := failure(answer); err != nil {
		return nil, err
	}
	return &View[K]{lookups[K]{newCore[K](c, 0, pinned)}}, nil
}

// none is where the bytes of an empty slice are, whose own pointer may be nil.
var none C.char

func bytesOf(bytes []byte) *C.char {
	if len(bytes) == 0 {
		return &none
	}
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(bytes)))
}

// ViewOf is the filter in the bytes of a saved one, which must not change while it is used. They are checked as Open
// checks a file.
func ViewOf[K Key](bytes []byte) (*View[K], error) { return viewBytes[K](bytes, 0) }

// ViewOfVerified is ViewOf, with all bytes read and checked first.
func ViewOfVerified[K Key](bytes []byte) (*View[K], error) {
	return viewBytes[K](bytes, C.NIDUS_OPEN_VERIFY)
}

func viewBytes[K Key](bytes []byte, flags C.uint) (*View[K], error) {
	pinned := new(runtime.Pinner)
	if len(bytes) > 0 {
		pinned.Pin(unsafe.SliceData(bytes))
	}
	var c *C.nidus_filter
	answer := C.nidus_go_open_buffer(bytesOf(bytes), C.size_t(len(bytes)), flags, &c)
	view, err := viewOf[K](c, answer, pinned)
	if err != nil {
		pinned.Unpin()
	}
	return view, err
}

// MarshalBinary has the bytes of a file.
func (f *lookups[K]) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// AppendBinary appends the bytes of a file.
func (f *lookups[K]) AppendBinary(to []byte) ([]byte, error) {
	if f.core.closed() {
		return to, ErrClosed
	}
	for {
		n := int(C.nidus_saved_size(f.core.c))
		room := append(to, make([]byte, n)...)
		var written C.size_t
		answer := C.nidus_go_save_buffer(f.core.c, bytesOf(room[len(to):]), C.size_t(n), &written)
		runtime.KeepAlive(f.core)
		err := failure(answer)
		if err == nil {
			return room[:len(to)+int(written)], nil
		}
		if answer.status != C.NIDUS_E_BUFFER { // others that share it may have added more meanwhile
			return to, err
		}
	}
}

// UnmarshalBinary makes the filter the one in the bytes of a file, all of which are checked. After an error it is as it
// was.
func (f *Filter[K]) UnmarshalBinary(bytes []byte) error {
	var c *C.nidus_filter
	answer := C.nidus_go_load_buffer(bytesOf(bytes), C.size_t(len(bytes)), &c)
	loaded, err := filterOf[K](c, answer, 0)
	if err != nil {
		return err
	}
	f.core.close()
	f.core = loaded.core
	return nil
}

// stream is a reader or writer on its way through C, and what it came to there.
type stream struct {
	w        io.Writer
	r        io.Reader
	n        int64
	later    error // what came with the last bytes
	err      error
	panicked any
}

// through lets C use the stream. Its own failure comes before the library's words for it.
func (s *stream) through(call func(handle C.uintptr_t) error) error {
	handle := cgo.NewHandle(s)
	defer handle.Delete()
	err := call(C.uintptr_t(handle))
	if s.panicked != nil {
		panic(s.panicked)
	}
	if s.err != nil {
		return s.err
	}
	return err
}

// WriteTo writes the bytes of a file, in pieces and without a second copy.
func (f *lookups[K]) WriteTo(w io.Writer) (int64, error) {
	if f.core.closed() {
		return 0, ErrClosed
	}
	s := &stream{w: w}
	err := s.through(func(handle C.uintptr_t) error {
		answer := C.nidus_go_write(f.core.c, handle)
		runtime.KeepAlive(f.core)
		return failure(answer)
	})
	return s.n, err
}

// Read reads a filter from a stream, exactly to its end and not beyond. Everything is checked before it is trusted. A
// stream that ends too early is ErrTruncated.
func Read[K Key](r io.Reader) (filter *Filter[K], err error) {
	s := &stream{r: r}
	err = s.through(func(handle C.uintptr_t) error {
		var c *C.nidus_filter
		answer := C.nidus_go_read(handle, &c)
		filter, err = filterOf[K](c, answer, 0)
		return err
	})
	return filter, err
}

var errBadCount = errors.New("nidus: a reader or writer returned a number that makes no sense")

// nidusGoSink writes a piece; false if that failed.
//
//export nidusGoSink
func nidusGoSink(handle C.uintptr_t, data unsafe.Pointer, size C.size_t) (ok C.bool) {
	s := cgo.Handle(handle).Value().(*stream)
	defer func() {
		if s.panicked = recover(); s.panicked != nil {
			ok = false
		}
	}()
	n, err := s.w.Write(unsafe.Slice((*byte)(data), int(size)))
	if n < 0 || n > int(size) {
		n, err = 0, errBadCount
	}
	s.n += int64(n)
	if err == nil && n < int(size) {
		err = io.ErrShortWrite
	}
	s.err = err
	return err == nil
}

// nidusGoSource reads a piece: how many bytes, 0 at the end, less if that failed.
//
//export nidusGoSource
func nidusGoSource(handle C.uintptr_t, data unsafe.Pointer, size C.size_t) (got C.int64_t) {
	s := cgo.Handle(handle).Value().(*stream)
	defer func() {
		if s.panicked = recover(); s.panicked != nil {
			got = -1
		}
	}()
	to := unsafe.Slice((*byte)(data), int(size))
	n, err := s.read(to)
	switch {
	case n > 0:
		return C.int64_t(n)
	case err == io.EOF:
		return 0
	}
	s.err = err
	return -1
}

// read reads some bytes, or has an error.
func (s *stream) read(to []byte) (int, error) {
	for range 100 {
		if s.later != nil {
			return 0, s.later
		}
		var n int
		n, s.later = s.r.Read(to)
		if n < 0 || n > len(to) {
			return 0, errBadCount
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, io.ErrNoProgress
}
