// SPDX-License-Identifier: MIT

package nidus_test

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nidus.org/nidus"
)

var families = []nidus.Family{nidus.Cuckoo, nidus.Semisort, nidus.Simplified, nidus.Chunked, nidus.Bucketed,
	nidus.Windowed, nidus.Breadcrumb, nidus.Bloom, nidus.BlockedBloom}

// All three are sets, and know the ways of the standard library.
var (
	_ nidus.Set[string]          = (*nidus.Filter[string])(nil)
	_ nidus.Set[string]          = (*nidus.SharedFilter[string])(nil)
	_ nidus.Set[string]          = (*nidus.View[string])(nil)
	_ io.WriterTo                = (*nidus.View[string])(nil)
	_ io.Closer                  = (*nidus.SharedFilter[uint64])(nil)
	_ encoding.BinaryMarshaler   = (*nidus.Filter[[]byte])(nil)
	_ encoding.BinaryAppender    = (*nidus.Filter[[]byte])(nil)
	_ encoding.BinaryUnmarshaler = (*nidus.Filter[[]byte])(nil)
)

// must gives what cannot fail.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// is checks what kind of error it is, and that there are words for it.
func is(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) || len(err.Error()) < len("nidus: x") || !strings.HasPrefix(err.Error(), "nidus: ") {
		t.Fatalf("%v instead of %v", err, kind)
	}
}

func equal[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%v instead of %v", got, want)
	}
}

func all(answers []bool) bool { return !slices.Contains(answers, false) }

func upTo(n int) []uint64 {
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = uint64(i)
	}
	return keys
}

func wordsUpTo(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("word ", i)
	}
	return keys
}

func small[K nidus.Key](t testing.TB) *nidus.Filter[K] {
	filter := must(nidus.New[K](nidus.Options{Capacity: 1000, FPR: 1e-6, Seed: 7}))
	t.Cleanup(func() { filter.Close() })
	return filter
}

// ------------------------------------------------------------------ keys

type name string
type number int32

func hashOf[K nidus.Key](t *testing.T, key K) uint64 { return small[K](t).Hash(key) }

func TestTextIsItsBytesAndIntegersAreOneKeyInEveryType(t *testing.T) {
	heron := hashOf(t, "heron")
	equal(t, hashOf(t, []byte("heron")), heron)
	equal(t, hashOf(t, name("heron")), heron)
	equal(t, hashOf(t, ""), hashOf(t, []byte(nil)))
	minus := hashOf(t, uint64(math.MaxUint64))
	equal(t, hashOf(t, int16(-1)), minus)
	equal(t, hashOf(t, number(-1)), minus)
	equal(t, hashOf(t, int64(-1)), minus)
	equal(t, hashOf(t, -1), minus)
	seven := hashOf(t, uint64(7))
	equal(t, hashOf(t, uint16(7)), seven)
	equal(t, hashOf(t, uint32(7)), seven)
	equal(t, hashOf(t, uint(7)), seven)
	equal(t, hashOf(t, uintptr(7)), seven)
	if hashOf(t, "7") == seven || hashOf(t, uint32(math.MaxUint32)) == minus {
		t.Fatal("keys of two kinds are one")
	}
}

// Short keys are hashed here, and long ones in C; a batch of integers is hashed in C, and single ones here.
func TestGoAndCHashAlike(t *testing.T) {
	filter := small[string](t)
	var keys []string
	for n := range 700 {
		keys = append(keys, strings.Repeat("heron", n/5)+"crane"[:n%5])
	}
	must(filter.InsertMany(keys))
	for _, key := range keys {
		equal(t, filter.Contains(key), true)
	}
	path := t.TempDir() + "/keys.nidus"
	ok(t, filter.Save(path))
	if command := os.Getenv("NIDUS_COMMAND"); command != "" {
		query := exec.Command(command, "query", "-c", path)
		query.Stdin = strings.NewReader(strings.Join(keys, "\n") + "\n")
		equal(t, string(must(query.Output())), "700\n")
	}
	integers := small[uint64](t)
	numbers := append(upTo(500), math.MaxUint64, 1<<63)
	for i, hash := range integers.HashMany(numbers) {
		equal(t, hash, integers.Hash(numbers[i]))
	}
}

