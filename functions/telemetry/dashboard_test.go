package telemetry_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// Files of the dashboard and of the alert rules.
const (
	dashboardFile = "../../infra/grafana/stoker.json"
	alertsFile    = "../../infra/grafana/alerts.yaml"
)

// queries returns the queries of the dashboard's panels and of the rules.
func queries(t *testing.T) (all []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	read(t, dashboardFile, func(text []byte) error { return json.Unmarshal(text, &dashboard) })
	read(t, alertsFile, func(text []byte) error { return yaml.Unmarshal(text, &rules) })
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			all = append(all, target.Expr)
		}
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			all = append(all, rule.Expr)
		}
	}
	return all
}

func read(t *testing.T, path string, into func([]byte) error) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = into(text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var (
	sample   = regexp.MustCompile(`(?m)^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? `)
	label    = regexp.MustCompile(`([a-z_]\w*)(?:=~|!~|!=|=)"[^"]*"`)
	metric   = regexp.MustCompile(`\b(?:stoker|messaging|go|process)_[a-z0-9_]+(\{[^}]*\})?`)
	grouping = regexp.MustCompile(`by \(([^)]*)\)`)
)

// summed matches queries that add up the values of one queue over processes.
var summed = regexp.MustCompile(`sum *(by \([^)]*\) *)?\(stoker_queue_`)

// Labels that Prometheus itself adds to what it scrapes.
var added = []string{"job", "instance"}

// The program serves every metric and label that the dashboard and the alerts query.
func TestDashboardAndAlertsQueryExistingMetrics(t *testing.T) {
	t.Parallel()
	labels := map[string]known{} // by metric
	for _, line := range sample.FindAllStringSubmatch(scrapeAll(t), -1) {
		for _, pair := range label.FindAllStringSubmatch(line[2], -1) {
			labels[line[1]] = append(labels[line[1]], pair[1])
		}
		labels[line[1]] = append(labels[line[1]], added...)
	}
	asked := queries(t)
	if len(asked) < 15 {
		t.Fatalf("only %d queries found", len(asked))
	}
	for _, query := range asked {
		if summed.MatchString(query) {
			t.Errorf("%s: several processes report the same queue, and it counts once", query)
		}
		found := metric.FindAllString(grouping.ReplaceAllString(query, ""), -1)
		if len(found) == 0 {
			t.Errorf("%s: queries no metric", query)
		}
		for _, m := range found {
			name, selector, _ := strings.Cut(m, "{")
			has, there := labels[name]
			if !there {
				t.Errorf("%s: there is no metric %s", query, name)
				continue
			}
			for _, pair := range label.FindAllStringSubmatch(selector, -1) {
				has.has(t, query, name, pair[1])
			}
			for _, group := range grouping.FindAllStringSubmatch(query, -1) {
				for _, by := range strings.Split(group[1], ", ") {
					has.has(t, query, name, by)
				}
			}
		}
	}
}

// known are the labels of a metric.
type known []string

func (k known) has(t *testing.T, query, metric, label string) {
	t.Helper()
	if !slices.Contains(k, label) {
		t.Errorf("%s: %s has no label %s", query, metric, label)
	}
}
