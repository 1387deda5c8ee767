package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// home returns the home directory of an empty machine, with files by their paths below it.
func home(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// everything sets the bus's address in every place there is.
func everything(t *testing.T) Sources {
	return Sources{
		Flags:   map[Key]string{BusURL: "flag"},
		Environ: []string{"NATS_URL=env"},
		Home: home(t, map[string]string{
			".config/stoker/config.yaml":     "nats:\n  url: file\n",
			".config/nats/context/prod.json": `{"url": "context", "creds": "~/prod.creds", "description": "ours"}`,
			".config/nats/context.txt":       "prod",
		}),
	}
}

func TestFlagsGoBeforeEnvironmentFileAndTheSelectedContext(t *testing.T) {
	t.Parallel()
	sources := everything(t)
	configFile := filepath.Join(sources.Home, ".config/stoker/config.yaml")
	for _, step := range []struct {
		url, from string
		selected  bool
		then      func()
	}{
		{"flag", "--nats", false, func() { sources.Flags = nil }},
		{"env", "NATS_URL", false, func() { sources.Environ = nil }},
		{"file", configFile + ":2", false, func() { os.Remove(configFile) }},
		{"context", "context prod, selected", true, func() { os.Remove(filepath.Join(sources.Home, ".config/nats/context.txt")) }},
		{"", "", false, func() {}},
	} {
		found, err := Find(sources)
		if err != nil {
			t.Fatal(err)
		}
		bus, err := found.Bus()
		if err != nil || bus.URL != step.url || bus.From != step.from || bus.Selected != step.selected {
			t.Errorf("%+v, %v; want %s from %s", bus, err, step.url, step.from)
		}
		step.then()
	}
}

// A context's place comes right after the one that names it.
func TestAContextStandsBehindWhatNamesIt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*Sources)
		url    string
	}{
		"a flag names it, the environment a server": {func(s *Sources) { s.Flags = map[Key]string{BusContext: "prod"} }, "context"},
		"flags name both":               {func(s *Sources) { s.Flags[BusContext] = "prod" }, "flag"},
		"the environment names both":    {func(s *Sources) { s.Flags, s.Environ = nil, append(s.Environ, "NATS_CONTEXT=prod") }, "env"},
		"the environment, a file a bus": {func(s *Sources) { s.Flags, s.Environ = nil, []string{"NATS_CONTEXT=prod"} }, "context"},
	} {
		sources := everything(t)
		tc.change(&sources)
		found, err := Find(sources)
		if err != nil {
			t.Fatal(err)
		}
		bus, err := found.Bus()
		if err != nil || bus.URL != tc.url || bus.Creds != filepath.Join(sources.Home, "prod.creds") {
			t.Errorf("%s: %+v, %v; want %s", name, bus, err, tc.url)
		}
	}
}

// The credentials of a context that was not named are sent to no other server.
func TestTheSelectedContextLendsNoCredentials(t *testing.T) {
	t.Parallel()
	sources := everything(t)
	found, err := Find(sources)
	if err != nil {
		t.Fatal(err)
	}
	if bus, err := found.Bus(); err != nil || bus.Creds != "" {
		t.Errorf("%+v, %v", bus, err)
	}
}

func TestCredentialsAreFromOnePlace(t *testing.T) {
	t.Parallel()
	sources := Sources{
		Environ: []string{"NATS_TOKEN=t"},
		Home:    home(t, map[string]string{".config/stoker/config.yaml": "nats: {url: nats://x, user: u, password: secret, ca: ca.pem}"}),
	}
	found, err := Find(sources)
	if err != nil {
		t.Fatal(err)
	}
	bus, err := found.Bus()
	if err != nil || bus.Token != "t" || bus.User != "" || bus.Password != "" || bus.CA != filepath.Join(sources.Home, ".config/stoker/ca.pem") {
		t.Errorf("%+v, %v", bus, err)
	}
}

func TestNATSVariables(t *testing.T) {
	t.Parallel()
	sources := Sources{Environ: strings.Fields("NATS_URL=tls://b NATS_USER=u NATS_PASSWORD=p NATS_CERT=c.pem NATS_KEY=k.pem " +
		"NATS_CA=ca.pem NATS_TIMEOUT=9s NATS_INBOX_PREFIX=_INBOX_u NATS_JETSTREAM_DOMAIN=hub NATS_TLS_FIRST=true")}
	found, err := Find(sources)
	if err != nil {
		t.Fatal(err)
	}
	want := Bus{URL: "tls://b", From: "NATS_URL", User: "u", Password: "p", Cert: "c.pem", Key: "k.pem", CA: "ca.pem",
		InboxPrefix: "_INBOX_u", Domain: "hub", TLSFirst: true, Timeout: 9e9}
	if bus, err := found.Bus(); err != nil || bus != want {
		t.Errorf("%+v, %v", bus, err)
	}
}