func TestKeysComeAndGo(t *testing.T) {
	filter := small[string](t)
	ok(t, filter.Insert("heron"))
	ok(t, filter.Insert(""))
	equal(t, filter.Contains("heron") && filter.Contains("") && !filter.Contains("crane"), true)
	equal(t, must(filter.Remove("heron")), true)
	equal(t, must(filter.Remove("heron")), false)
	equal(t, must(filter.InsertNew("crane")), true)
	equal(t, must(filter.InsertNew("crane")), false)
	ok(t, filter.Insert("crane"))
	equal(t, filter.Count("crane"), 2)
	equal(t, filter.Count("heron"), 0)
	ok(t, filter.InsertHash(filter.Hash("stork")))
	equal(t, filter.Contains("stork") && filter.ContainsHash(filter.Hash("stork")), true)
	equal(t, must(filter.RemoveHash(filter.Hash("stork"))), true)
	equal(t, filter.Len(), 3)
	if text := filter.String(); !strings.Contains(text, "3 of ") {
		t.Fatal(text)
	}
}

// --------------------------------------------------------------- batches

func checkBatches[K nidus.Key](t *testing.T, family nidus.Family, keys, others []K) {
	t.Helper()
	filter := must(nidus.New[K](nidus.Options{Capacity: 6000, FPR: 1e-4, Family: family}))
	defer filter.Close()
	equal(t, must(filter.InsertMany(keys)), len(keys))
	equal(t, all(filter.ContainsMany(keys)), true)
	asked := slices.Concat(others, keys)
	yes := filter.ContainsMany(asked)
	hashes := filter.HashMany(asked)
	again := make([]bool, len(asked))
	filter.ContainsHashes(again, hashes)
	for i, key := range asked {
		if yes[i] != filter.Contains(key) || yes[i] != again[i] || hashes[i] != filter.Hash(key) {
			t.Fatalf("%v: %d: %v", family, i, key)
		}
	}
	ok(t, filter.Verify())
	if family.Features().Has(nidus.FeatureDelete) {
		equal(t, must(filter.RemoveMany(keys[:len(keys)/2])), len(keys)/2)
		equal(t, must(filter.RemoveHashes(hashes[len(others)+len(keys)/2:])), len(keys)-len(keys)/2)
		equal(t, filter.Len(), 0)
	}
	equal(t, must(filter.InsertHashes(hashes)), len(hashes))
	equal(t, all(filter.ContainsMany(asked)), true)
}

func TestBatchesDoWhatSingleCallsDoInEveryFamily(t *testing.T) {
	for _, family := range families {
		for _, n := range []int{0, 1, 1023, 1024, 1025, 2500} {
			words, numbers := wordsUpTo(2*n), upTo(2*n)
			checkBatches(t, family, words[:n], words[n:])
			checkBatches(t, family, numbers[:n], numbers[n:])
			narrow, bytes := make([]int16, 2*n), make([][]byte, 2*n)
			for i := range narrow {
				narrow[i], bytes[i] = int16(-i), []byte(words[i])
			}
			checkBatches(t, family, narrow[:n], narrow[n:])
			checkBatches(t, family, bytes[:n], bytes[n:])
		}
	}
}

func TestLongKeysAreKeysOfBatches(t *testing.T) {
	var keys []string
	for i := range 400 {
		keys = append(keys, strings.Repeat("ab", i*i%7000)+fmt.Sprint(i))
	}
	checkBatches(t, nidus.Windowed, keys[:200], keys[200:])
}

