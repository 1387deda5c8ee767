package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

func main() {
	to := flag.String("to", "..", "the folder of compute/kernel")
	flag.Parse()
	for name, content := range files() {
		if err := os.WriteFile(filepath.Join(*to, name), content, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// families are the files, by name.
var families = map[string]func(*file){
	"map":     writeMap,
	"slope":   writeSlope,
	"combine": writeCombine,
	"sum":     writeSum,
	"softmax": writeSoftmax,
	"table":   writeTable,
	"gemm":    writeGemm,
	"update":  writeUpdate,
	"dropout": writeDropout,
}

// files returns all that is generated: the assembly of each family, and the declarations for Go.
func files() map[string][]byte {
	all := map[string][]byte{}
	for name, write := range families {
		f := &file{Context: build.NewContext(), constants: map[uint32]bool{}, tables: map[string]bool{}}
		f.ConstraintExpr("amd64")
		write(f)
		assembly, stubs := f.print(name)
		all[name+"_amd64.s"], all[name+"_stubs_amd64.go"] = assembly, stubs
	}
	return all
}

func (f *file) print(family string) (assembly, stubs []byte) {
	result, err := f.Result()
	if err == nil {
		err = pass.Compile.Execute(result)
	}
	if err != nil {
		panic(fmt.Sprintf("%s: %v", family, err))
	}
	config := printer.Config{Name: "compute/kernel/asm", Pkg: "kernel"}
	if assembly, err = printer.NewGoAsm(config).Print(result); err != nil {
		panic(err)
	}
	if stubs, err = printer.NewStubs(config).Print(result); err != nil {
		panic(err)
	}
	return append(bytes.TrimSpace(assembly), '\n'), stubs
}
