// SPDX-License-Identifier: MIT

package nidus_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nidus.org/nidus"
)

// goldenFiles are those of the format that the repository keeps. A module that was fetched has none.
func goldenFiles(t testing.TB) []string {
	files := must(filepath.Glob("../../tests/golden/*.nidus"))
	if len(files) == 0 {
		t.Skip("there are no golden files here")
	}
	if len(files) < 50 {
		t.Fatal("only", len(files), "golden files")
	}
	return files
}

// lookedAt is a filter by both kinds of its keys.
type lookedAt struct {
	words interface {
		nidus.Set[string]
		Count(string) uint64
		Info() nidus.Info
	}
	numbers interface{ Count(uint64) uint64 }
	entries []nidus.Entry
}

func compare(a, b nidus.Entry) int {
	return slices.Compare([]uint64{a.Home, a.Fingerprint, a.Value}, []uint64{b.Home, b.Fingerprint, b.Value})
}

// check compares with what the library's own test wrote of a filter, without what Go does not tell.
func (f lookedAt) check(t *testing.T, path string) {
	t.Helper()
	info := f.words.Info()
	slices.SortFunc(f.entries, compare)
	expected := string(must(os.ReadFile(strings.TrimSuffix(path, "nidus") + "expected")))
	at := 0
	for line := range strings.Lines(expected) {
		what, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		var got string
		switch what {
		case "family":
			got = info.Family.String()
		case "seed":
			got = fmt.Sprint(info.Seed)
		case "capacity":
			got = fmt.Sprint(info.Capacity)
		case "max_capacity":
			got = fmt.Sprint(info.MaxCapacity)
		case "slots":
			got = fmt.Sprint(info.Slots)
		case "count":
			got = fmt.Sprint(info.Count)
		case "stashed":
			got = fmt.Sprint(info.Stashed)
		case "chunks":
			got = fmt.Sprint(info.Chunks)
		case "fpr":
			got = fmt.Sprintf("%#016x", math.Float64bits(info.FPRTarget))
		case "entry":
			got = fmt.Sprint(f.entries[at].Home, f.entries[at].Fingerprint)
			if strings.Count(rest, " ") == 2 {
				got += fmt.Sprint(" ", f.entries[at].Value)
			}
			at++
		case "text":
			key := rest[:strings.LastIndexByte(rest, ' ')]
			got = fmt.Sprint(key, " ", f.words.Count(key))
		case "u64":
			key, _, _ := strings.Cut(rest, " ")
			got = fmt.Sprint(key, " ", f.numbers.Count(must(strconv.ParseUint(key, 10, 64))))
		default:
			continue
		}
		if got != rest {
			t.Fatalf("%s: %s %s instead of %s", filepath.Base(path), what, got, rest)
		}
	}
	if info.Features.Has(nidus.FeatureEnumerate) {
		equal(t, at, len(f.entries))
	}
}

func TestGoldenFilesAnswerAsInC(t *testing.T) {
	for _, path := range goldenFiles(t) {
		words, numbers := must(nidus.Load[string](path)), must(nidus.Load[uint64](path))
		lookedAt{words, numbers, slices.Collect(words.Entries())}.check(t, path)
		mapped, mappedNumbers := must(nidus.Open[string](path)), must(nidus.Open[uint64](path))
		lookedAt{mapped, mappedNumbers, slices.Collect(mapped.Entries())}.check(t, path)
		equal(t, bytes.Equal(must(words.MarshalBinary()), must(os.ReadFile(path))), true)
		checkFound(t, path, words, numbers)
		words.Close()
		numbers.Close()
		mapped.Close()
		mappedNumbers.Close()
	}
}

// checkFound checks that of all keys those are found that the library's own test found, and no others.
func checkFound(t *testing.T, path string, words *nidus.Filter[string], numbers *nidus.Filter[uint64]) {
	t.Helper()
	found := map[string]bool{}
	for line := range strings.Lines(string(must(os.ReadFile(strings.TrimSuffix(path, "nidus") + "expected")))) {
		found[line[:strings.LastIndexByte(line, ' ')]] = true
	}
	for line := range strings.Lines(string(must(os.ReadFile(filepath.Join(filepath.Dir(path), "keys"))))) {
		line = strings.TrimSuffix(line, "\n")
		what, key, _ := strings.Cut(line, " ")
		var yes bool
		switch what {
		case "text":
			yes = words.Contains(key)
		case "u64":
			yes = numbers.Contains(must(strconv.ParseUint(key, 10, 64)))
		default:
			yes = words.ContainsHash(must(strconv.ParseUint(key, 10, 64)))
		}
		if yes != found[line] {
			t.Fatalf("%s: %s: %v", filepath.Base(path), line, yes)
		}
	}
}

func TestGoldenFilesThatWereDamagedAreRefused(t *testing.T) {
	refused := func(data []byte, what ...any) {
		t.Helper()
		_, err := nidus.Read[string](bytes.NewReader(data))
		for _, kind := range []error{nidus.ErrFormat, nidus.ErrVersion, nidus.ErrTruncated, nidus.ErrCorrupt} {
			if errors.Is(err, kind) {
				return
			}
		}
		t.Fatal(append(what, err)...)
	}
	for _, path := range goldenFiles(t) {
		saved := must(os.ReadFile(path))
		for end := 0; end < len(saved); end += len(saved)/50 + 1 {
			refused(saved[:end], path, "to", end)
		}
		for at := 0; at < len(saved); at++ {
			if at >= 192 && at%97 != 0 {
				continue
			}
			damaged := bytes.Clone(saved)
			damaged[at] ^= 1 << (at % 8)
			refused(damaged, path, "at", at)
		}
	}
}

// builtByCommand is what the command builds of lines of keys.
func builtByCommand(t *testing.T, lines []string, more ...string) []byte {
	command := os.Getenv("NIDUS_COMMAND")
	if command == "" {
		t.Skip("NIDUS_COMMAND does not name the command")
	}
	path := filepath.Join(t.TempDir(), "built.nidus")
	build := exec.Command(command, append([]string{"build", "--seed", "77", "-p", "0.002", "-o", path}, more...)...)
	build.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatal(err, string(said))
	}
	return must(os.ReadFile(path))
}

func TestABuildGivesTheBytesOfTheCommand(t *testing.T) {
	words, numbers := wordsUpTo(5000), upTo(5000)
	lines := make([]string, len(numbers))
	for i, number := range numbers {
		lines[i] = fmt.Sprint(number)
	}
	for _, family := range append(slices.Clone(families), nidus.Auto, nidus.Ribbon) {
		o := nidus.Options{Seed: 77, FPR: 0.002, Family: family}
		ofWords := must(nidus.Build(t.Context(), words, o))
		equal(t, bytes.Equal(must(ofWords.MarshalBinary()), builtByCommand(t, words, "-f", family.String())), true)
		ofNumbers := must(nidus.Build(t.Context(), numbers, o))
		equal(t, bytes.Equal(must(ofNumbers.MarshalBinary()), builtByCommand(t, lines, "-f", family.String(), "--u64")), true)
	}
}
