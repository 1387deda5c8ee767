package bridge_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/storage"
)

func allow(at string, pipelines ...string) bridge.Rule {
	bucket, key, _ := strings.Cut(at, "/")
	return bridge.Rule{Prefix: storage.Ref{Bucket: bucket, Key: key}, Pipelines: pipelines}
}

// Several teams share a bucket, each with its own prefix.
func TestAMarkerStartsThePipelinesOfItsPrefixAlone(t *testing.T) {
	t.Parallel()
	teams := []bridge.Rule{allow("data/etl", "penguin", "fish"), allow("data/ads", "taxi"), allow("data/ads/shared", bridge.AnyPipeline)}
	for name, c := range map[string]struct {
		rules           []bridge.Rule
		key, pipeline   string
		option, refusal string
	}{
		"no rules":                       {nil, "etl/monday/_SUCCESS", "taxi", "", ""},
		"its own":                        {teams, "etl/monday/_SUCCESS", "penguin", "", ""},
		"its other":                      {teams, "etl/monday/_SUCCESS", "fish", "", ""},
		"another team's":                 {teams, "etl/monday/_SUCCESS", "taxi", "", "that --allow lists for s3://data/etl: penguin, fish"},
		"a prefix that begins alike":     {teams, "etl-too/monday/_SUCCESS", "penguin", "", "s3://data/etl-too/monday"},
		"a prefix of no team":            {teams, "monday/_SUCCESS", "penguin", "", "s3://data/monday"},
		"any, of the narrower prefix":    {teams, "ads/shared/monday/_SUCCESS", "penguin", "", ""},
		"the wider prefix":               {teams, "ads/monday/_SUCCESS", "penguin", "", "that --allow lists for s3://data/ads: taxi"},
		"not named, and the default":     {teams, "etl/monday/_SUCCESS", "", "penguin", ""},
		"not named, and another default": {teams, "etl/monday/_SUCCESS", "", "taxi", "that --allow lists for s3://data/etl: penguin, fish"},
		"the whole bucket":               {[]bridge.Rule{allow("data", "penguin")}, "monday/_SUCCESS", "penguin", "", ""},
		"another bucket":                 {[]bridge.Rule{allow("other", "penguin")}, "monday/_SUCCESS", "penguin", "", "s3://data/monday"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, bridge.Options{Allow: c.rules, Pipeline: c.option})
			w.folder(strings.TrimSuffix(c.key, "/_SUCCESS"))
			body := ""
			if c.pipeline != "" {
				body = `{"pipeline": "` + c.pipeline + `"}`
			}
			w.put(c.key, body)
			w.notify(w.message(c.key, "1", nil))
			w.drain()
			if c.refusal == "" {
				w.only()
				return
			}
			w.wantDeadLetter(c.refusal, "pipeline")
			reason := w.dead()[0].Reason
			for _, named := range []string{"s3://data/" + c.key, c.pipeline, c.option} {
				if reason.Kind != events.FailureInput || !strings.Contains(reason.Message, named) {
					t.Errorf("%+v does not name %s", reason, named)
				}
			}
		})
	}
}

func TestRulesAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"s3://data/etl=penguin,fish": "s3://data/etl=penguin,fish",
		"s3://data/day=1/=penguin":   "s3://data/day=1/=penguin",
		"s3://data=*":                "s3://data=*",
		"s3://data/etl":              "",
		"data/etl=penguin":           "",
	} {
		rule, err := bridge.ParseRule(text)
		if (err != nil) != (want == "") || err == nil && rule.String() != want {
			t.Errorf("%s: got %s, %v, want %q", text, rule, err, want)
		}
	}
}

func TestRulesAreChecked(t *testing.T) {
	t.Parallel()
	for want, rules := range map[string][]bridge.Rule{
		"at least one pipeline":     {allow("data/etl")},
		"1 to 63 characters of a-z": {allow("data/etl", "A B")},
		"bucket":                    {allow("", "penguin")},
		"duplicate prefix":          {allow("data/etl", "penguin"), allow("data/etl", "taxi")},
	} {
		if _, err := bridge.New(nil, nil, bridge.Options{Allow: rules}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", rules, err, want)
		}
	}
}
