package mask_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/internal/mask"
)

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	text := `{"z": 1, "db_password": "hunter2", "nested": [{"AWS_SECRET_ACCESS_KEY": "hunter2", "apiToken": {"a": "hunter2"}}],
		"url": "postgres://me:hunter2@db/x", "max_tokens": 512, "token": 123456, "tokenizer_file": "hunter2", "label": "<species>",
		"secret": null, "cookie": true, "credentials": ["hunter2"], "rate": 1e-30, "password": "1", "token": "hunter2", "empty": {}, "none": []}`
	want := `{"z":1,"db_password":"#","nested":[{"AWS_SECRET_ACCESS_KEY":"#","apiToken":"#"}],` +
		`"url":"postgres://#@db/x","max_tokens":512,"token":"#","tokenizer_file":"#","label":"<species>",` +
		`"secret":null,"cookie":true,"credentials":"#","rate":1e-30,"password":"#","token":"#","empty":{},"none":[]}`
	if got := string(mask.JSON([]byte(text))); got != strings.ReplaceAll(want, "#", mask.Hidden) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestWhatIsNotOneJSONValueIsHiddenWhole(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"hunter2", "", `{"a": "hunter2"`, `1 "hunter2"`, strings.Repeat("[", 1<<20)} {
		if got := string(mask.JSON([]byte(text))); got != `"`+mask.Hidden+`"` {
			t.Errorf("%.20q: %.50s", text, got)
		}
	}
}

func TestLogsAreMasked(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"password=hunter2", "connect with passwd: hunter2 now", `{"api_key": "hunter2"}`, "AWS_SECRET_ACCESS_KEY=hunter2", "s3://me:hunter2@host", "Authorization: hunter2",
		"Authorization: Bearer hunter2", `{"authorization": "Basic hunter2"}`, "AWS_SESSION_TOKEN=hunter2", "api_token: hunter2", "postgres://me:a@hunter2@db/x",
		"pa\u017f\u017fword=hunter2", "api_to\u212Aen=hunter2", "APIKEY=hunter2", "accessKeyId: hunter2", "Credentials=hunter2", "PassPhrase=hunter2",
	} {
		if got := mask.Text(line); strings.Contains(got, "hunter2") {
			t.Error(got)
		}
	}
	for _, line := range []string{"loss: 0.3, tokens: 5", "max_tokens=512", "token: 7 of 512", "s3://bkt/a, mail me@host"} {
		if got := mask.Text(line); got != line {
			t.Error(got)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a": [1, null, {"password": "x"}]}`))
	f.Add([]byte(`"`))
	f.Add([]byte(`{"token":0.5,"b":[true,"s3://a:b@c"]} `))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := mask.JSON(text)
		if !json.Valid(got) {
			t.Fatalf("%q", got)
		}
		if again := mask.JSON(got); string(again) != string(got) {
			t.Errorf("%s, masked again %s", got, again)
		}
	})
}

// Filters of lists mask the errors of thousands of runs: a text that can't hold a secret is
// returned as it is, without a copy.
func TestTextsWithoutSecretsAreNotCopied(t *testing.T) {
	text := strings.Repeat("stage s3://bkt/key: object changed while it was read; ", 80)
	if copies := testing.AllocsPerRun(100, func() { mask.Text(text) }); copies != 0 {
		t.Errorf("%v allocations", copies)
	}
}
