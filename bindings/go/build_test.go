// SPDX-License-Identifier: MIT

package nidus_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"nidus.org/nidus"
)

func bytesOf[K nidus.Key](t *testing.T, filter *nidus.Filter[K], err error) []byte {
	t.Helper()
	ok(t, err)
	defer filter.Close()
	return must(filter.MarshalBinary())
}

func TestBuildsTakeEveryKindOfKey(t *testing.T) {
	options := nidus.Options{FPR: 1e-6, Seed: 9, Threads: 2}
	words, numbers := wordsUpTo(200_000), upTo(3000)
	built := must(nidus.Build(t.Context(), words, options))
	equal(t, all(built.ContainsMany(words)), true)
	equal(t, built.Len(), len(words))
	slow := options
	slow.Threads = 0
	one, err := nidus.Build(t.Context(), words, slow)
	equal(t, bytes.Equal(bytesOf(t, one, err), must(built.MarshalBinary())), true)
	narrow, wide := make([]uint16, 3000), make([]int, 3000)
	for i := range narrow {
		narrow[i], wide[i] = uint16(i), i
	}
	ofNumbers, err := nidus.Build(t.Context(), numbers, options)
	want := bytesOf(t, ofNumbers, err)
	ofNarrow, err := nidus.Build(t.Context(), narrow, options)
	equal(t, bytes.Equal(bytesOf(t, ofNarrow, err), want), true)
	ofWide, err := nidus.Build(t.Context(), wide, options)
	equal(t, bytes.Equal(bytesOf(t, ofWide, err), want), true)
	hashes := ofHasher(t, numbers)
	ofHashes, err := nidus.BuildHashes[uint64](t.Context(), hashes, options)
	equal(t, bytes.Equal(bytesOf(t, ofHashes, err), want), true)
	equal(t, must(nidus.Build(t.Context(), []string(nil), options)).Len(), 0)
	equal(t, must(nidus.Build(t.Context(), []int(nil), options)).Len(), 0)
}

func ofHasher(t *testing.T, keys []uint64) []uint64 {
	hasher := must(nidus.New[uint64](nidus.Options{Capacity: 1, Seed: 9}))
	t.Cleanup(func() { hasher.Close() })
	return hasher.HashMany(keys)
}

func TestABuildDrawsASeedOfItsOwn(t *testing.T) {
	a := must(nidus.Build(t.Context(), []string{"heron"}, nidus.Options{}))
	b := must(nidus.Build(t.Context(), []string{"heron"}, nidus.Options{}))
	equal(t, a.Info().Seed != 0 && a.Info().Seed != b.Info().Seed, true)
}

func TestABuildKeepsCopiesIfAskedTo(t *testing.T) {
	keys := []string{"a", "a", "b"}
	equal(t, must(nidus.Build(t.Context(), keys, nidus.Options{FPR: 1e-6})).Len(), 2)
	copies := must(nidus.Build(t.Context(), keys, nidus.Options{FPR: 1e-6, Features: nidus.FeatureMultiset}))
	equal(t, copies.Len(), 3)
	equal(t, copies.Count("a"), 2)
}

func TestABuildIsWatched(t *testing.T) {
	var told []float64
	progress := func(share float64) { told = append(told, share) }
	built := must(nidus.Build(t.Context(), upTo(2_000_000), nidus.Options{Progress: progress}))
	equal(t, built.Len(), 2_000_000)
	equal(t, len(told) > 0 && slices.IsSorted(told) && told[0] >= 0 && told[len(told)-1] <= 1, true)
}

func TestAContextStopsABuild(t *testing.T) {
	reason := errors.New("enough")
	for _, threads := range []int{0, 2} {
		ctx, cancel := context.WithCancelCause(t.Context())
		progress := func(float64) { cancel(reason) } // from then on it may take some milliseconds
		_, err := nidus.Build(ctx, upTo(10_000_000), nidus.Options{Progress: progress, Threads: threads})
		is(t, err, nidus.ErrStopped)
		is(t, err, reason)
	}
	done, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	<-done.Done()
	_, err := nidus.Build(done, wordsUpTo(100), nidus.Options{})
	is(t, err, nidus.ErrStopped)
	is(t, err, context.DeadlineExceeded)
	_, err = nidus.Build(done, upTo(1_000_000), nidus.Options{})
	is(t, err, context.DeadlineExceeded)
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = nidus.Build(short, wordsUpTo(1_000_000), nidus.Options{Threads: 2})
	is(t, err, context.DeadlineExceeded)
}

