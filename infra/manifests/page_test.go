package manifests_test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/stoker-ml/stoker/infra/manifests"
)

// The values that the page shows are values of the chart.
func TestTheValuesOnThePageCanBeRendered(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/production.md")
	must(t, err)
	shown := 0
	for i, block := range strings.Split(string(page), "```") {
		text := dedent(block)
		if i%2 == 0 || !strings.HasPrefix(text, "bus:") && !strings.HasPrefix(text, "classes:") && !strings.HasPrefix(text, "notify:") && !strings.HasPrefix(text, "bridge:") {
			continue
		}
		shown++
		values := map[string]any{}
		must(t, yaml.UnmarshalStrict([]byte(text), &values))
		if _, err := manifests.Render(chart, values); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
	if shown != 5 {
		t.Errorf("the page shows %d values files, want 5", shown)
	}
}

// dedent takes the indent of a list's item from each line.
func dedent(block string) string {
	block = strings.Trim(block, "\n")
	indent := block[:len(block)-len(strings.TrimLeft(block, " "))]
	return strings.TrimSpace(strings.ReplaceAll("\n"+block, "\n"+indent, "\n"))
}
