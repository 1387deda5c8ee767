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

// meantForBridge returns an *events.Invalid if a name of metadata that the bridge does not read was probably meant for it: the bridge
// would publish an event without what its producer said. Other names are those of other tools.
func meantForBridge(name string) error {
	expected := "one of " + strings.Join(inMetadata, ", ") + " in a marker's metadata"
	member := strings.ReplaceAll(name, "-", "_") // headers have hyphens where JSON has underscores
	if slices.Contains(members(), member) {
		return &events.Invalid{Field: "metadata." + name, Expected: expected + "; " + member + " is read in its body alone", Got: name}
	}
	if near := nearestMember(member); near != "" {
		return &events.Invalid{Field: "metadata." + name, Expected: expected, Got: fmt.Sprintf("%s; did you mean %s?", name, near)}
	}
	if strings.HasPrefix(name, ownPrefix) {
		return &events.Invalid{Field: "metadata." + name, Expected: expected, Got: name}
	}
	return nil
}

// nearestMember is the member of markers that a word misses by a typing error or two, or "". One error is allowed in a short name: two
// would make "source" a mistyped "score".
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
