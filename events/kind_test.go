package events

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheTableOfKindsAgreesWithTheirData(t *testing.T) {
	t.Parallel()
	all := samples()
	for _, row := range kinds {
		sample := all[row.kind]
		switch {
		case row.data.Kind() != row.kind:
			t.Errorf("%s: its data is of the kind %s", row.kind, row.data.Kind())
		case sample == nil || sample.Kind() != row.kind || sample.Validate() != nil:
			t.Errorf("%s: samples has no valid data of it", row.kind)
		case sample.Summary() == "" || strings.Contains(sample.Summary(), "\n"):
			t.Errorf("%s: its summary is %q, want one line", row.kind, sample.Summary())
		case len(row.publishers) == 0:
			t.Errorf("%s: nobody publishes it", row.kind)
		}
		if _, ok := row.data.(RunData); row.await != "" && !ok {
			t.Errorf("%s: runs wait for it, and its data has no method Inputs", row.kind)
		}
		located, ok := row.data.(MarkerData)
		if byBridge := slices.Contains(row.publishers, ByBridge); byBridge != ok || byBridge != (row.marker.Member != "") {
			t.Errorf("%s: published by the bridge: %v, method Addresses: %v, marker: %+v", row.kind, byBridge, ok, row.marker)
		}
		if ok && (len(located.Addresses()) == 0 || !hasMember(row.data, row.marker.Member)) {
			t.Errorf("%s: its data has no addresses, or no member %s", row.kind, row.marker.Member)
		}
	}
}

func hasMember(data Data, name string) bool {
	return slices.ContainsFunc(reflect.VisibleFields(reflect.TypeOf(data).Elem()), func(f reflect.StructField) bool {
		member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return member == name
	})
}

func TestEachWordOfWaitForStandsForAKind(t *testing.T) {
	t.Parallel()
	for _, word := range WaitWords() {
		if kind := Awaited(word); NewData(kind) == nil {
			t.Errorf("%s stands for %q", word, kind)
		}
	}
	if Awaited("") != "" || Awaited("nonsuch") != "" || NewData("nonsuch") != nil {
		t.Error("a kind for a word that has none")
	}
}

func TestNewDataIsNotShared(t *testing.T) {
	t.Parallel()
	NewData(KindModelBlessed).(*ModelBlessed).Model = "s3://models/1"
	if again := NewData(KindModelBlessed).(*ModelBlessed); again.Model != "" {
		t.Errorf("it has the model %s of earlier data", again.Model)
	}
	force, ok := WithForce(samples()[KindTransformReady], true)
	if !ok || !RequestOf(force).Force {
		t.Errorf("%+v, %v", force, ok)
	}
	trained := samples()[KindModelTrained]
	if same, ok := WithForce(trained, true); ok || !cmp.Equal(trained, same) {
		t.Error("a model that asks for a training")
	}
}

var eventRow = regexp.MustCompile("(?m)^\\| `([a-z.]+)\\.v1` \\|")

func TestThePageOfEventsHasEachKind(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../infra/docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []Kind
	for _, row := range eventRow.FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, Kind(row[1]))
	}
	if diff := cmp.Diff(Kinds(), listed); diff != "" {
		t.Errorf("its table of kinds: -want +got\n%s", diff)
	}
}
