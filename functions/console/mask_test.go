package console

import (
	"strings"
	"testing"
)

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	text := `{"db_password": "hunter2", "nested": [{"AWS_SECRET_ACCESS_KEY": "hunter2", "apiToken": {"a": "hunter2"}}], "url": "postgres://me:hunter2@db/x",
		"max_tokens": 512, "tokenizer_file": "hunter2", "label": "species", "rate": 1e-30}`
	got := indented(masked([]byte(text)))
	if strings.Contains(got, "hunter2") {
		t.Error(got)
	}
	for _, want := range []string{`"max_tokens": 512`, `"label": "species"`, `"rate": 1e-30`, "postgres://" + hidden + "@db/x"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	if got := indented(masked([]byte("hunter2"))); strings.Contains(got, "hunter2") {
		t.Error(got)
	}
}

func TestLogsAreMasked(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"password=hunter2", "connect with passwd: hunter2 now", `{"api_key": "hunter2"}`, "AWS_SECRET_ACCESS_KEY=hunter2", "s3://me:hunter2@host", "Authorization: hunter2",
		"Authorization: Bearer hunter2", `{"authorization": "Basic hunter2"}`, "AWS_SESSION_TOKEN=hunter2", "api_token: hunter2", "postgres://me:a@hunter2@db/x",
	} {
		if got := maskText(line); strings.Contains(got, "hunter2") {
			t.Error(got)
		}
	}
	for _, line := range []string{"loss: 0.3, tokens: 5", "max_tokens=512", "token: 7 of 512", "s3://bkt/a, mail me@host"} {
		if got := maskText(line); got != line {
			t.Error(got)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add([]byte(`{"a": [1, null, {"password": "x"}]}`))
	f.Add([]byte(`"`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if indented(masked(text)) == "" {
			t.Error("nothing is shown")
		}
	})
}
