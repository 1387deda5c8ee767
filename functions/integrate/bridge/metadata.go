package bridge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
)

// ownPrefix begins the names of metadata that no other tool uses.
const ownPrefix = "stoker"

// meantForBridge returns an *events.Invalid if metadata that the bridge does not read was probably
// meant for it: otherwise the bridge would publish an event without what its producer set. Other
// names are those of other tools.
func meantForBridge(name string) error {
	expected := "one of " + strings.Join(inMetadata, ", ") + " in a marker's metadata"
	member := strings.ReplaceAll(name, "-", "_") // headers have hyphens where JSON has underscores
	if slices.Contains(members(), member) {
		return &events.Invalid{Field: "metadata." + name, Expected: expected + "; " + member + " is read only in its body", Got: name}
	}
	if near := nearestMember(member); near != "" {
		return &events.Invalid{Field: "metadata." + name, Expected: expected, Got: fmt.Sprintf("%s; did you mean %s?", name, near)}
	}
	if strings.HasPrefix(name, ownPrefix) {
		return &events.Invalid{Field: "metadata." + name, Expected: expected, Got: name}
	}
	return nil
}

// nearestMember returns the member of markers that a word misses by one or two typing errors, or
// "". In a short name only one is allowed: with two, "source" would be a mistyped "score".
func nearestMember(word string) (nearest string) {
	best := 3
	for _, name := range members() {
		allowed := 1
		if len(name) >= 8 {
			allowed = 2
		}
		if d := spelling.Distance(word, name); d <= allowed && d < best {
			nearest, best = name, d
		}
	}
	return nearest
}