func TestABatchThatFailsTellsHowFarItCame(t *testing.T) {
	filter := must(nidus.New[uint64](nidus.Options{Capacity: 2000, Family: nidus.Cuckoo, Seed: 3}))
	keys := upTo(100_000)
	done, err := filter.InsertMany(keys)
	is(t, err, nidus.ErrFull)
	equal(t, done, filter.Len())
	equal(t, all(filter.ContainsMany(keys[:done])), true)
	equal(t, must(filter.RemoveMany(keys[:done])), done)
	_, err = filter.RemoveMany(keys[:10])
	is(t, err, nidus.ErrNotFound)
	fresh, err := filter.InsertNewMany(keys)
	is(t, err, nidus.ErrFull)
	equal(t, len(fresh) > 2000 && len(fresh) < len(keys), true)
}

func TestNewKeysOfABatchAreTold(t *testing.T) {
	filter := small[string](t)
	fresh := must(filter.InsertNewMany([]string{"a", "b", "a"}))
	equal(t, slices.Equal(fresh, []bool{true, true, false}), true)
	equal(t, filter.Len(), 2)
}

func TestBatchesOfOtherSizesPanic(t *testing.T) {
	filter := must(nidus.New[string](nidus.Options{Capacity: 10, ValueBits: 8}))
	for _, call := range []func(){
		func() { filter.ContainsInto(make([]bool, 1), []string{"a", "b"}) },
		func() { filter.ContainsHashes(make([]bool, 3), make([]uint64, 2)) },
		func() { filter.InsertValues([]string{"a", "b"}, []uint64{1}) },
		func() { filter.AddCounts([]string{"a", "b"}, []uint64{1}) },
	} {
		func() {
			defer func() { equal(t, recover() != nil, true) }()
			call()
		}()
	}
}

// --------------------------------------------------------------- options

func TestSenselessOptionsAreErrors(t *testing.T) {
	for _, rate := range []float64{-1, 1, 2, math.NaN(), math.Inf(1)} {
		_, err := nidus.New[string](nidus.Options{Capacity: 10, FPR: rate})
		is(t, err, nidus.ErrArgument)
	}
	for kind, options := range map[error]nidus.Options{
		nidus.ErrRange:       {Capacity: 10, FPR: 1e-12},
		nidus.ErrArgument:    {},
		nidus.ErrUnsupported: {Capacity: 10, Family: nidus.Bloom, Features: nidus.FeatureDelete},
		nidus.ErrMemory:      {Capacity: 1 << 43},
	} {
		_, err := nidus.New[string](options)
		is(t, err, kind)
	}
	_, err := nidus.New[string](nidus.Options{Capacity: 10, ValueBits: 33})
	is(t, err, nidus.ErrRange)
	_, err = nidus.New[string](nidus.Options{Capacity: 10, ValueBits: math.MaxUint})
	is(t, err, nidus.ErrRange)
	_, err = nidus.ParseFamily("robin")
	is(t, err, nidus.ErrArgument)
	_, err = nidus.ParseFamily("cuckoo\x00")
	is(t, err, nidus.ErrArgument)
	equal(t, must(nidus.ParseFamily("windowed")), nidus.Windowed)
	equal(t, nidus.Family(99).String(), "")
	bloom := must(nidus.New[string](nidus.Options{Capacity: 10, Family: nidus.Bloom}))
	_, err = bloom.Remove("x")
	is(t, err, nidus.ErrUnsupported)
	equal(t, errors.Is(err, errors.ErrUnsupported), true)
}

func TestPlansTellWhatNewTakes(t *testing.T) {
	options := nidus.Options{Capacity: 1_000_000, FPR: 0.001, Features: nidus.FeatureDelete}
	rows := must(nidus.Plan(options))
	chosen := rows[slices.IndexFunc(rows, func(row nidus.PlanRow) bool { return row.Chosen })]
	filter := must(nidus.New[string](options))
	defer filter.Close()
	info := filter.Info()
	equal(t, info.Family, chosen.Family)
	equal(t, info.Bytes, chosen.Bytes)
	equal(t, chosen.Why != "" && chosen.Err == nil, true)
	bloom := rows[slices.IndexFunc(rows, func(row nidus.PlanRow) bool { return row.Family == nidus.Bloom })]
	is(t, bloom.Err, nidus.ErrUnsupported)
	equal(t, info.Features.Has(nidus.FeatureDelete|nidus.FeatureMerge) && !info.ReadOnly && !info.Concurrent, true)
	_, err := nidus.Plan(nidus.Options{})
	is(t, err, nidus.ErrArgument)
}

