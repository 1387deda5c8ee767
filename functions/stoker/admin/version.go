package admin

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/stoker/app"
)

// buildInfo describes this binary.
type buildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersion(a *app.App) *cobra.Command {
	var licenses bool
	cmd := &cobra.Command{
		Use:     "version",
		GroupID: app.Operate,
		Annotations: app.Info{Role: app.NoRole, Output: app.Object,
			Always: "version go os arch", Optional: "commit",
		}.Annotations(),
		Short:   "Print the version",
		Example: "  stoker version",
		Args:    app.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if licenses {
				_, err := io.WriteString(a.Stdout, a.ThirdParty)
				return err
			}
			info := currentBuild(a)
			return a.Print(info, func(w io.Writer) {
				fmt.Fprintf(w, "stoker %s (%s, %s/%s)\n", info.Version, info.Go, info.OS, info.Arch)
			})
		},
	}
	cmd.Flags().BoolVar(&licenses, "licenses", false, "print the licenses and notices of the linked libraries, as text")
	return cmd
}

func currentBuild(a *app.App) buildInfo {
	info := buildInfo{Version: a.Version, Commit: a.Commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range build.Settings {
			if setting.Key == "vcs.revision" && info.Commit == "" {
				info.Commit = setting.Value
			}
		}
	}
	return info
}
