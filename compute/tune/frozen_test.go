package tune_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/infra/compat"
)

// Logs of studies stay on the bus forever.
func TestEntriesOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	compat.Format{Name: "entry", Of: tune.Entry{}, Again: func(text []byte) ([]byte, error) {
		e, err := tune.ParseEntry(text)
		if err != nil {
			return nil, err
		}
		return e.Bytes()
	}}.Check(t)
}

// An entry of a newer version may determine later ones, so a reader must stop at it; and it is
// distinguished from invalid bytes.
func TestAnEntryOfANewerVersionIsKnownForOne(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/frozen/entry.begun.json")
	if err != nil {
		t.Fatal(err)
	}
	whole := string(text)
	for body, newer := range map[string]bool{
		strings.Replace(whole, `{"begun"`, `{"added_later":{"a":1},"begun"`, 1): true,
		strings.Replace(whole, `"seed":`, `"added_later":1,"seed":`, 1):         true,
		strings.Replace(whole, `"seed":7`, `"seed":"x","added_later":1`, 1):     false,
		whole[:len(whole)-10]: false,
	} {
		if _, err := tune.ParseEntry([]byte(body)); err == nil || errors.Is(err, tune.ErrNewer) != newer {
			t.Errorf("%v, newer is to be %v: %s", err, newer, body)
		}
	}
}