// ---------------------------------------------------------------- values

func TestValuesAndCounts(t *testing.T) {
	filter := must(nidus.New[string](nidus.Options{Capacity: 2000, FPR: 1e-6, ValueBits: 8}))
	ok(t, filter.InsertValue("heron", 3))
	ok(t, filter.InsertValue("heron", 4))
	values := filter.Values("heron")
	slices.Sort(values)
	equal(t, slices.Equal(values, []uint64{3, 4}), true)
	equal(t, must(filter.ReplaceValue("heron", 3, 5)), true)
	equal(t, must(filter.ReplaceValue("heron", 3, 5)), false)
	equal(t, must(filter.RemoveValue("heron", 4)), true)
	equal(t, must(filter.RemoveValue("heron", 4)), false)
	is(t, filter.InsertValue("heron", 256), nidus.ErrRange)
	first, found := filter.FindMany([]string{"heron", "crane"})
	equal(t, slices.Equal(first, []uint64{5, 0}) && slices.Equal(found, []uint32{1, 0}), true)
	for range 20 {
		ok(t, filter.InsertValue("stork", 1))
	}
	equal(t, len(filter.Values("stork")), 20)
	keys, hundred := wordsUpTo(1500), make([]uint64, 1500)
	for i := range hundred {
		hundred[i] = uint64(i % 200)
	}
	equal(t, must(filter.InsertValues(keys, hundred)), len(keys))
	first, _ = filter.FindMany(keys)
	equal(t, slices.Equal(first, hundred), true)
	equal(t, must(filter.AddCounts([]string{"crane", "crane"}, nil)), 2)
	equal(t, filter.GetCount("crane"), 2)
	equal(t, must(filter.AddCounts([]string{"crane", "ibis"}, []uint64{3, 4})), 2)
	ok(t, filter.AddCount("crane", 5))
	equal(t, filter.GetCount("crane"), 10)
	ok(t, filter.AddCount("crane", 400))
	equal(t, filter.GetCount("crane"), 255)
	equal(t, filter.GetCount("ibis"), 4)
	equal(t, filter.GetCount("egret"), 0)
	is(t, small[string](t).InsertValue("x", 1), nidus.ErrUnsupported)
}

// --------------------------------------------------- walks, merges, growth

func count[T any](all iter.Seq[T]) (n int) {
	for range all {
		n++
	}
	return n
}

func TestWalksSeeEveryEntryAndCanFillAnotherFilter(t *testing.T) {
	filter, other := small[uint64](t), small[uint64](t)
	must(filter.InsertMany(upTo(500)))
	for entry := range filter.Entries() {
		ok(t, other.InsertEntry(entry))
	}
	equal(t, count(filter.Entries()), 500)
	equal(t, nidus.Same(filter, other), true)
	equal(t, must(other.Remove(1)), true)
	equal(t, nidus.Same(filter, other), false)
	for range filter.Entries() {
		break
	}
	is(t, other.InsertEntry(nidus.Entry{Home: math.MaxUint64}), nidus.ErrRange)
}

