package events

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/infra/compat"
)

var freeze = flag.Bool("freeze", false, "write the frozen messages of kinds that have none, and their digests")

// frozenMessage is a message in its form on the bus.
type frozenMessage struct {
	Header map[string][]string `json:"header,omitempty"`
	Body   string              `json:"body"`
}

// The files in testdata/frozen were written by the first version with that content, and never
// change: events are kept forever, and during an upgrade workers of two versions use one bus. Every
// version reads all of it, and writes it again with nothing missing. If this test fails, an upgrade
// would lose events or jobs: the change is wrong, not the file.
func TestWhatEarlierVersionsWroteIsRead(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		for mode, encode := range modes {
			wantSame(t, frozen(t, string(kind)+"."+mode, func() (frozenMessage, error) { return written(encode, sampleEvent(kind)) }), encode)
		}
	}
	job := frozen(t, "job", func() (frozenMessage, error) {
		body, err := json.Marshal(sampleJob())
		return frozenMessage{Body: string(body)}, err
	})
	wantSameJob(t, job, job.Body)
}

// Members that are added to a message later are frozen in addition to the first version, as
// <kind>.<addition>.json.
func TestEveryMemberOfAMessageIsFrozen(t *testing.T) {
	t.Parallel()
	for kind, data := range samples() {
		var all [][]byte
		// Structured ones have the same data in an envelope.
		for _, message := range allFrozen(t, string(kind)+".[^s]*") {
			wantSame(t, message, Encode)
			all = append(all, []byte(message.Body))
		}
		compat.Complete(t, string(kind), data, all...)
	}
	var all [][]byte
	for _, message := range allFrozen(t, "job*") {
		wantSameJob(t, message, message.Body)
		all = append(all, []byte(message.Body))
	}
	compat.Complete(t, "job", Job{}, all...)
}

func allFrozen(t *testing.T, files string) (all []frozenMessage) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("testdata", "frozen", files+".json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		compat.Unchanged(t, file)
		all = append(all, frozen(t, strings.TrimSuffix(filepath.Base(file), ".json"), nil))
	}
	return all
}

// A worker that is older than the dispatcher receives unknown fields. It ignores them.
func TestWhatLaterVersionsAddIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		message := frozen(t, string(kind)+".binary", nil)
		header := maps.Clone(message.Header)
		header["ce-addedlater"] = []string{"x"}
		got, err := Decode(header, []byte(withMore(message.Body)))
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		again, err := written(Encode, got)
		wantPart(t, message, again, err)
	}
	job := frozen(t, "job", nil)
	wantSameJob(t, job, withMore(job.Body))
}

var modes = map[string]func(Event) (map[string][]string, []byte, error){"binary": Encode, "structured": EncodeStructured}

func written(encode func(Event) (map[string][]string, []byte, error), f Event) (frozenMessage, error) {
	header, body, err := encode(f)
	return frozenMessage{header, string(body)}, err
}

// withMore adds an unknown member.
func withMore(object string) string {
	return `{"added_later": {"a": [1]}, ` + strings.TrimPrefix(object, "{")
}

func wantSame(t *testing.T, message frozenMessage, encode func(Event) (map[string][]string, []byte, error)) {
	t.Helper()
	got, err := Decode(message.Header, []byte(message.Body))
	if err != nil {
		t.Errorf("%+v: %v", message, err)
		return
	}
	again, err := written(encode, got)
	wantPart(t, message, again, err)
}

func wantSameJob(t *testing.T, message frozenMessage, body string) {
	t.Helper()
	got, err := DecodeJob([]byte(body))
	if err != nil {
		t.Errorf("job: %v", err)
		return
	}
	again, err := json.Marshal(got)
	wantPart(t, message, frozenMessage{Body: string(again)}, err)
}

// wantPart checks that what is written now holds everything that was frozen, plus later additions.
func wantPart(t *testing.T, message, now frozenMessage, err error) {
	t.Helper()
	var part, whole any
	err = errors.Join(err, json.Unmarshal([]byte(message.Body), &part), json.Unmarshal([]byte(now.Body), &whole))
	if err != nil || !holds(whole, part) {
		t.Errorf("%v: frozen\n%s\nnow\n%s", err, message.Body, now.Body)
	}
	for name, values := range message.Header {
		if !slices.Equal(now.Header[name], values) {
			t.Errorf("header %s: frozen %v, now %v", name, values, now.Header[name])
		}
	}
}

// holds reports whether every member of part is in whole, with the same value.
func holds(whole, part any) bool {
	members, ok := part.(map[string]any)
	if !ok {
		return reflect.DeepEqual(whole, part)
	}
	all, ok := whole.(map[string]any)
	for name, value := range members {
		ok = ok && holds(all[name], value)
	}
	return ok
}

// frozen reads a message, after writing it if there is none and -freeze is set.
func frozen(t *testing.T, name string, write func() (frozenMessage, error)) (message frozenMessage) {
	t.Helper()
	file := filepath.Join("testdata", "frozen", name+".json")
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) && *freeze && write != nil {
		if message, err = write(); err != nil {
			t.Fatal(err)
		}
		if text, err = json.MarshalIndent(message, "", " "); err == nil {
			text = append(text, '\n')
			err = errors.Join(os.WriteFile(file, text, 0o644), appendSum(file, text))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &message); err != nil {
		t.Fatal(err)
	}
	return message
}

// appendSum adds the line of a frozen file to the list of their digests.
func appendSum(file string, text []byte) error {
	list, err := os.OpenFile(filepath.Join(filepath.Dir(file), "sums"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(list, "%x  %s\n", sha256.Sum256(text), filepath.Base(file))
	return errors.Join(err, list.Close())
}
