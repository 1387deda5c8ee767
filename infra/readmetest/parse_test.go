package readmetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/infra/readmetest"
)

// fenced puts a Markdown block together; a raw string in Go can't contain its fence.
func fenced(before, language string, lines ...string) string {
	return before + "\n```" + language + "\n" + strings.Join(lines, "\n") + "\n```\n"
}

func TestParseFindsTheCommandsAndWhatTheyPrint(t *testing.T) {
	t.Parallel()
	text := "# Stoker\n" +
		fenced("", "console", "$ stoker version", "stoker ...", "$ cat <<END", "> a", "> END", "a", "> b") +
		fenced("<!-- ci: background -->\n", "console", "$ stoker up", "ready") +
		fenced("<!-- ci: skip because it takes an hour -->", "console", "$ sleep 3600") +
		fenced("", "yaml", "$ is no command here") +
		"- in a list:\n\n  ```console\n  $ ls\n  ```\n"
	got, err := readmetest.Parse("README.md", text)
	want := []readmetest.Block{
		{Page: "README.md", Line: 3, Steps: []readmetest.Step{
			{Line: 4, Command: "stoker version", Want: "stoker ...\n"},
			{Line: 6, Command: "cat <<END\na\nEND", Want: "a\n> b\n"},
		}},
		{Page: "README.md", Line: 14, Background: true, Steps: []readmetest.Step{{Line: 15, Command: "stoker up", Want: "ready\n"}}},
		{Page: "README.md", Line: 19, Skip: "it takes an hour", Steps: []readmetest.Step{{Line: 20, Command: "sleep 3600"}}},
		{Page: "README.md", Line: 28, Steps: []readmetest.Step{{Line: 29, Command: "ls"}}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("error %v, difference (-want +got)\n%s", err, diff)
	}
}

func TestABlockThatWouldNeverBeRunIsAnError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"a language of shells": {fenced("", "sh", "ls"), `README.md:2: a block of sh is never run: write it as console, with a "$ " before each command`},
		"no prompt":            {fenced("", "console", "ls"), `README.md:3: a block of console begins with a command, "$ ...", not with "ls"`},
		"no command":           {"```console\n```\n", "README.md:2: a block of console without a command"},
		"no reason":            {fenced("<!-- ci: skip -->", "console", "$ ls"), `README.md:1: unknown mark "skip": want "background" or "skip because" with a reason`},
		"a mark before text":   {"<!-- ci: background -->\nwords\n", `README.md:2: a block of console has to follow the mark "background"`},
		"a mark before yaml":   {fenced("<!-- ci: background -->", "yaml"), `README.md:2: the mark "background" stands before a block that is not run anyway`},
		"two in the background": {fenced("<!-- ci: background -->", "console", "$ stoker up", "ready", "$ ls"),
			"README.md:6: a block in the background has one command, not 2"},
		"nothing to wait for": {fenced("<!-- ci: background -->", "console", "$ stoker up"),
			"README.md:4: a command in the background needs below it what it prints when it is ready"},
		"no end": {"```console\n$ ls\n", "README.md: ends within a block, or with a mark that has no block after it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := readmetest.Parse("README.md", test.text); err == nil || err.Error() != test.want {
				t.Fatalf("error %v, want %s", err, test.want)
			}
		})
	}
}

func ExampleParse() {
	blocks, err := readmetest.Parse("README.md", fenced("", "console", "$ stoker version -o json", `{"version":"..."}`))
	fmt.Printf("%+v %v\n", blocks[0].Steps[0], err)
	// Output:
	// {Line:3 Command:stoker version -o json Want:{"version":"..."}
	// } <nil>
}