func TestMergesKeepCopiesOrMakeAUnion(t *testing.T) {
	a, b := small[string](t), small[string](t)
	must(a.InsertMany([]string{"heron", "crane"}))
	must(b.InsertMany([]string{"heron", "stork"}))
	union := must(nidus.Merge(nidus.MergeUnion, a, b))
	equal(t, union.Len(), 3)
	equal(t, union.Count("heron"), 1)
	_, err := union.Remove("heron")
	is(t, err, nidus.ErrUnsupported)
	view := must(nidus.ViewOf[string](must(b.MarshalBinary())))
	copies := must(nidus.Merge(nidus.MergeCopies, a, b, view))
	equal(t, copies.Len(), 6)
	equal(t, copies.Count("heron"), 3)
	equal(t, must(copies.Remove("heron")), true)
	other := must(nidus.New[string](nidus.Options{Capacity: 1000, FPR: 1e-6, Seed: 8}))
	_, err = nidus.Merge(nidus.MergeUnion, a, other)
	is(t, err, nidus.ErrMismatch)
	_, err = nidus.Merge[string](nidus.MergeUnion)
	is(t, err, nidus.ErrArgument)
	_, err = nidus.Merge[string](nidus.MergeUnion, a, nil)
	is(t, err, nidus.ErrClosed)
}

func TestFiltersGrowAndShrink(t *testing.T) {
	filter := must(nidus.New[uint64](nidus.Options{Capacity: 100, MaxCapacity: 10_000}))
	keys := upTo(10_000)
	must(filter.InsertMany(keys))
	equal(t, all(filter.ContainsMany(keys)), true)
	before := filter.Info().Bytes
	must(filter.RemoveMany(keys[100:]))
	ok(t, filter.Shrink(0))
	equal(t, filter.Info().Bytes < before, true)
	ok(t, filter.Grow(5000))
	equal(t, filter.Info().Capacity >= 5000, true)
	ok(t, filter.Pack())
	equal(t, all(filter.ContainsMany(keys[:100])), true)
	equal(t, filter.Info().Capacity < 200, true)
	ok(t, filter.Clear())
	equal(t, filter.Len(), 0)
	is(t, small[string](t).Grow(1_000_000), nidus.ErrRange)
	relaxed := small[string](t)
	ok(t, relaxed.GrowRelaxed(10_000))
	equal(t, relaxed.Info().FPRTarget > 1e-6, true)
}

// ------------------------------------------------------------------ life

func TestACopyIsIndependent(t *testing.T) {
	filter := small[string](t)
	ok(t, filter.Insert("heron"))
	clone := must(filter.Clone())
	ok(t, clone.Insert("crane"))
	equal(t, clone.Contains("heron") && !filter.Contains("crane"), true)
}

func TestAClosedFilterSaysSo(t *testing.T) {
	filter := must(nidus.New[string](nidus.Options{Capacity: 10, ValueBits: 3}))
	ok(t, filter.Close())
	ok(t, filter.Close())
	var zero nidus.Filter[string]
	for _, closed := range []*nidus.Filter[string]{filter, &zero} {
		_, inserted := closed.InsertMany([]string{"x"})
		_, fresh := closed.InsertNew("x")
		_, cloned := closed.Clone()
		_, shared := nidus.Share(closed)
		_, bytes := closed.MarshalBinary()
		_, written := closed.WriteTo(io.Discard)
		_, merged := nidus.Merge(nidus.MergeUnion, closed)
		_, like := nidus.BuildLike(t.Context(), closed, nil, nil, nidus.Options{})
		for _, err := range []error{inserted, fresh, cloned, shared, bytes, written, merged, like, closed.Insert("x"),
			closed.InsertHash(1), closed.Clear(), closed.Verify(), closed.Save("x"), closed.InsertEntry(nidus.Entry{})} {
			is(t, err, nidus.ErrClosed)
		}
		for _, call := range []func(){func() { closed.Contains("x") }, func() { closed.ContainsMany([]string{"x"}) },
			func() { closed.Len() }, func() { closed.Info() }, func() { closed.Values("x") }, func() { count(closed.Entries()) }} {
			func() {
				defer func() { equal(t, recover(), any(nidus.ErrClosed)) }()
				call()
			}()
		}
		equal(t, closed.String(), "nidus filter (closed)")
	}
}

// virtual is how much memory this process has asked for, in bytes.
func virtual(t *testing.T) int {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("the system does not tell how much memory there is")
	}
	var pages int
	fmt.Sscan(string(statm), &pages)
	return pages * os.Getpagesize()
}

