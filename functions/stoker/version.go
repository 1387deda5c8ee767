package main

import (
	_ "embed"
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

// thirdParty names the components that this binary is linked from, with their licences, sources and notices.
//
//go:generate go run ../../infra/licenses third_party.txt
//go:embed third_party.txt
var thirdParty string

func newVersion(app *app) *cobra.Command {
	var licenses bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which binary this is",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if licenses {
				_, err := io.WriteString(app.stdout, thirdParty)
				return err
			}
			info := currentBuild()
			return app.print(info, func(w io.Writer) {
				fmt.Fprintf(w, "stoker %s (%s, %s/%s)\n", info.Version, info.Go, info.OS, info.Arch)
			})
		},
	}
	cmd.Flags().BoolVar(&licenses, "licenses", false, "print the licences and notices of what it is made of, as text")
	return cmd
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
