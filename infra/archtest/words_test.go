package archtest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/infra/archtest"
)

const words = `# Test
2 gizmo
3 who spins
1 widget
0 cog
a.go: "gizmo: broken"
`

func vocabulary(t *testing.T) archtest.Vocabulary {
	t.Helper()
	v, err := archtest.ParseVocabulary(words)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTermsAreFoundInIdentifiersProseAndNamesOfFiles(t *testing.T) {
	t.Parallel()
	got, err := vocabulary(t).Find(files(map[string]string{
		"a.go":                  "package a\n\nvar errText = \"gizmo: broken\"\n\nfunc openGizmo() {}\n",
		"gizmo.md":              "A man who spins.\nGizmos are others.\n",
		"testdata/script.txtar": "exec gizmo_run\n",
		"testdata/foreign.md":   "gizmo\n",
		"data.bin":              "gizmo",
		".git/config.yml":       "gizmo",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]archtest.Place{
		"gizmo":     {{File: "a.go", Line: 5}, {File: "gizmo.md", Line: 0}, {File: "testdata/script.txtar", Line: 1}},
		"who spins": {{File: "gizmo.md", Line: 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("-want +got\n" + diff)
	}
}

func TestAQuotedTextThatIsGoneIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := vocabulary(t).Find(files(map[string]string{"a.go": "package a\n"})); err == nil || !strings.Contains(err.Error(), `"\"gizmo: broken\"" is not in a.go`) {
		t.Error(err)
	}
}

func TestLimitsMayOnlyFall(t *testing.T) {
	t.Parallel()
	at := archtest.Place{File: "a.go", Line: 1}
	found := map[string][]archtest.Place{"gizmo": {at, at, at}, "who spins": {at, at, at}, "cog": {at}}
	want := []string{
		`"cog": found 1 times, allowed 0: [a.go:1]`,
		`"gizmo": found 3 times, allowed 2: [a.go:1 a.go:1 a.go:1]`,
		`"widget": found 0 times, allowed 1: lower the limit with task words -- -update`,
	}
	if got := vocabulary(t).Violations(found); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := archtest.Lowered(words, found), strings.Replace(words, "1 widget", "0 widget", 1); got != want {
		t.Errorf("lowered to %q, want %q", got, want)
	}
}

func TestALineOfAVocabularyInAnotherFormIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"gizmo\n", "-1 gizmo\n", "2\n"} {
		if _, err := archtest.ParseVocabulary(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
