package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// buildInfo says which binary this is.
type buildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersion(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which binary this is",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			info := currentBuild()
			return app.print(info, func(w io.Writer) {
				fmt.Fprintf(w, "stoker %s (%s, %s/%s)\n", info.Version, info.Go, info.OS, info.Arch)
			})
		},
	}
}

// commit is set by the linker, where the toolchain doesn't look for it itself: what is built of one commit is then the same everywhere.
var commit string

func currentBuild() buildInfo {
	info := buildInfo{Version: version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range build.Settings {
			if setting.Key == "vcs.revision" && info.Commit == "" {
				info.Commit = setting.Value
			}
		}
	}
	return info
}
