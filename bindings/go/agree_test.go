// SPDX-License-Identifier: MIT

package nidus_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nidus.org/nidus"
	"nidus.org/nidus/internal/hashes"
	"nidus.org/nidus/read"
)

// The library and package read share nothing but docs/format.md, and must agree: on every answer, false positives
// included, and on whether a file is sound.

// filtersToCompare are of every family: small and large, with values, copies, chunks, borrowed bits and two lists.
func filtersToCompare(t *testing.T) map[string]*nidus.Filter[uint64] {
	all := map[string]*nidus.Filter[uint64]{}
	add := func(name string, filter *nidus.Filter[uint64], err error) {
		if err != nil {
			if !errors.Is(err, nidus.ErrRange) && !errors.Is(err, nidus.ErrUnsupported) {
				t.Fatal(name, err)
			}
			return
		}
		all[name] = filter
		t.Cleanup(func() { filter.Close() })
	}
	for _, family := range append(families, nidus.Ribbon) {
		for _, n := range []int{1, 9, 300, 5000, 70_000} {
			for _, rate := range []float64{0.06, 1.0 / 256, 1e-4, 1e-7} {
				name := fmt.Sprint(family, " ", n, " ", rate)
				o := nidus.Options{Family: family, FPR: rate, Seed: uint64(n) + 5}
				filter, err := nidus.Build(t.Context(), upTo(n), o)
				add(name, filter, err)
				if n == 70_000 {
					continue
				}
				o.ValueBits = uint(n%13 + 1)
				filter, err = nidus.BuildValues(t.Context(), upTo(n), valuesFor(n, o.ValueBits), o)
				add(name+" values", filter, err)
				add(withCopies(name, n, o))
				if family == nidus.Bucketed {
					o.Features = nidus.FeatureCompact
					filter, err = nidus.BuildValues(t.Context(), upTo(n), valuesFor(n, o.ValueBits), o)
					add(name+" compact values", filter, err)
					add(withCopies(name+" compact", n, o))
				}
				add(merged(t, name, n, nidus.Options{Family: family, FPR: rate, Seed: 3}))
				add(grown(name, n, nidus.Options{Family: family, FPR: rate, Seed: 4, ValueBits: uint(n % 2 * 5)}))
			}
		}
	}
	filter, err := nidus.BuildExclude(t.Context(), upTo(20_000)[:300], upTo(20_000)[300:], nidus.Options{Seed: 7})
	add("two lists", filter, err)
	filter, err = nidus.BuildExclude(t.Context(), upTo(200_000)[:9000], upTo(200_000)[9000:], nidus.Options{Seed: 7})
	add("two long lists", filter, err)
	filter, err = nidus.BuildExclude(t.Context(), upTo(9)[:3], upTo(9)[3:], nidus.Options{Seed: 7, FPR: 0.4})
	add("two short lists", filter, err)
	recent, err := filepath.Glob("../../tests/golden/*recent*.nidus") // which no call of this package makes
	if err != nil || len(recent) < 10 {
		t.Fatal("there are no filters that forget: ", recent, err)
	}
	for _, path := range recent {
		filter := new(nidus.Filter[uint64])
		add(filepath.Base(path), filter, filter.UnmarshalBinary(must(os.ReadFile(path))))
	}
	return all
}

func valuesFor(n int, bits uint) []uint64 {
	values := make([]uint64, n)
	for i := range values {
		values[i] = uint64(i*i) & (1<<bits - 1)
	}
	return values
}

// withCopies has many copies of a few keys, more than slots, with several values.
func withCopies(name string, n int, o nidus.Options) (string, *nidus.Filter[uint64], error) {
	o.Capacity = uint64(n) + 10
	filter, err := nidus.New[uint64](o)
	for i := 0; err == nil && i < n; i++ {
		err = filter.InsertValue(uint64(i), uint64(i)&1)
	}
	for i := 0; err == nil && i < 40; i++ {
		err = filter.InsertValue(uint64(n/2), uint64(i/20)&1)
		if errors.Is(err, nidus.ErrCopies) {
			err = nil
			break
		}
	}
	return name + " copies", filter, err
}

