package examplegen_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/data/examplegen"
)

// A CSV file becomes Examples in two splits, as TFX's CsvExampleGen makes them.
func ExampleConvert() {
	dir, err := os.MkdirTemp("", "examples-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	table := filepath.Join(dir, "taxi.csv")
	rows := "fare,company,tips\n12.5,Flash,2\n7,Blue Ribbon,0\n31.25,,5\n8,Flash,1\n9.5,Flash,0\n10,,2\n"
	if err := os.WriteFile(table, []byte(rows), 0o600); err != nil {
		panic(err)
	}

	options := examplegen.Options{Splits: []examplegen.Split{{Name: "train", Buckets: 1}, {Name: "eval", Buckets: 1}}}
	report, err := examplegen.Convert(context.Background(), table, filepath.Join(dir, "Examples"), options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Columns)
	fmt.Println(report.Splits)
	files, _ := filepath.Glob(filepath.Join(dir, "Examples", "*", "*"))
	for _, file := range files {
		name, _ := filepath.Rel(dir, file)
		fmt.Println(name)
	}
	// Output:
	// map[company:string fare:float tips:int64]
	// map[eval:2 train:4]
	// Examples/Split-eval/data_tfrecord-00000-of-00001.gz
	// Examples/Split-train/data_tfrecord-00000-of-00001.gz
}

func ExampleParseSplits() {
	splits, err := examplegen.ParseSplits("train:8,eval:1,test:1")
	fmt.Println(splits, err)
	// Output: [{train 8} {eval 1} {test 1}] <nil>
}

// An error in a table names the file, the line and the column.
func ExampleError() {
	dir, err := os.MkdirTemp("", "examples-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	table := filepath.Join(dir, "taxi.csv")
	if err := os.WriteFile(table, []byte("fare,company\n12.5,Flash\n7\n"), 0o600); err != nil {
		panic(err)
	}
	_, err = examplegen.Convert(context.Background(), table, filepath.Join(dir, "Examples"), examplegen.Options{})
	if e, ok := errors.AsType[*examplegen.Error](err); ok {
		fmt.Println(filepath.Base(e.File), "line", e.Line, "-", e.Err)
	}
	// Output: taxi.csv line 3 - expected 2 cells as in the header, got another number
}
