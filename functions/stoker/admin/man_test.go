package admin

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestAManPageIsTheHelpOfItsCommand(t *testing.T) {
	t.Parallel()
	root := &cobra.Command{Use: "tool", Version: "v1"}
	cmd := &cobra.Command{
		Use: "do FILE", Short: "Do it", Example: "  tool do -", Run: func(*cobra.Command, []string) {},
		Long: "Does it.\n.hidden files too, with C:\\path.\n\n  indented",
	}
	cmd.Flags().StringP("mode", "m", "/home/me", "the `way`")
	root.AddCommand(cmd)
	got := manPage(cmd, "2026-11-23")
	want := `.TH "TOOL-DO" 1 "2026-11-23" "stoker v1" Stoker
.SH NAME
tool\-do \- Do it
.SH SYNOPSIS
\fBtool do FILE [flags]\fR
.SH DESCRIPTION
Does it.
\&.hidden files too, with C:\epath.
.PP
.EX
  indented
.EE
.SH OPTIONS
.TP
\fB\-m, \-\-mode\fR \fIway\fR
the way
.SH EXAMPLES
.EX
  tool do \-
.EE
.SH SEE ALSO
\fBtool\fR(1)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.Contains(got, "/home/me") {
		t.Error("the page has a default of this machine")
	}
}