// grown is a list, or has grown into several bodies, with copies of a few keys.
func grown(name string, n int, o nidus.Options) (string, *nidus.Filter[uint64], error) {
	o.Capacity, o.MaxCapacity = 1, uint64(n)*8
	filter, err := nidus.New[uint64](o)
	for i := 0; err == nil && i < n; i++ {
		err = filter.Insert(uint64(i))
	}
	for i := 0; err == nil && i < 90; i++ {
		err = filter.Insert(uint64(i % 3))
	}
	return name + " grown", filter, err
}

// merged has borrowed bits, where the family has some.
func merged(t *testing.T, name string, n int, o nidus.Options) (string, *nidus.Filter[uint64], error) {
	o.Capacity = uint64(n)
	var parts []nidus.Set[uint64]
	for part := range 3 {
		keys := make([]uint64, n)
		for i := range keys {
			keys[i] = uint64(part*n + i)
		}
		filter, err := nidus.Build(t.Context(), keys, o)
		if err != nil {
			return name, nil, err
		}
		parts = append(parts, filter)
	}
	filter, err := nidus.Merge(nidus.MergeUnion, parts...)
	return name + " merged", filter, err
}

func TestPureGoReadsWhatTheLibraryWrites(t *testing.T) {
	asked := append(upTo(2000), 1<<40, 1<<63, math.MaxUint64)
	for i := range uint64(1000) {
		asked = append(asked, 2000+41*i)
	}
	compared := 0
	for name, filter := range filtersToCompare(t) {
		saved := must(filter.MarshalBinary())
		ours, err := read.Parse[uint64](saved)
		if err != nil {
			t.Fatal(name, err)
		}
		compared++
		equal(t, ours.Len(), filter.Len())
		yes := filter.ContainsMany(asked)
		for i, key := range asked {
			if ours.Contains(key) != yes[i] || ours.Count(key) != filter.Count(key) || ours.GetCount(key) != filter.GetCount(key) {
				t.Fatal(name, key, ours.Contains(key), yes[i], ours.Count(key), filter.Count(key), ours.GetCount(key), filter.GetCount(key))
			}
			if !yes[i] {
				continue
			}
			var values []uint64
			for value, copies := range ours.Values(key) {
				values = append(values, slices.Repeat([]uint64{value}, int(copies))...)
			}
			theirs := filter.Values(key)
			slices.Sort(values)
			slices.Sort(theirs)
			if !slices.Equal(values, theirs) {
				t.Fatal(name, key, values, theirs)
			}
		}
		var entries []nidus.Entry
		for entry := range ours.Entries() {
			entries = append(entries, nidus.Entry(entry))
		}
		theirs := slices.Collect(filter.Entries())
		slices.SortFunc(entries, compare)
		slices.SortFunc(theirs, compare)
		if !slices.Equal(entries, theirs) {
			t.Fatal(name, len(entries), len(theirs))
		}
	}
	if compared < 400 {
		t.Fatal("only", compared, "filters were compared")
	}
	t.Log(compared, "filters")
}

// respelled puts the checksums of a changed file right.
func respelled(data []byte) []byte {
	data = bytes.Clone(data)
	for _, row := range []int{128, 160} {
		offset, size := binary.LittleEndian.Uint64(data[row+8:]), binary.LittleEndian.Uint64(data[row+16:])
		if offset <= uint64(len(data)) && size <= uint64(len(data))-offset {
			binary.LittleEndian.PutUint64(data[row+24:], hashes.XXH3(data[offset:offset+size], 0))
		}
	}
	binary.LittleEndian.PutUint64(data[248:], hashes.XXH3(data[:248], 0))
	return data
}

// testSeed is always the same, so that a red run means a change; NIDUS_TEST_SEED, a number or "random", overrides it.
func testSeed(t *testing.T) uint64 {
	seed := uint64(20140202)
	switch named := os.Getenv("NIDUS_TEST_SEED"); named {
	case "":
	case "random":
		seed = rand.Uint64()
	default:
		seed = must(strconv.ParseUint(named, 10, 64))
	}
	t.Log("seed", seed)
	return seed
}