func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	sources := Sources{
		Flags: map[Key]string{BusURL: "nats://me:secret1@a:4222,nats://secret2@b,secret3@c"},
		Environ: strings.Fields("NATS_SEED=secret9 NATS_CREDS_TEXT=secret10 NATS_KEY_TEXT=secret11 NATS_PASSWORD=secret4 NATS_TOKEN=secret5 AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret6 " +
			"AWS_SESSION_TOKEN=secret7 MINIO_ENDPOINT=https://a:secret8@minio"),
	}
	found, err := Find(sources)
	if err != nil {
		t.Fatal(err)
	}
	values, err := found.Values()
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	for _, v := range values {
		fmt.Fprintf(&shown, "%s %s %s\n", v.Key, v.Shown(), v.From)
	}
	if strings.Contains(shown.String(), "secret") && strings.Contains(strings.ReplaceAll(shown.String(), "store.secret_key", ""), "secret") {
		t.Errorf("%s", shown.String())
	}
	if !strings.Contains(shown.String(), "nats.url nats://a:4222,nats://b,nats://c --nats") {
		t.Errorf("%s", shown.String())
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file, context, env, want string
	}{
		"unknown key":        {"root: s3://a\nnats:\n  ulr: x\n", "", "", `config.yaml:3:3: unknown key "nats.ulr": expected one of context, url, user`},
		"unknown key on top": {"bus: x\n", "", "", `config.yaml:1:1: unknown key "bus": expected one of output, data, root, inputs, listen, log, worker, console, nats, store, openlineage`},
		"a list":             {"nats:\n  url: [a, b]\n", "", "", "config.yaml:2:8: nats.url: expected one value"},
		"a quote left open":  {"nats:\n  url: \"secret", "", "", "config.yaml:2:8: could not find end character of double-quoted text"},
		"a key said twice":   {"root: s3://a\nroot: s3://secret\n", "", "", `config.yaml:2:1: mapping key "root" already defined at [1:1]`},
		"no mapping":         {"secret\n", "", "", "config.yaml:1:1: expected settings like root: s3://bucket"},
		"no YAML":            {"nats: {url: [", "", "", "config.yaml:1:13: sequence end token ']' not found"},
		"no such context":    {"nats: {context: nowhere}", "", "", `config.yaml:1: no context "nowhere" of the nats tool in `},
		"another's folder":   {"nats: {context: ../x}", "", "", `config.yaml:1: context "../x": expected a name`},
		"a broken context":   {"nats: {context: prod}", "secret", "", "prod.json: expected a context of the nats tool"},
		"nsc":                {"nats: {context: prod}", `{"nsc": "nsc://secret"}`, "", "prod.json: nsc is not supported: use creds"},
		"a duration":         {"nats: {url: x, timeout: soon}", "", "", `nats.timeout (`},
		"half a pair":        {"nats: {url: x, cert: c.pem}", "", "", "nats.cert and nats.key must be set together"},
		"a profile":          {"store: {profile: nobody}", "", "", `config.yaml:1: no AWS profile "nobody" in `},
		"half a key":         {"store: {access_key: a}", "", "", "store.access_key and store.secret_key must be set together"},
		"hosts of mc":        {"", "", "MC_HOST_a=https://x:secret@a MC_HOST_b=https://b", "a, b"},
		"a bad host of mc":   {"", "", "MC_HOST_a=https://x:secret@a:port", "MC_HOST_a"},
		"no host of mc":      {"", "", "MC_HOST_a=x:secret", "MC_HOST_a"},
		"a file is missing":  {"", "", "STOKER_CONFIG=/nowhere/x.yaml", "configuration file (STOKER_CONFIG): open /nowhere/x.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sources := Sources{Environ: strings.Fields(tc.env), Home: home(t, map[string]string{
				".config/stoker/config.yaml": tc.file, ".config/nats/context/prod.json": tc.context,
			})}
			_, err := everyPart(sources)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "nsc://secret") || strings.Contains(err.Error(), "x:secret") {
				t.Errorf("%v; want %s", err, tc.want)
			}
		})
	}
}

func everyPart(sources Sources) (*Settings, error) {
	found, err := Find(sources)
	if err != nil {
		return nil, err
	}
	if _, err := found.Bus(); err != nil {
		return nil, err
	}
	_, err = found.Store()
	return found, err
}

// A file with other settings must not end the program, and a secret in it must not be shown.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{"root: s3://a\nnats: {url: x}", "nats:\n  - a", "&a a: *a", "store: {ca: ~/x}", "? [a]\n: b", "{[", "---\n---\n", "root: |\n  x\n", "nats: !!str x", "<<: {a: b}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseFile("config.yaml", []byte(text)); err != nil && !strings.HasPrefix(err.Error(), "config.yaml:") {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func FuzzContext(f *testing.F) {
	f.Add(`{"url": "x", "tls_first": true, "windows_ca_certs_match": []}`)
	f.Add(`[]`)
	f.Add(`{"url": {}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if l, err := parseContext("prod", "prod.json", []byte(text)); err == nil && l[BusURL].Text == "" {
			t.Errorf("%q: no server", text)
		}
	})
}
