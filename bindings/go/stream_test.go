// SPDX-License-Identifier: MIT

package nidus_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"syscall"
	"testing"
	"testing/iotest"

	"nidus.org/nidus"
)

func TestFilesAreLoadedOrMapped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "é birds.nidus")
	filter := small[string](t)
	ok(t, filter.Insert("heron"))
	ok(t, filter.Save(path))
	for _, open := range []func(string) (*nidus.View[string], error){nidus.Open[string], nidus.OpenVerified[string]} {
		view := must(open(path))
		equal(t, view.Contains("heron") && view.Info().ReadOnly, true)
		clone := must(view.Clone())
		ok(t, clone.Insert("crane"))
		equal(t, clone.Contains("crane") && !view.Contains("crane"), true)
		ok(t, view.Close())
	}
	loaded := must(nidus.Load[[]byte](path))
	equal(t, loaded.Contains([]byte("heron")), true)
	ok(t, loaded.Insert([]byte("crane")))
	is(t, loaded.Save(filepath.Join(t.TempDir(), "no/such/folder")), nidus.ErrIO)
}

func TestErrorsOfTheSystemAreTheirs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nothing")
	_, loaded := nidus.Load[string](path)
	_, opened := nidus.Open[string](path)
	for _, err := range []error{loaded, opened} {
		is(t, err, nidus.ErrIO)
		is(t, err, fs.ErrNotExist)
		is(t, err, syscall.ENOENT)
		var told *nidus.Error
		equal(t, errors.As(err, &told) && told.Kind == nidus.ErrIO, true)
	}
	_, err := nidus.Load[string]("a\x00b")
	is(t, err, nidus.ErrArgument)
}

func TestAViewReadsBytesWhereTheyAre(t *testing.T) {
	filter := small[string](t)
	ok(t, filter.Insert("heron"))
	saved := must(filter.MarshalBinary())
	view, verified := must(nidus.ViewOf[string](saved)), must(nidus.ViewOfVerified[string](saved))
	equal(t, view.Contains("heron") && verified.Contains("heron"), true)
	equal(t, bytes.Equal(must(view.MarshalBinary()), saved), true)
	ok(t, view.Close())
}

func TestDamagedBytesAreErrors(t *testing.T) {
	filter := small[uint64](t)
	must(filter.InsertMany(upTo(900)))
	saved := must(filter.MarshalBinary())
	var loaded nidus.Filter[uint64]
	for end := range saved {
		err := loaded.UnmarshalBinary(saved[:end])
		if !errors.Is(err, nidus.ErrTruncated) && !errors.Is(err, nidus.ErrFormat) && !errors.Is(err, nidus.ErrCorrupt) {
			t.Fatal(end, err)
		}
		if _, err := nidus.ViewOf[uint64](saved[:end]); err == nil {
			t.Fatal(end)
		}
	}
	damaged := bytes.Clone(saved)
	for at := range saved {
		damaged[at] ^= 1 << (at % 8)
		if loaded.UnmarshalBinary(damaged) == nil {
			t.Fatal(at)
		}
		if _, err := nidus.ViewOfVerified[uint64](damaged); err == nil {
			t.Fatal(at)
		}
		if view, err := nidus.ViewOf[uint64](damaged); err == nil {
			view.ContainsMany(upTo(100))
			view.Close()
		}
		damaged[at] = saved[at]
	}
	is(t, loaded.UnmarshalBinary(append(saved, 0)), nidus.ErrFormat)
	is(t, loaded.UnmarshalBinary([]byte("not a filter, but long enough")), nidus.ErrFormat)
	is(t, loaded.UnmarshalBinary(nil), nidus.ErrTruncated)
}