// fields are those of a header, and how wide they are. Of some a reader needs no more than that they are possible; the
// library refuses what it could not go on with.
var fields = []struct {
	name   string
	at     int
	wide   bool
	makers bool
}{
	{"header size", 12, false, false}, {"family", 16, false, false}, {"features", 20, false, true}, {"seed", 24, true, false},
	{"capacity", 32, true, true}, {"max capacity", 40, true, true}, {"fpr", 48, true, true}, {"slots", 56, false, false},
	{"core", 60, false, false}, {"growth", 64, false, false}, {"unused", 68, false, false}, {"chunks", 72, true, false},
	{"groups", 80, true, false}, {"reserve", 88, false, false}, {"max steps", 92, false, false},
	{"stash limit", 96, false, false}, {"unused", 100, false, false}, {"count", 104, true, false},
	{"stashed", 112, true, false}, {"sections", 120, false, false}, {"unused", 124, false, false},
	{"kind 0", 128, true, false}, {"offset 0", 136, true, false}, {"size 0", 144, true, false}, {"kind 1", 160, true, false},
	{"offset 1", 168, true, false}, {"size 1", 176, true, false}, {"value bits", 192, false, false}, {"segmented", 196, false, false},
	{"judged", 200, true, false}, {"tick", 208, true, false}, {"slices", 216, false, false}, {"unused", 240, true, false},
}

// agree compares what the library and package read say of a file.
func agree(t *testing.T, what string, makers bool, data []byte) bool {
	t.Helper()
	var theirs nidus.Filter[uint64]
	refused := theirs.UnmarshalBinary(data)
	defer theirs.Close()
	_, err := read.Parse[uint64](data)
	if refused != nil && strings.Contains(refused.Error(), "promises") {
		makers = true // what the table cannot keep is a matter of its maker, too
	}
	if (refused == nil) != (err == nil) && !(makers && err == nil) {
		t.Errorf("%s: the library says %v, and we say %v", what, refused, err)
	}
	return err == nil
}

func TestBothRefuseTheSameFiles(t *testing.T) {
	chance := rand.New(rand.NewPCG(testSeed(t), 2))
	taken, changed := 0, 0
	note := func(took bool) {
		changed++
		if took {
			taken++
		}
	}
	filters := filtersToCompare(t)
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		saved := must(filters[name].MarshalBinary())
		if len(saved) > 4000 {
			continue
		}
		for _, field := range fields {
			now := uint64(binary.LittleEndian.Uint32(saved[field.at:]))
			if field.wide {
				now = binary.LittleEndian.Uint64(saved[field.at:])
			}
			for _, value := range []uint64{0, 1, 2, 3, now + 1, now - 1, 2 * now, now ^ 1<<31, math.MaxUint32, math.MaxUint64,
				math.Float64bits(0.3), math.Float64bits(-0.5), math.Float64bits(math.NaN()), 1 << 63} {
				data := bytes.Clone(saved)
				if field.wide {
					binary.LittleEndian.PutUint64(data[field.at:], value)
				} else {
					binary.LittleEndian.PutUint32(data[field.at:], uint32(value))
				}
				note(agree(t, fmt.Sprint(name, ", ", field.name, " ", value), field.makers, respelled(data)))
			}
		}
		for range 100 {
			data := bytes.Clone(saved)
			at, bit := 192+chance.IntN(len(data)-192), chance.IntN(8)
			data[at] ^= 1 << bit
			note(agree(t, fmt.Sprint(name, ", byte ", at, " bit ", bit), false, respelled(data)))
		}
		note(agree(t, name+", longer", false, append(bytes.Clone(saved), 0)))
		note(agree(t, name+", shorter", false, saved[:len(saved)-1]))
	}
	t.Log(taken, "of", changed, "changed files were taken")
}
