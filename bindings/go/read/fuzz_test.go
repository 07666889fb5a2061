// SPDX-License-Identifier: MIT

package read

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"nidus.org/nidus/internal/hashes"
)

// respelled puts the checksums of a changed file right, so that more is looked at than they.
func respelled(data []byte) []byte {
	if len(data) < headerSize {
		return data
	}
	data = bytes.Clone(data)
	for _, row := range []int{128, 160} {
		offset, size := le64(data, row+8), le64(data, row+16)
		if offset <= uint64(len(data)) && size <= uint64(len(data))-offset {
			binary.LittleEndian.PutUint64(data[row+24:], hashes.XXH3(data[offset:offset+size], 0))
		}
	}
	binary.LittleEndian.PutUint64(data[248:], hashes.XXH3(data[:248], 0))
	return data
}

// use asks a filter everything.
func use(t *testing.T, data []byte) {
	filter, err := Parse[uint64](data)
	if err != nil {
		var told *Error
		if filter != nil || !errors.As(err, &told) || told.Reason == "" || told.Kind == nil {
			t.Fatal(filter, err)
		}
		return
	}
	filter.Info()
	for key := range uint64(20) {
		found := filter.Contains(key)
		twins := (filter.header.segmented || filter.header.generations) && filter.header.family == breadcrumb
		if n := filter.Count(key); found != (n > 0) && !(found && twins) {
			t.Fatal(key, found, n)
		}
		filter.GetCount(key)
	}
	walked := 0
	for range filter.Entries() {
		if walked++; walked > 1_000_000 { // copies are cheap in a file
			return
		}
	}
	if filter.header.family < bloom && walked != filter.Len() {
		t.Fatal(walked, filter.Len())
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("../../../tests/golden/*.nidus")
	for _, path := range files {
		if data, err := os.ReadFile(path); err == nil && len(data) < 1500 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		use(t, data)
		use(t, respelled(data))
	})
}

// forged is a header of this family, with fields that are set, and nothing behind it.
func forged(family family, set func(data []byte)) []byte {
	data := make([]byte, headerSize)
	copy(data, magic)
	put := binary.LittleEndian.PutUint32
	put(data[8:], version)
	put(data[12:], headerSize)
	put(data[16:], uint32(family))
	data[24], data[32], data[40] = 1, 1, 1
	binary.LittleEndian.PutUint64(data[48:], 0x3f80000000000000)
	put(data[120:], 2)
	data[160] = 1
	set(data)
	return respelled(withSections(respelled(data)))
}

// withSections says where table and stash are, as if they were there.
func withSections(data []byte) []byte {
	h, err := parseHeader(data)
	if err != nil {
		panic(err)
	}
	size, err := h.part(new(hashes.Hasher)).fits()
	if err != nil {
		panic(err)
	}
	start := uint64(256)
	if size >= pagedSize && h.family != ribbon {
		start = 4096
	}
	wide := binary.LittleEndian.PutUint64
	wide(data[136:], start)
	wide(data[144:], size)
	wide(data[168:], up(start+size, 64))
	wide(data[176:], h.listed()*h.stashed)
	return data
}

func TestForgedSizesTakeNoMemory(t *testing.T) {
	wide := binary.LittleEndian.PutUint64
	for name, data := range map[string][]byte{
		"nest": forged(windowed, func(data []byte) {
			data[56], data[60], data[72], data[92] = 4, 9, 1, 100
			wide(data[80:], 1<<40)
		}),
		"yard": forged(breadcrumb, func(data []byte) {
			data[56], data[60], data[72] = 51, 8, 1
			wide(data[80:], 1<<40)
		}),
		"bloom": forged(bloom, func(data []byte) {
			data[60], data[72] = 8, 1
			wide(data[80:], 1<<47+1)
		}),
		"blocks": forged(blockedBloom, func(data []byte) {
			data[60], data[72] = 8, 1
			wide(data[80:], 1<<47+1)
		}),
		"ribbon": forged(ribbon, func(data []byte) {
			data[21], data[60] = featStatic>>8, 8
			wide(data[32:], 1<<44)
			wide(data[40:], 1<<44)
			wide(data[72:], (1<<44-1<<44/40+65535)/65536)
		}),
		"stash": forged(cuckoo, func(data []byte) {
			data[56], data[60], data[72], data[80], data[92], data[96] = 4, 9, 1, 2, 100, 1
			wide(data[112:], 1<<40)
		}),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse[string](data)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrTruncated) || after.TotalAlloc-before.TotalAlloc > 1<<16 {
			t.Error(name, err, after.TotalAlloc-before.TotalAlloc)
		}
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	whole, err := os.ReadFile("../../../tests/golden/windowed-fixed.nidus")
	if err != nil {
		t.Skip("there are no golden files here")
	}
	change := func(at int, value byte) []byte {
		data := bytes.Clone(whole)
		data[at] ^= value
		return data
	}
	for i, wanted := range []struct {
		kind error
		data []byte
	}{
		{ErrTruncated, nil},
		{ErrTruncated, whole[:7]},
		{ErrTruncated, whole[:100]},
		{ErrTruncated, whole[:len(whole)-1]},
		{ErrFormat, []byte("rubbish")},
		{ErrFormat, change(0, 1)},
		{ErrFormat, append(bytes.Clone(whole), 0)},
		{ErrFormat, respelled(change(16, 64))},
		{ErrVersion, change(8, 2)},
		{ErrCorrupt, change(40, 1)},
		{ErrCorrupt, change(260, 1)},
	} {
		if _, err := Parse[string](wanted.data); !errors.Is(err, wanted.kind) {
			t.Error(i, err, "instead of", wanted.kind)
		}
	}
	if _, err := Load[string](filepath.Join(t.TempDir(), "nothing")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
