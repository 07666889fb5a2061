// SPDX-License-Identifier: MIT

package read_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nidus.org/nidus/read"
)

// goldenFiles are those of the format that the repository keeps. A module that was fetched has none.
func goldenFiles(t testing.TB) []string {
	files, err := filepath.Glob("../../../tests/golden/*.nidus")
	if err != nil || len(files) == 0 {
		t.Skip("there are no golden files here")
	}
	if len(files) < 50 {
		t.Fatal("only", len(files), "golden files")
	}
	return files
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func compare(a, b read.Entry) int {
	return slices.Compare([]uint64{a.Home, a.Fingerprint, a.Value}, []uint64{b.Home, b.Fingerprint, b.Value})
}

// golden is a file of which the library has told something.
type golden struct {
	words   *read.Filter[string]
	numbers *read.Filter[uint64]
	entries []read.Entry
	at      int
}

// says is what we say where the library said the rest of a line; the rest itself where we say nothing.
func (g *golden) says(what, rest string) string {
	info := g.words.Info()
	key := rest[:max(strings.LastIndexByte(rest, ' '), 0)]
	switch what {
	case "family":
		return info.Family
	case "seed":
		return fmt.Sprint(info.Seed)
	case "capacity":
		return fmt.Sprint(info.Capacity)
	case "max_capacity":
		return fmt.Sprint(info.MaxCapacity)
	case "slots":
		return fmt.Sprint(info.Slots)
	case "count":
		return fmt.Sprint(info.Count)
	case "chunks":
		return fmt.Sprint(info.Chunks)
	case "fpr":
		return fmt.Sprintf("%#016x", math.Float64bits(info.FPRTarget))
	case "slices":
		return fmt.Sprint(info.Slices)
	case "age":
		var age int
		fmt.Sscan(rest, &age)
		return fmt.Sprint(age, " ", g.words.SliceCounts()[age])
	case "entry":
		entry := g.entries[g.at]
		g.at++
		if strings.Count(rest, " ") == 1 {
			return fmt.Sprint(entry.Home, entry.Fingerprint)
		}
		return fmt.Sprint(entry.Home, entry.Fingerprint, entry.Value)
	case "text":
		return fmt.Sprint(key, " ", g.words.Count(key))
	case "u64":
		return fmt.Sprint(key, " ", g.numbers.Count(must(strconv.ParseUint(key, 10, 64))))
	case "hash":
		return fmt.Sprint(key, " ", g.words.CountHash(must(strconv.ParseUint(key, 10, 64))))
	case "ago":
		return fmt.Sprint(key, " ", g.age(key))
	}
	return rest
}

// age is that of the key of a line, -1 if it has none.
func (g *golden) age(line string) int {
	what, key, _ := strings.Cut(line, " ")
	var age int
	var found bool
	switch what {
	case "u64":
		age, found = g.numbers.Age(must(strconv.ParseUint(key, 10, 64)))
	case "hash":
		age, found = g.words.AgeHash(must(strconv.ParseUint(key, 10, 64)))
	default:
		age, found = g.words.Age(key)
	}
	if !found {
		return -1
	}
	return age
}

// checkFound checks that of all keys those are found that the library found.
func (g *golden) checkFound(t *testing.T, name string, found map[string]bool) {
	for line := range strings.Lines(string(must(os.ReadFile("../../../tests/golden/keys")))) {
		line = strings.TrimSuffix(line, "\n")
		what, key, _ := strings.Cut(line, " ")
		var yes bool
		switch what {
		case "u64":
			yes = g.numbers.Contains(must(strconv.ParseUint(key, 10, 64)))
		case "hash":
			yes = g.words.ContainsHash(must(strconv.ParseUint(key, 10, 64)))
		default:
			yes = g.words.Contains(key)
		}
		if yes != found[line] {
			t.Fatalf("%s: %s: %v", name, line, yes)
		}
	}
}

func TestGoldenFilesAnswerAsInC(t *testing.T) {
	for _, path := range goldenFiles(t) {
		name := filepath.Base(path)
		words, err := read.Load[string](path)
		if err != nil {
			t.Fatal(name, err)
		}
		g := golden{words: words, numbers: must(read.Load[uint64](path)), entries: slices.Collect(words.Entries())}
		slices.SortFunc(g.entries, compare)
		found := map[string]bool{}
		for line := range strings.Lines(string(must(os.ReadFile(strings.TrimSuffix(path, "nidus") + "expected")))) {
			what, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if got := g.says(what, rest); got != rest {
				t.Fatalf("%s: %s %s instead of %s", name, what, got, rest)
			}
			if last := strings.LastIndexByte(rest, ' '); last > 0 {
				found[what+" "+rest[:last]] = true
			}
		}
		if g.at != len(g.entries) {
			t.Fatalf("%s: %d entries instead of %d", name, len(g.entries), g.at)
		}
		g.checkFound(t, name, found)
	}
}
