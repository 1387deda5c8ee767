// Written into a copy of functions/stoker by infra/archtest/arch: SIGUSR1 clears the counters of coverage, SIGUSR2 writes them.
package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"runtime/coverage"
	"syscall"
)

func init() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for s := range signals {
			if err := answerTrace(s, os.Getenv("ARCH_COUNTERS")); err != nil {
				panic(err)
			}
		}
	}()
}

// answerTrace leaves a file that says that it is done.
func answerTrace(s os.Signal, dir string) error {
	if s == syscall.SIGUSR1 {
		if err := coverage.ClearCounters(); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "cleared"), nil, 0o600)
	}
	if err := coverage.WriteMetaDir(dir); err != nil {
		return err
	}
	if err := coverage.WriteCountersDir(dir); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "written"), nil, 0o600)
}
