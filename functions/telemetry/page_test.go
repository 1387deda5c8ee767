package telemetry_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

//go:generate go test -run ^TestThePageOfMetricsIsCurrent$ -update .

var update = flag.Bool("update", false, "write the page of metrics anew")

const metricsPage = "../../infra/docs/metrics.md"

const metricsHead = `# Metrics and alerts

` + "`--listen :9090` (`STOKER_LISTEN`)" + ` makes a process serve its metrics for Prometheus at
` + "`/metrics`" + ` ([operating](operating.md#observability)). The console serves them at its own address,
with its token. No label names a run, a job or a model, so the number of time series does not grow
with the work.

Several processes report the same queue: take the ` + "`max`" + `, not the sum. A queue's metrics come
from the bus, all others from the process alone. Dispatchers also report the number of workers of
each queue. A queue exists once a worker of its class has run: until then the console's overview
alone shows that jobs of the class wait.

The metrics ` + "`go_*` and `process_*`" + ` are those of every Go program. A metric appears once there is
something to count.

This page is made from the program and from [the rules](../grafana/alerts.yaml).

`

// Labels of a histogram's series, and of the library, which the page leaves out.
var hiddenLabels = []string{"le", "otel_scope_name", "otel_scope_schema_url", "otel_scope_version"}

var (
	metricHelp = regexp.MustCompile(`(?m)^# HELP ((?:stoker|messaging)_\w+) (.*)$`)
	metricType = regexp.MustCompile(`(?m)^# TYPE ((?:stoker|messaging)_\w+) (\w+)$`)
	series     = regexp.MustCompile(`^(?:_bucket|_sum|_count)?$`)
)

// The page has every metric that the program serves, and every alert.
func TestThePageOfMetricsIsCurrent(t *testing.T) {
	t.Parallel()
	want := metricsHead + metricsTable(scrapeAll(t)) + alertsTable(t)
	if *update {
		if err := os.WriteFile(metricsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(metricsPage)
	if err != nil || string(got) != want {
		t.Errorf("infra/docs/metrics.md is not current (%v): go generate ./functions/telemetry", err)
	}
}

func metricsTable(scraped string) string {
	types, labels := map[string]string{}, map[string]map[string]bool{}
	for _, line := range metricType.FindAllStringSubmatch(scraped, -1) {
		types[line[1]], labels[line[1]] = line[2], map[string]bool{}
	}
	for _, line := range sample.FindAllStringSubmatch(scraped, -1) {
		for name := range types {
			if rest, ok := strings.CutPrefix(line[1], name); ok && series.MatchString(rest) {
				for _, pair := range label.FindAllStringSubmatch(line[2], -1) {
					labels[name][pair[1]] = true
				}
			}
		}
	}
	text := "## Metrics\n\n| metric | type | labels | what it is |\n|---|---|---|---|\n"
	help := metricHelp.FindAllStringSubmatch(scraped, -1)
	slices.SortFunc(help, func(a, b []string) int {
		// Those of Stoker before those of messaging.
		return cmp.Or(strings.Compare(b[1][:1], a[1][:1]), strings.Compare(a[1], b[1]))
	})
	for _, line := range help {
		var shown []string
		for _, name := range slices.Sorted(maps.Keys(labels[line[1]])) {
			if !slices.Contains(hiddenLabels, name) {
				shown = append(shown, "`"+name+"`")
			}
		}
		text += fmt.Sprintf("| `%s` | %s | %s | %s |\n", line[1], types[line[1]], strings.Join(shown, ", "), line[2])
	}
	return text
}

func alertsTable(t *testing.T) string {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	read(t, alertsFile, func(text []byte) error { return yaml.Unmarshal(text, &rules) })
	text := "\n## Alerts\n\n| alert | severity | after | when | what to do |\n|---|---|---|---|---|\n"
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			expr := strings.ReplaceAll(rule.Expr, "|", `\|`)
			text += fmt.Sprintf("| `%s` | %s | %s | `%s` | %s |\n", rule.Alert, rule.Labels["severity"], rule.For, expr, rule.Annotations["description"])
		}
	}
	return text
}