func TestAPanicOfWhoWatchesComesBack(t *testing.T) {
	defer func() { equal(t, recover(), any("watched")) }()
	nidus.Build(t.Context(), upTo(2_000_000), nidus.Options{Progress: func(float64) { panic("watched") }})
	t.Fatal("no panic")
}

func TestBuildsWithValues(t *testing.T) {
	words, values := wordsUpTo(3000), upTo(3000)
	built := must(nidus.BuildValues(t.Context(), words, values, nidus.Options{FPR: 1e-6, ValueBits: 12}))
	first, _ := built.FindMany(words)
	equal(t, slices.Equal(first, values), true)
	equal(t, slices.Equal(values, upTo(3000)), true) // ours are not touched
	_, err := nidus.BuildValues(t.Context(), words, values, nidus.Options{ValueBits: 3})
	is(t, err, nidus.ErrRange)
	_, err = nidus.BuildValues(t.Context(), words, values, nidus.Options{})
	is(t, err, nidus.ErrUnsupported)
}

func TestBuildLikeMakesFiltersThatMerge(t *testing.T) {
	first := must(nidus.Build(t.Context(), wordsUpTo(1000), nidus.Options{Capacity: 3000, ValueBits: 4, FPR: 1e-6}))
	keys, values := []string{"heron", "heron", "crane"}, []uint64{1, 1, 2}
	second := must(nidus.BuildLike(t.Context(), first, keys, values, nidus.Options{Features: nidus.FeatureMultiset}))
	equal(t, second.Len(), 3)
	equal(t, must(nidus.BuildLike(t.Context(), first, keys, nil, nidus.Options{})).Len(), 2)
	both := must(nidus.Merge(nidus.MergeUnion, first, second))
	equal(t, both.Len(), 1002)
	equal(t, slices.Equal(both.Values("crane"), []uint64{2}), true)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := nidus.BuildLike(done, first, wordsUpTo(1000), nil, nidus.Options{})
	is(t, err, context.Canceled)
}

func TestAStaticFilterIsBuiltAndNeverChanged(t *testing.T) {
	words := wordsUpTo(5000)
	static := must(nidus.Build(t.Context(), words, nidus.Options{Features: nidus.FeatureStatic, FPR: 1.0 / 256}))
	equal(t, all(static.ContainsMany(words)), true)
	equal(t, static.Info().Family, nidus.Ribbon)
	equal(t, static.Info().BitsPerKey < 9, true)
	is(t, static.Insert("x"), nidus.ErrUnsupported)
	values := upTo(5000)
	mapped := must(nidus.BuildValues(t.Context(), words, values, nidus.Options{Family: nidus.Ribbon, ValueBits: 13}))
	first, _ := mapped.FindMany(words)
	equal(t, slices.Equal(first, values), true)
	_, err := nidus.BuildValues(t.Context(), []string{"a", "a"}, []uint64{1, 2}, nidus.Options{Family: nidus.Ribbon, ValueBits: 13})
	is(t, err, nidus.ErrArgument)
}

func TestAnExactFilterIsRightAboutTwoLists(t *testing.T) {
	words := wordsUpTo(50_000)
	exact := must(nidus.BuildExclude(t.Context(), words[:1000], words[1000:], nidus.Options{Threads: 2}))
	yes := exact.ContainsMany(words)
	equal(t, all(yes[:1000]) && !slices.Contains(yes[1000:], true), true)
	equal(t, exact.Info().Judged > 0, true)
	_, err := nidus.BuildExclude(t.Context(), words[:10], words[9:20], nidus.Options{})
	is(t, err, nidus.ErrArgument)
	_, err = nidus.BuildExclude(t.Context(), words[:1], nil, nidus.Options{Family: nidus.Cuckoo})
	is(t, err, nidus.ErrUnsupported)
}
