// SPDX-License-Identifier: MIT

package nidus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"nidus.org/nidus"
)

func Example() {
	birds, err := nidus.New[string](nidus.Options{Capacity: 1000, FPR: 0.001})
	if err != nil {
		log.Fatal(err)
	}
	defer birds.Close()
	birds.Insert("heron")
	birds.Insert("crane")
	fmt.Println(birds.Contains("heron"))
	birds.Remove("crane") // only keys that were inserted
	fmt.Println(birds.Len())
	// Output:
	// true
	// 1
}

func ExampleBuild() {
	keys := make([]uint64, 1_000_000)
	for i := range keys {
		keys[i] = uint64(i) * 3
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	threes, err := nidus.Build(ctx, keys, nidus.Options{FPR: 0.001, Threads: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer threes.Close()
	fmt.Println(threes.ContainsMany([]uint64{3, 300, 2_999_997}))
	// Output: [true true true]
}

func ExampleBuild_static() {
	leaked := []string{"123456", "password", "qwerty"}
	static, err := nidus.Build(context.Background(), leaked, nidus.Options{Features: nidus.FeatureStatic, FPR: 1e-9})
	if err != nil {
		log.Fatal(err)
	}
	defer static.Close()
	fmt.Println(static.Contains("qwerty"), static.Info().Family)
	fmt.Println(errors.Is(static.Insert("letmein"), nidus.ErrUnsupported))
	// Output:
	// true ribbon
	// true
}

func ExampleBuildExclude() {
	revoked, valid := []uint64{4, 8, 15}, []uint64{16, 23, 42}
	exact, err := nidus.BuildExclude(context.Background(), revoked, valid, nidus.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer exact.Close()
	fmt.Println(exact.ContainsMany(revoked), exact.ContainsMany(valid))
	// Output: [true true true] [false false false]
}

func ExampleSharedFilter() {
	seen, err := nidus.NewShared[int](nidus.Options{Capacity: 10_000, MaxCapacity: 1_000_000})
	if err != nil {
		log.Fatal(err)
	}
	defer seen.Close()
	var group sync.WaitGroup
	for part := range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			for key := range 1000 {
				seen.Insert(part*1000 + key)
			}
		}()
	}
	group.Wait()
	fmt.Println(seen.Len())
	// Output: 4000
}

func ExampleOpen() {
	folder, _ := os.MkdirTemp("", "nidus")
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "birds.nidus")

	birds, _ := nidus.New[string](nidus.Options{Capacity: 1000})
	birds.InsertMany([]string{"heron", "crane"})
	birds.Save(path)
	birds.Close()

	mapped, err := nidus.Open[string](path) // lookups start at once, whatever its size
	if err != nil {
		log.Fatal(err)
	}
	defer mapped.Close()
	fmt.Println(mapped.Contains("heron"))
	// Output: true
}

func ExampleMerge() {
	options := nidus.Options{Capacity: 1000, Seed: 1, FPR: 1e-6}
	monday, _ := nidus.New[string](options)
	tuesday, _ := nidus.New[string](options)
	monday.InsertMany([]string{"heron", "crane"})
	tuesday.InsertMany([]string{"heron", "stork"})
	both, err := nidus.Merge(nidus.MergeUnion, monday, tuesday)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(both.Len())
	// Output: 3
}

func ExampleFilter_AddCounts() {
	words, _ := nidus.New[string](nidus.Options{Capacity: 1000, FPR: 1e-6, ValueBits: 8})
	defer words.Close()
	words.AddCounts([]string{"to", "be", "or", "not", "to", "be"}, nil)
	fmt.Println(words.GetCount("be"), words.GetCount("or"), words.GetCount("whether"))
	// Output: 2 1 0
}

func ExampleFilter_Values() {
	shards, _ := nidus.New[string](nidus.Options{Capacity: 1000, FPR: 1e-6, ValueBits: 4})
	defer shards.Close()
	shards.InsertValue("heron", 7)
	fmt.Println(shards.Values("heron"), shards.Values("crane"))
	// Output: [7] []
}

func ExampleFilter_Entries() {
	birds, _ := nidus.New[string](nidus.Options{Capacity: 1000, FPR: 1e-6, Seed: 1})
	copied, _ := nidus.New[string](nidus.Options{Capacity: 1000, FPR: 1e-6, Seed: 1})
	birds.InsertMany([]string{"heron", "crane"})
	for entry := range birds.Entries() {
		copied.InsertEntry(entry)
	}
	fmt.Println(nidus.Same(birds, copied), copied.Contains("crane"))
	// Output: true true
}

func ExampleFilter_WriteTo() {
	birds, _ := nidus.New[string](nidus.Options{Capacity: 1000})
	birds.Insert("heron")
	var wire bytes.Buffer // or a file, a connection, a gzip.Writer
	if _, err := birds.WriteTo(&wire); err != nil {
		log.Fatal(err)
	}
	again, err := nidus.Read[string](&wire)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Contains("heron"))
	// Output: true
}

func ExampleError() {
	tiny, _ := nidus.New[int](nidus.Options{Capacity: 10, Family: nidus.Cuckoo, Seed: 1})
	done, err := tiny.InsertMany(make([]int, 0))
	for key := 0; err == nil; key++ {
		err = tiny.Insert(key)
	}
	fmt.Println(done, errors.Is(err, nidus.ErrFull))
	_, err = nidus.Load[int]("no such file")
	fmt.Println(errors.Is(err, nidus.ErrIO), errors.Is(err, os.ErrNotExist))
	// Output:
	// 0 true
	// true true
}

func ExamplePlan() {
	rows, err := nidus.Plan(nidus.Options{Capacity: 1_000_000, FPR: 0.001, Features: nidus.FeatureDelete})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range rows {
		if row.Chosen {
			fmt.Println(row.Family, row.Err == nil, row.BitsPerKey < 14)
		} else if row.Family == nidus.Bloom {
			fmt.Println(row.Family, row.Err)
		}
	}
	// Output:
	// windowed true true
	// bloom nidus: the bloom family cannot delete
}
