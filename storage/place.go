package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Place says where one attempt at an execution keeps its objects. The layout is defined here only:
//
//	<root>/<output key>/<execution>/<attempt>/...             the artifact's files
//	<root>/.system/<execution>/<attempt>/manifest.json        the list of them
//	<root>/.system/<execution>/<attempt>/log.txt              the module's output
//	<root>/.system/<execution>/commit.json                    which attempt won
//	<root>/.system/<execution>/checkpoint.json                which checkpoint to resume from
//	<root>/.system/<execution>/checkpoints/<attempt>/<n>/...  an attempt's n-th checkpoint
//
// In folder names the execution is plain hex; everywhere else it is written sha256:<hex>.
type Place struct {
	Root      Ref    // of the component: s3://artifacts/penguin/Trainer
	Execution string // sha256:<64 hex digits>
	Attempt   string // always unique; empty if the place is that of the execution
}

const (
	// Next to artifacts, never inside; TFX has a folder of this name there.
	systemFolder = ".system"
	commitFile   = "commit.json"
	pointerFile  = "checkpoint.json"
	// Next to the folders of attempts, so no attempt may have this name.
	checkpointsFolder = "checkpoints"
)

// Output returns the folder of the artifact under a TFX output key: model, model_run, ...
func (p Place) Output(key string) Ref { return p.Root.Join(key, executionHex(p.Execution), p.Attempt) }

// Manifest returns the address of the attempt's manifest.
func (p Place) Manifest() Ref { return p.system().Join(p.Attempt, "manifest.json") }

// Log returns the address of the output of the attempt's module.
func (p Place) Log() Ref { return p.system().Join(p.Attempt, "log.txt") }

// Part returns the place of a part of the execution, which has checkpoints of its own: a trial of a
// search.
func (p Place) Part(name string) Place {
	sum := sha256.Sum256([]byte(p.Execution + " " + name))
	p.Execution = digestPrefix + hex.EncodeToString(sum[:])
	return p
}

// Checkpoint returns the folder of a checkpoint of the execution. Files that had not changed since
// an earlier checkpoint are in the folder of that.
func (p Place) Checkpoint(c Checkpoint) Ref { return p.checkpoint(c.Attempt, c.Number) }

// Commit returns the address of the execution's commit.
func (p Place) Commit() Ref { return p.system().Join(commitFile) }

// pointer returns the address of the object that names the newest checkpoint.
func (p Place) pointer() Ref { return p.system().Join(pointerFile) }

// checkpoints returns the folder of all checkpoints of the execution; checkpoint that of one of
// them.
func (p Place) checkpoints() Ref { return p.system().Join(checkpointsFolder) }

func (p Place) checkpoint(attempt string, number int) Ref {
	return p.checkpoints().Join(attempt, fmt.Sprintf("%06d", number))
}

func (p Place) system() Ref { return p.Root.Join(systemFolder, executionHex(p.Execution)) }

// Validate checks all parts; Attempt may be empty.
func (p Place) Validate() error {
	if err := p.Root.Validate(); err != nil {
		return err
	}
	if !isHex64(executionHex(p.Execution)) {
		return fmt.Errorf("execution %q: expected sha256: and 64 hex digits", p.Execution)
	}
	if p.Attempt != "" && (!isName(p.Attempt) || p.Attempt == checkpointsFolder) {
		return fmt.Errorf("attempt %q: expected letters, digits, - and _, and not %q", p.Attempt, checkpointsFolder)
	}
	return nil
}

func (p Place) validateAttempt() error {
	if p.Attempt == "" {
		return fmt.Errorf("execution %s: attempt missing", p.Execution)
	}
	return p.Validate()
}

// PlaceOf returns the place of the attempt that made an artifact, from the artifact's address
// alone. ok is false if the address is not that of an artifact of Stoker.
func PlaceOf(artifact Ref) (place Place, ok bool) {
	place, _, ok = placeOf(artifact)
	return place, ok
}

// ExecutionAt returns the place of the execution that made an artifact, from the artifact's URI:
// PlaceOf without the attempt. Two artifacts of one execution have equal places. For any other
// address ok is false and the place is zero.
func ExecutionAt(uri string) (execution Place, ok bool) {
	ref, err := ParseRef(uri)
	if err != nil {
		return Place{}, false
	}
	execution, ok = PlaceOf(ref)
	execution.Attempt = ""
	return execution, ok
}

// placeOf returns the place and output key of an artifact of Stoker from its address alone. ok is
// false for any other address.
func placeOf(artifact Ref) (p Place, key string, ok bool) {
	elem := strings.Split(strings.TrimSuffix(artifact.Key, "/"), "/")
	n := len(elem)
	if n < 3 || !isHex64(elem[n-2]) || !isName(elem[n-1]) {
		return Place{}, "", false
	}
	root := Ref{Bucket: artifact.Bucket, Key: strings.Join(elem[:n-3], "/")}
	return Place{Root: root, Execution: digestPrefix + elem[n-2], Attempt: elem[n-1]}, elem[n-3], true
}

// Part is the purpose of an object of an execution.
type Part string

// The parts of an execution.
const (
	PartCommit     Part = "commit"     // which attempt won; the execution's own
	PartPointer    Part = "pointer"    // which checkpoint is the newest; the execution's own
	PartCheckpoint Part = "checkpoint" // files of one attempt's checkpoint
	PartPaper      Part = "paper"      // an attempt's manifest or log
	PartOutput     Part = "output"     // a file of an artifact
)

// OwnerOf returns, from an object's address alone, the execution and, if there is one, the attempt
// that the object belongs to, and its purpose. ok is false for an object below root that is not in
// Stoker's layout. An output may look like an object of others: it is Stoker's only if its
// execution has objects of another part.
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

// systemPart parses the path below <root>/.system/<execution>/.
func systemPart(elem []string) (Place, Part, bool) {
	switch {
	case len(elem) == 1 && elem[0] == commitFile:
		return Place{}, PartCommit, true
	case len(elem) == 1 && elem[0] == pointerFile:
		return Place{}, PartPointer, true
	case len(elem) > 2 && elem[0] == checkpointsFolder && isName(elem[1]):
		return Place{Attempt: elem[1]}, PartCheckpoint, true
	case len(elem) > 1 && elem[0] != checkpointsFolder && isName(elem[0]):
		return Place{Attempt: elem[0]}, PartPaper, true
	}
	return Place{}, "", false
}

const digestPrefix = "sha256:"

func executionHex(execution string) string { return strings.TrimPrefix(execution, digestPrefix) }

func isHex64(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

func isName(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return s != "" && len(s) <= 128 && strings.Trim(s, letters+"0123456789-_") == ""
}
