package oracle

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"google.golang.org/grpc/metadata"
)

// What a process that knows Stoker adds to KerasTuner's messages, as metadata of its calls. One
// that doesn't has its trials all the same.
const (
	EpochKey   = "stoker-epoch"       // of UpdateTrial: its metrics are those at the end of an epoch, from 1, and no result
	FolderKey  = "stoker-folder-bin"  // of CreateTrial and EndTrial: where the tuner keeps trials, each in a folder of its own
	FailureKey = "stoker-failure-bin" // of EndTrial: why the trial failed, for which KerasTuner's wire has no field
)

// said is what the process says under a key.
func said(ctx context.Context, key string) string {
	values, _ := metadata.FromIncomingContext(ctx)
	return strings.Join(values.Get(key), "\n")
}

// epochOf is the epoch at whose end an update comes.
func epochOf(ctx context.Context) (int, bool) {
	epoch, err := strconv.Atoi(said(ctx, EpochKey))
	return epoch, err == nil && epoch > 0
}

// trialFolder is where a tuner keeps what a trial leaves: trial_0000 and so on. "" if it doesn't
// say: then nothing is kept for trials that go on from others, and they find what they need only
// where all tuners share their disk.
//
// The folder is one that the tuner's process names, and the worker would read and write there: a
// backend may say which are the process's own.
func (s *Server) trialFolder(ctx context.Context, trial string) string {
	project := said(ctx, FolderKey)
	if !filepath.IsAbs(project) {
		return ""
	}
	if owner, asks := s.backend.(interface{ Owns(folder string) bool }); asks && !owner.Owns(project) {
		return ""
	}
	return filepath.Join(project, "trial_"+trial)
}
