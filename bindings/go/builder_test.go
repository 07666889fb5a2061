// SPDX-License-Identifier: MIT

package nidus_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"nidus.org/nidus"
)

const least = 16 << 20 // memory of a builder

func TestABuilderMakesTheBytesOfABuild(t *testing.T) {
	words, numbers := wordsUpTo(50_000), upTo(50_000)
	options := nidus.Options{Seed: 5, FPR: 0.001, Family: nidus.Windowed}
	ofWords := must(nidus.NewBuilder[string](options, least, t.TempDir()))
	defer ofWords.Close()
	for some := range slices.Chunk(words, 7777) {
		equal(t, must(ofWords.AddMany(some)), len(some))
	}
	ok(t, ofWords.Add("one more"))
	path := filepath.Join(t.TempDir(), "words.nidus")
	ok(t, ofWords.Save(t.Context(), path))
	whole, err := nidus.Build(t.Context(), append(words, "one more"), options)
	want := bytesOf(t, whole, err)
	equal(t, bytes.Equal(must(os.ReadFile(path)), want), true)
	again, err := ofWords.Finish(t.Context())
	equal(t, bytes.Equal(bytesOf(t, again, err), want), true)

	ofNumbers := must(nidus.NewBuilder[uint64](options, least, ""))
	defer ofNumbers.Close()
	var group sync.WaitGroup
	for part := range 4 { // in any order
		group.Add(1)
		go func() {
			defer group.Done()
			ofNumbers.AddMany(numbers[part*12_500 : (part+1)*12_500])
		}()
	}
	group.Wait()
	built, err := ofNumbers.Finish(t.Context())
	whole2, err2 := nidus.Build(t.Context(), numbers, options)
	equal(t, bytes.Equal(bytesOf(t, built, err), bytesOf(t, whole2, err2)), true)
}

func TestABuilderTakesValues(t *testing.T) {
	options := nidus.Options{Seed: 5, FPR: 1e-6, Family: nidus.Bucketed, Capacity: 4000, ValueBits: 12}
	words, numbers := wordsUpTo(2000), upTo(2000)
	ofWords := must(nidus.NewBuilder[string](options, least, ""))
	defer ofWords.Close()
	equal(t, must(ofWords.AddValues(words, numbers)), 2000)
	equal(t, must(ofWords.AddValues(nil, nil)), 0)
	first, _ := must(ofWords.Finish(t.Context())).FindMany(words)
	equal(t, slices.Equal(first, numbers), true)
	ofNumbers := must(nidus.NewBuilder[uint64](options, least, ""))
	defer ofNumbers.Close()
	equal(t, must(ofNumbers.AddValues(numbers, numbers)), 2000)
	first, _ = must(ofNumbers.Finish(t.Context())).FindMany(numbers)
	equal(t, slices.Equal(first, numbers), true)
	_, err := ofNumbers.AddValues(numbers[:1], []uint64{1 << 12})
	is(t, err, nidus.ErrRange)
}

func TestABuilderIsStoppedAndClosed(t *testing.T) {
	shares := 0
	options := nidus.Options{Family: nidus.Windowed, Progress: func(float64) { shares++ }}
	builder := must(nidus.NewBuilder[uint64](options, least, ""))
	must(builder.AddMany(upTo(1_000_000)))
	equal(t, must(builder.Finish(t.Context())).Len(), 1_000_000)
	equal(t, shares > 0, true)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := builder.Finish(done)
	is(t, err, nidus.ErrStopped)
	is(t, err, context.Canceled)
	ok(t, builder.Close())
	ok(t, builder.Close())
	is(t, builder.Add(1), nidus.ErrClosed)
	is(t, builder.Save(t.Context(), "x"), nidus.ErrClosed)
	for kind, options := range map[error]nidus.Options{nidus.ErrUnsupported: {Family: nidus.Cuckoo}, nidus.ErrRange: {FPR: 1e-12}} {
		_, err := nidus.NewBuilder[string](options, least, "")
		is(t, err, kind)
	}
	_, err = nidus.NewBuilder[string](nidus.Options{}, 1, "")
	is(t, err, nidus.ErrRange)
	_, err = nidus.NewBuilder[string](nidus.Options{}, least, "a\x00b")
	is(t, err, nidus.ErrArgument)
}