func TestForgottenFiltersAreFreed(t *testing.T) {
	const each, filters = 64 << 20, 40
	before := virtual(t)
	bytes := must(small[string](t).MarshalBinary())
	for range filters {
		filter := must(nidus.New[string](nidus.Options{Capacity: each * 8 / 9}))
		ok(t, filter.Insert("heron"))
		must(nidus.ViewOf[string](bytes)) // a pin that outlived its pinner would be a panic
	}
	for range 100 {
		runtime.GC()
		if virtual(t)-before < each*filters/4 {
			return
		}
		time.Sleep(20 * time.Millisecond) // they are freed by another goroutine
	}
	t.Fatal("memory is still taken:", virtual(t)-before)
}

// --------------------------------------------------------------- sharing

func TestGoroutinesInsertFindAndRemoveAtTheSameTime(t *testing.T) {
	shared := must(nidus.NewShared[uint64](nidus.Options{Capacity: 1000, MaxCapacity: 200_000, FPR: 1e-4}))
	const goroutines, each = 4, 10_000
	keys := upTo(goroutines * each)
	var group sync.WaitGroup
	for part := range goroutines {
		group.Add(1)
		go func() {
			defer group.Done()
			mine := keys[part*each : (part+1)*each]
			for some := range slices.Chunk(mine, 1000) {
				if n, err := shared.InsertMany(some); n != len(some) || !all(shared.ContainsMany(some)) {
					t.Error(n, err)
				}
			}
			for i := 0; i < each; i += 2 {
				if there, err := shared.Remove(mine[i]); !there {
					t.Error(mine[i], err)
				}
			}
			shared.Info()
			count(shared.Entries())
		}()
	}
	group.Wait()
	equal(t, shared.Len(), goroutines*each/2)
	for i := 1; i < len(keys); i += 2 {
		equal(t, shared.Contains(keys[i]), true)
	}
	ok(t, shared.Verify())
	equal(t, count(shared.Entries()), shared.Len())
	path := t.TempDir() + "/shared.nidus"
	ok(t, shared.Save(path))
	again := must(nidus.LoadShared[uint64](path))
	ok(t, again.Insert(1<<40))
	equal(t, again.Len(), shared.Len()+1)
}

func TestGoroutinesCountTogether(t *testing.T) {
	shared := must(nidus.NewShared[string](nidus.Options{Capacity: 100, FPR: 1e-6, ValueBits: 16}))
	var group sync.WaitGroup
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 1000 {
				shared.AddCount("heron", 1)
			}
		}()
	}
	group.Wait()
	equal(t, shared.GetCount("heron"), 4000)
}

func TestGoroutinesReadAFilterTogether(t *testing.T) {
	filter := small[string](t)
	words := wordsUpTo(900)
	must(filter.InsertMany(words))
	var group sync.WaitGroup
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			if !all(filter.ContainsMany(words)) || !filter.Contains(words[3]) || count(filter.Entries()) != 900 {
				t.Error("a key was not found")
			}
		}()
	}
	group.Wait()
}

func TestOnlyFiltersThatWereMadeForItAreShared(t *testing.T) {
	filter := small[string](t)
	_, err := nidus.Share(filter)
	is(t, err, nidus.ErrUnsupported)
	ok(t, filter.Insert("heron")) // it is as it was
	made := must(nidus.New[string](nidus.Options{Capacity: 10, Features: nidus.FeatureConcurrent}))
	shared := must(nidus.Share(made))
	is(t, made.Insert("x"), nidus.ErrClosed)
	ok(t, shared.Insert("x"))
	path := t.TempDir() + "/plain.nidus"
	ok(t, filter.Save(path))
	_, err = nidus.LoadShared[string](path)
	is(t, err, nidus.ErrUnsupported)
}

func TestVersionIsThatOfTheLibrary(t *testing.T) {
	equal(t, strings.Count(nidus.Version(), "."), 2)
}