func TestAFilterThatIsNotLoadedStaysAsItWas(t *testing.T) {
	filter := small[string](t)
	ok(t, filter.Insert("heron"))
	saved := must(filter.MarshalBinary())
	ok(t, filter.Insert("crane"))
	is(t, filter.UnmarshalBinary([]byte("rubbish")), nidus.ErrTruncated)
	equal(t, filter.Contains("crane"), true)
	ok(t, filter.UnmarshalBinary(saved))
	equal(t, filter.Contains("heron") && !filter.Contains("crane"), true)
}

func TestGobCarriesFilters(t *testing.T) {
	filter := small[string](t)
	ok(t, filter.Insert("heron"))
	var wire bytes.Buffer
	ok(t, gob.NewEncoder(&wire).Encode(filter))
	var again nidus.Filter[string]
	ok(t, gob.NewDecoder(&wire).Decode(&again))
	equal(t, again.Contains("heron"), true)
}

func TestStreamsCarryFilters(t *testing.T) {
	filter := small[string](t)
	ok(t, filter.Insert("heron"))
	var saved bytes.Buffer
	n := must(filter.WriteTo(&saved))
	equal(t, int(n), saved.Len())
	equal(t, bytes.Equal(saved.Bytes(), must(filter.AppendBinary(nil))), true)
	prefixed := must(filter.AppendBinary([]byte("so: ")))
	equal(t, bytes.Equal(prefixed, append([]byte("so: "), saved.Bytes()...)), true)
	for _, odd := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
		again := must(nidus.Read[string](odd(bytes.NewReader(saved.Bytes()))))
		equal(t, again.Contains("heron"), true)
	}
	// Exactly to the end: what follows is left for the next one.
	twice := bytes.NewReader(bytes.Repeat(saved.Bytes(), 2))
	must(nidus.Read[string](twice))
	must(nidus.Read[string](twice))
	equal(t, twice.Len(), 0)
	_, err := nidus.Read[string](twice)
	is(t, err, nidus.ErrTruncated)
	_, err = nidus.Read[string](bytes.NewReader(saved.Bytes()[:100]))
	is(t, err, nidus.ErrTruncated)
}

var errOdd = errors.New("nidus: odd stream")

// odd is a stream that works for some bytes.
type odd struct {
	from  io.Reader
	until int
	how   func() (int, error)
}

func (o *odd) Read(to []byte) (int, error) {
	if o.until <= 0 {
		return o.how()
	}
	n, err := o.from.Read(to[:min(len(to), o.until)])
	o.until -= n
	return n, err
}

func (o *odd) Write(from []byte) (int, error) {
	if o.until < len(from) {
		return o.how()
	}
	o.until -= len(from)
	return len(from), nil
}

func TestStreamsHaveErrorsOfTheirOwn(t *testing.T) {
	filter := small[string](t)
	saved := must(filter.MarshalBinary())
	for _, until := range []int{0, 100, 300} {
		for _, how := range []struct {
			reads, writes error
			now           func() (int, error)
		}{
			{errOdd, errOdd, func() (int, error) { return 0, errOdd }},
			{nil, nil, func() (int, error) { return -1, nil }},
			{nil, nil, func() (int, error) { return math.MaxInt, nil }},
			{io.ErrNoProgress, io.ErrShortWrite, func() (int, error) { return 0, nil }},
		} {
			_, err := filter.WriteTo(&odd{nil, until, how.now})
			equal(t, err != nil && (how.writes == nil || errors.Is(err, how.writes)), true)
			_, err = nidus.Read[string](&odd{bytes.NewReader(saved), until, how.now})
			equal(t, err != nil && (how.reads == nil || errors.Is(err, how.reads)), true)
		}
		panics := func() (int, error) { panic("odd stream") }
		for _, call := range []func(){
			func() { filter.WriteTo(&odd{nil, until, panics}) },
			func() { nidus.Read[string](&odd{bytes.NewReader(saved), until, panics}) },
		} {
			func() {
				defer func() { equal(t, recover(), any("odd stream")) }()
				call()
			}()
		}
	}
}
