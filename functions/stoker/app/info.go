package app

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

// Roles that are not in package access.
const (
	NoRole  access.Role = "none" // for commands that need no credentials
	AnyRole access.Role = "any"  // for commands that need only permissions that every role has
)

// Forms of a document that -o json prints.
const (
	Object = "object"
	List   = "list"
)

// Info is a command's description of itself. It is kept as annotations of the command, and read by
// the help, by errors and by tests.
type Info struct {
	// The role with the fewest permissions that can run it; an operator may run everything but
	// long-running commands.
	Role access.Role

	// Form of the document that -o json prints; "" if there is none, or none is promised.
	Output   string
	With     string // arguments with which it prints that document
	Names    string // what -o name prints of each line of a list; "": the lines have no names
	Always   string // names in each object of the document
	Optional string // names that are left out if they do not apply
}

const prefix = "stoker.dev/"

// Annotations returns i as annotations of a command.
func (i Info) Annotations() map[string]string {
	return map[string]string{
		prefix + "role": string(i.Role), prefix + "output": i.Output, prefix + "with": i.With,
		prefix + "always": i.Always, prefix + "optional": i.Optional, prefix + "names": i.Names,
	}
}

// InfoOf returns a command's description; its Role is "" if it has none.
func InfoOf(cmd *cobra.Command) Info {
	value := func(name string) string { return cmd.Annotations[prefix+name] }
	return Info{
		Role: access.Role(value("role")), Output: value("output"), With: value("with"),
		Always: value("always"), Optional: value("optional"), Names: value("names"),
	}
}

// Path returns the words of a command without the program's name.
func Path(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// Infos returns what each command below root that needs credentials states of itself, by the
// command's path.
func Infos(root *cobra.Command) map[string]Info {
	infos := map[string]Info{}
	for _, cmd := range AllCommands(root) {
		if i := InfoOf(cmd); i.Role != "" && i.Role != NoRole {
			infos[Path(cmd)] = i
		}
	}
	return infos
}

// outputHelp returns the description of a command's document, for its help.
func (i Info) outputHelp() string {
	kind := map[string]string{Object: "an object", List: "a list of objects"}[i.Output]
	if i.With != "" && strings.Contains(i.With, "--") {
		kind += " (with " + i.With + ")"
	}
	text := fmt.Sprintf("\n\nOutput of -o json and -o yaml: %s.\n  always         %s", kind, i.Always)
	if i.Optional != "" {
		text += "\n  if applicable  " + i.Optional
	}
	if i.Names != "" {
		text += "\n-o wide shows all columns, -o name prints " + i.Names + " of each line."
	}
	return text
}

// AddOutputHelp adds to the help of each command the document that it prints for programs.
func AddOutputHelp(root *cobra.Command) {
	for _, cmd := range AllCommands(root) {
		if i := InfoOf(cmd); i.Output != "" {
			if cmd.Long == "" {
				cmd.Long = cmd.Short + "."
			}
			cmd.Long += i.outputHelp()
		}
	}
}

// AddRole adds to an error for missing permissions the role whose credentials can run the command.
func AddRole(cmd *cobra.Command, err error) error {
	role := InfoOf(cmd).Role
	if flag := cmd.Flags().Lookup("http"); role == access.Bridge && flag != nil && flag.Changed {
		role = access.Upstream // it publishes, and reads no bucket
	}
	if role == "" || role == NoRole || role == AnyRole || !errors.Is(err, events.ErrRefused) || !strings.Contains(err.Error(), "not permitted to ") {
		return err
	}
	return fmt.Errorf("%w: this needs credentials of the role %s: `stoker config` shows the credentials in use, `stoker access nats %s` prints the permissions to configure on the server%s",
		err, role, role, otherCause(err.Error()))
}

// refusedSubject finds the subject in an error for missing permissions.
var refusedSubject = regexp.MustCompile(`not permitted to (?:publish|subscribe) to (\S+?)[,:]?(?:\s|$)`)

// otherCause returns why credentials of the right role may be refused a subject: they may be
// limited to some pipelines and kinds, or to a domain of JetStream.
func otherCause(refusal string) string {
	match := refusedSubject.FindStringSubmatch(refusal)
	if match == nil {
		return ""
	}
	subject := match[1]
	if kind, pipeline, ok := events.ParseEventKind(subject); ok {
		return fmt.Sprintf("; if they are of that role, they are limited to other pipelines or kinds of events than %s of %s", kind, pipeline)
	}
	if strings.HasPrefix(subject, "$JS.API.") {
		return "; if they are of that role, their account may use JetStream in a domain, which NATS_JETSTREAM_DOMAIN names"
	}
	return ""
}
