// Command arch prints figures of the architecture, and the words that the project no longer uses in
// its own meaning:
//
//	arch [-o json] [-path=false] [REVISION]  size of code, and path of an event (task arch)
//	arch words [-update]                     places of the words in words.txt (task words)
//
// It runs in the root of the repository.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"github.com/stoker-ml/stoker/infra/archtest"
)

// vocabularyFile is relative to the root of the repository.
const vocabularyFile = "infra/archtest/words.txt"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "arch:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == "words" {
		return printWords(".", args[1:], out)
	}
	flags := flag.NewFlagSet("arch", flag.ContinueOnError)
	output := flags.String("o", "text", "output format: text or json")
	path := flags.Bool("path", true, "trace the path of one event, which builds and runs the program (some minutes)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	revision := "HEAD"
	switch flags.NArg() {
	case 0:
	case 1:
		revision = flags.Arg(0)
	default:
		return errors.New("more than one revision")
	}
	report, err := measure(ctx, revision, *path)
	if err != nil {
		return err
	}
	if *output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return report.print(out)
}

// measure exports a revision into a temporary directory and measures it there.
func measure(ctx context.Context, revision string, path bool) (report, error) {
	dir, err := os.MkdirTemp("", "stoker-arch-")
	if err != nil {
		return report{}, err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "source")
	if err := export(ctx, revision, source); err != nil {
		return report{}, fmt.Errorf("export %s: %w", revision, err)
	}
	r := report{Revision: revision}
	if r.Size, err = sizeOf(os.DirFS(source)); err != nil || !path {
		return r, err
	}
	traced, err := tracePath(ctx, source, dir)
	r.Path = &traced
	return r, err
}

// printWords prints the places of each term, or lowers the limits in the file.
func printWords(root string, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("words", flag.ContinueOnError)
	update := flags.Bool("update", false, "lower the limits to what is found")
	if err := flags.Parse(args); err != nil {
		return err
	}
	file := filepath.Join(root, vocabularyFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	vocabulary, err := archtest.ParseVocabulary(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	found, err := vocabulary.Find(os.DirFS(root))
	if err != nil {
		return err
	}
	if *update {
		return os.WriteFile(file, []byte(archtest.Lowered(string(text), found)), 0o644)
	}
	total := 0
	for _, term := range termsByCount(found) {
		total += len(found[term])
		fmt.Fprintf(out, "%5d %s\n", len(found[term]), term)
		for _, place := range found[term] {
			fmt.Fprintf(out, "        %s\n", place)
		}
	}
	fmt.Fprintf(out, "%5d in all\n", total)
	return nil
}

func termsByCount(found map[string][]archtest.Place) (terms []string) {
	for term := range found {
		terms = append(terms, term)
	}
	slices.SortFunc(terms, func(a, b string) int { return len(found[b]) - len(found[a]) })
	return terms
}
