// SPDX-License-Identifier: MIT

package read_test

import (
	"errors"
	"fmt"
	"log"
	"os"

	"nidus.org/nidus/read"
)

func Example() {
	birds, err := read.Load[string]("testdata/birds.nidus") // which the nidus command made
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(birds.Contains("heron"), birds.Contains("stork"))
	fmt.Println(birds.Info().Family, birds.Len())
	for entry := range birds.Entries() {
		fmt.Println(entry)
	}
	// Output:
	// true false
	// semisort 2
	// {0 14484 0}
	// {0 13118 0}
}

func ExampleParse() {
	data, err := os.ReadFile("testdata/birds.nidus")
	if err != nil {
		log.Fatal(err)
	}
	data[260] ^= 1
	_, err = read.Parse[string](data)
	fmt.Println(errors.Is(err, read.ErrCorrupt), err)
	// Output: true nidus: the checksum of section 0 is wrong
}
