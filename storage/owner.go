package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Part says what an object of an execution is for.
type Part string

// The parts of an execution.
const (
	PartCommit     Part = "commit"     // which attempt won; the execution's own
	PartPointer    Part = "pointer"    // which checkpoint is the newest; the execution's own
	PartCheckpoint Part = "checkpoint" // files of one attempt's checkpoint
	PartPaper      Part = "paper"      // an attempt's manifest or log
	PartOutput     Part = "output"     // a file of an artifact
)

// OwnerOf says from an object's address alone which execution, and where there is one which attempt, it belongs to, and as
// what. ok is false for every object below root that Stoker has not laid out like this. An output looks like what others may
// have put there too: it is Stoker's only if its execution has objects of another part.
func OwnerOf(root, object Ref) (owner Place, part Part, ok bool) {
	below, ok := object.Below(root)
	if !ok {
		return Place{}, "", false
	}
	elem := strings.Split(below, "/")
	for i := range elem {
		if elem[i] == systemFolder && i+2 < len(elem) && isHex64(elem[i+1]) {
			owner, part, ok = systemPart(elem[i+2:])
			owner.Root, owner.Execution = root.Join(strings.Join(elem[:i], "/")), digestPrefix+elem[i+1]
			return owner, part, ok
		}
	}
	at := slices.IndexFunc(elem, isHex64)
	if at < 1 || at+2 >= len(elem) || !isName(elem[at-1]) || !isName(elem[at+1]) {
		return Place{}, "", false
	}
	component := root.Join(strings.Join(elem[:at-1], "/"))
	return Place{Root: component, Execution: digestPrefix + elem[at], Attempt: elem[at+1]}, PartOutput, true
}

// systemPart reads what stands below <root>/.system/<execution>/.
func systemPart(elem []string) (Place, Part, bool) {
	switch {
	case len(elem) == 1 && elem[0] == "commit.json":
		return Place{}, PartCommit, true
	case len(elem) == 1 && elem[0] == "checkpoint.json":
		return Place{}, PartPointer, true
	case len(elem) > 2 && elem[0] == "checkpoints" && isName(elem[1]):
		return Place{Attempt: elem[1]}, PartCheckpoint, true
	case len(elem) > 1 && elem[0] != "checkpoints" && isName(elem[0]):
		return Place{Attempt: elem[0]}, PartPaper, true
	}
	return Place{}, "", false
}

// PlaceOf finds the attempt that made an artifact of Stoker's own, from the artifact's address alone. ok is false for every
// other address.
func PlaceOf(artifact Ref) (place Place, ok bool) {
	place, _, ok = placeOf(artifact)
	return place, ok
}

// CommitOf reads the commit of an execution as it stands, without a look at what it stands for. ErrNotFound: there is none.
func CommitOf(ctx context.Context, store Store, root Ref, execution string) (Commit, error) {
	place := Place{Root: root, Execution: execution}
	if err := place.Validate(); err != nil {
		return Commit{}, fmt.Errorf("read commit: %w", err)
	}
	return readCommit(ctx, store, place)
}
