package preview_test

import (
	"bytes"
	"strings"
	"testing"

	examplepb "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/functions/console/preview"
	"github.com/stoker-ml/stoker/functions/internal/mask"
)

func of(t *testing.T, name, text string) preview.Preview {
	t.Helper()
	p, err := preview.Of(name, int64(len(text)), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSmallTextsAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, format, want string }{
		"a.json":        {`{"units": 8, "api_key": "hunter2"}`, "JSON", "{\n  \"units\": 8,\n  \"api_key\": \"" + mask.Hidden + "\"\n}"},
		"best.txt":      {"[1]", "JSON", "[\n  1\n]"},
		"a.yaml":        {"units: 8\ndb_password: hunter2\n", "text", "units: 8\ndb_password: " + mask.Hidden + "\n"},
		"schema.pbtxt":  {"feature { name: \"<b>\" }", "text", "feature { name: \"<b>\" }"},
		"order.txt":     {"a\u202Eb\r\n", "text", "a\uFFFDb\n"},
		"not.json":      {`{"password": "hunter2"`, "text", `{"password": ` + mask.Hidden},
		"deep.json":     {strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "JSON", strings.Repeat("[", 5000) + strings.Repeat("]", 5000)},
		"of a module":   {"token = 'hunter2'", "text", "token = " + mask.Hidden},
		"nothing":       {"", "", ""},
		"binary":        {"\x08\x01model", "", ""},
		"of a latin1":   {"caf\xe9", "", ""},
		"damaged.gz":    {"\x1f\x8b\x08hunter2", "", ""},
		"large.txt":     {strings.Repeat("x", preview.MaxText+1), "", ""},
		"cut in a word": {strings.Repeat("x", preview.MaxText-1) + "é", "", ""},
	} {
		p := of(t, name, tc.text)
		if p.Format != tc.format || p.Text != tc.want || (p.Note == "") != (tc.format != "") {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if p := of(t, "cut", strings.Repeat("x", preview.MaxText-1)+"é"); !strings.Contains(p.Note, "too many") {
		t.Errorf("%+v", p)
	}
	wide := "[" + strings.Repeat(strings.Repeat("[", 30)+strings.Repeat("1,", 900)+"1"+strings.Repeat("]", 30)+",", 20) + "1]"
	if p := of(t, "wide.json", wide); p.Format != "JSON" || len(p.Text) > 4*preview.MaxText {
		t.Errorf("%s: %d bytes of %d", p.Format, len(p.Text), len(wide))
	}
}

func TestFirstRecordsAreShownByTheirFeatures(t *testing.T) {
	t.Parallel()
	record := func(names ...string) []byte {
		features := map[string]*examplepb.Feature{}
		for _, name := range names {
			features[name] = &examplepb.Feature{Kind: &examplepb.Feature_FloatList{FloatList: &examplepb.FloatList{Value: []float32{1, 2}}}}
		}
		data, err := proto.Marshal(&examplepb.Example{Features: &examplepb.Features{Feature: features}})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var file bytes.Buffer
	w := tfrecord.NewGzipWriter(&file)
	for _, data := range [][]byte{record("a\u202E", "<b>"), record("<b>"), make([]byte, 2<<20)} {
		if err := w.Append(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p := of(t, "part-0.gz", file.String())
	want := []preview.Feature{{Name: "<b>", Type: "float", Values: "2", Present: 2}, {Name: "a\uFFFD", Type: "float", Values: "2", Present: 1}}
	if p.Format != "records" || p.Records != 2 || len(p.Features) != 2 || p.Features[0] != want[0] || p.Features[1] != want[1] {
		t.Errorf("%+v", p)
	}
}

func FuzzOf(f *testing.F) {
	f.Add("a.json", []byte(`{"a": [1, "password"]}`))
	f.Add("a.gz", []byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		p, err := preview.Of(name, int64(len(data)), bytes.NewReader(data))
		if err != nil || len(p.Text) > 16*preview.MaxText || len(p.Features) > 100 {
			t.Errorf("%v: %d bytes, %d features", err, len(p.Text), len(p.Features))
		}
	})
}
