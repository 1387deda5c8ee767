package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// deed is how to run a command that needs a role's key.
type deed struct {
	args string // $ROLE is the role that runs it
	// It keeps running: it works once it prints this, or, if this is empty and stays is true, once
	// it is ready.
	until string
	stays bool          // until it is interrupted
	moves bool          // it changes data that the others read, so they run first
	ends  int           // the exit status with a sufficient key
	also  []access.Role // roles that may run it too, or at least the part that the bus checks
}

// everybody may run commands that don't use the bus.
var everybody = access.Roles()

// triedCommands returns how to run the commands that need a key, for the data of roles.txtar. A
// command that needs no more than deedOf has no entry.
func triedCommands() map[string]deed {
	const console, dispatcher, worker, bridge, exporter = access.Console, access.Dispatcher, access.Worker, access.Bridge, access.Exporter
	also := func(roles ...access.Role) []access.Role { return append(roles, access.Operator) }
	return map[string]deed{
		"worker":         {stays: true, args: "-v --listen 127.0.0.1:0"},
		"dispatch":       {stays: true, args: "-v --listen 127.0.0.1:0"},
		"bridge":         {stays: true, args: "-v --listen 127.0.0.1:0"},
		"notify":         {stays: true, args: "-v --listen 127.0.0.1:0 --url http://127.0.0.1:1"},
		"console":        {stays: true, args: "-v --console-listen 127.0.0.1:0", also: also(bridge, dispatcher, exporter, worker)},
		"watch":          {stays: true, args: "--all --run monday", until: "model.trained", also: also(bridge, dispatcher, exporter, worker)},
		"lineage export": {args: "--to -", also: also(bridge, console, dispatcher, worker)},
		"publish":        {args: "transform.json --kind transform.ready --pipeline penguin --run monday", also: also(bridge)},
		// Uses only the store.
		"upload":       {args: "events s3://stoker/events-$ROLE", also: everybody},
		"inspect":      {args: "s3://stoker/penguin-data/schema", also: everybody},
		"schema infer": {args: "s3://stoker/penguin-data/examples", also: everybody},
		"doctor":       {args: "--quick", also: everybody},

		"runs":           {also: also(bridge, dispatcher)},
		"runs show":      {args: "monday", also: also(exporter)},
		"pipelines":      {also: also(bridge, dispatcher, exporter)},
		"pipelines list": {also: also(bridge, dispatcher, exporter)},
		"pipelines show": {args: "penguin", also: also(bridge, dispatcher, exporter)},
		"pipelines remove": { // which the previous role may have done
			moves: true, args: "$ROLE-gone",
			ends: exit.Missing, also: also(dispatcher, console, exporter, worker),
		},
		"pipelines rollback": { // to the revision that is applied
			moves: true, args: "penguin 1", also: also(bridge, dispatcher, console, exporter, worker),
		},
		"runs rerun":     {moves: true, args: "monday --as again-$ROLE"},
		"models":         {also: also(bridge, dispatcher, exporter, worker)},
		"models pull":    {args: "penguin --run monday --to pulled-$ROLE", also: also(bridge, dispatcher, exporter, worker)},
		"logs":           {args: "monday"},
		"lineage":        {args: "penguin", also: also(exporter)},
		"studies":        {also: also(exporter, worker)},
		"studies list":   {also: also(exporter, worker)},
		"studies show":   {args: "penguin/monday", also: also(exporter, worker)},
		"studies best":   {args: "penguin/monday", also: also(exporter, worker)},
		"studies export": {args: "penguin/monday --csv", also: also(exporter, worker)},
		"workers":        {also: also(dispatcher)},
		"workers list":   {also: also(dispatcher)},
		"workers show":   {args: "nobody", ends: exit.Missing, also: also(dispatcher)},
		"dead":           {}, "dead list": {}, "dead show": {args: "1"},

		"streams apply": {},
		"apply":         {moves: true, args: "$ROLE-new.yaml"},
		"cancel":        {moves: true, args: "sunday", also: also(dispatcher)},
		"pause":         {moves: true, args: "third", also: also(dispatcher)},
		"resume":        {moves: true, args: "other", also: also(dispatcher)},
		"dead retry":    {moves: true, args: "1"},
		"dead drop":     {moves: true, args: "2"},
		"replay":        {moves: true, args: "--run monday --force"},
		"reproduce":     {args: "penguin"},
		"gc":            {also: also(console, dispatcher)},
		"studies stop": { // the answer to a reader about a search that has ended
			args: "penguin/monday", ends: exit.Failed, also: also(console, exporter),
		},
	}
}

// deedOf returns how to run a command that triedCommands does not list: with the arguments of its
// documented output. The bus must refuse it with the key of a notifier, which may not read runs.
func deedOf(i app.Info) deed {
	words := strings.NewReplacer("RUN", "monday", "PIPELINE", "penguin", "STUDY", "penguin/monday", "MODEL", "penguin", "NUMBER", "1")
	others := slices.DeleteFunc(access.Roles(), func(r access.Role) bool { return r == access.Notifier })
	return deed{args: words.Replace(i.With), also: others}
}

// attempt is a command that a role runs, and its result.
type attempt struct {
	deed
	command string
	role    access.Role
	status  int
	said    *heard
}

// roletries runs each command that needs a role's key: with insufficient keys, and then with its
// own.
func roletries(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: roletries")
	}
	var look, move, not []*attempt
	infos, tried := app.Infos(testRoot()), triedCommands()
	for command, info := range infos {
		role := info.Role
		how, listed := tried[command]
		if !listed {
			how = deedOf(info)
		}
		for i, as := range access.Roles() {
			a := &attempt{deed: how, command: command, role: as, said: &heard{}}
			switch {
			case as == role, role == access.Console && as == access.Operator, role == app.AnyRole:
				if how.moves {
					move = append(move, a)
				} else {
					look = append(look, a)
				}
			case !slices.Contains(how.also, as) && as != access.Operator && (i+len(command))%2 == 0:
				// Half of them are enough for one test.
				not = append(not, a)
			}
		}
	}
	for _, a := range atOnce(ts, not) {
		owner := string(infos[a.command].Role)
		if text := a.said.String(); a.status != exit.Away || !strings.Contains(text, "not permitted to ") || !strings.Contains(text, "this needs credentials of the role "+owner+": ") {
			ts.Logf("%s as %s: status %d, want %d and a refusal that says whose key may:\n%s", a.command, a.role, a.status, exit.Away, text)
			defer ts.Fatalf("a command does not say what it may not")
		}
	}
	for _, a := range slices.Concat(atOnce(ts, look), atOnce(ts, move)) {
		if text := a.said.String(); a.status != a.ends || strings.Contains(text, "not permitted to ") && a.command != "doctor" {
			ts.Logf("%s as %s: status %d\n%s", a.command, a.role, a.status, text)
			defer ts.Fatalf("a role may not do its work")
		}
	}
}

// atOnce runs some concurrently.
func atOnce(ts *testscript.TestScript, all []*attempt) []*attempt {
	const slots = 4
	var running sync.WaitGroup
	free := make(chan bool, slots)
	for _, a := range all {
		free <- true
		running.Go(func() {
			defer func() { <-free }()
			a.run(ts)
		})
	}
	running.Wait()
	return all
}

// patience limits the time of each command. A rejected command ends long before: it does not wait.
const patience = 8 * time.Minute

func (a *attempt) run(ts *testscript.TestScript) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	line := os.Expand(a.command+" "+a.args+" --config-file $ROLE.yaml", func(name string) string {
		if name == "ROLE" {
			return string(a.role)
		}
		return ts.Getenv(name)
	})
	// Testscript puts it on the path.
	cmd := exec.CommandContext(ctx, "stoker", strings.Fields(line)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "XDG_DATA_HOME", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Stdout, cmd.Stderr = a.said, a.said
	if err := cmd.Start(); err != nil {
		a.status = -1
		fmt.Fprintln(a.said, err)
		return
	}
	var watching sync.WaitGroup
	if a.stays {
		watching.Go(func() { a.interruptOnce(ctx, cancel) })
	}
	if ended, ok := errors.AsType[*exec.ExitError](cmd.Wait()); ok {
		a.status = ended.ExitCode()
	}
	if a.stays && a.status == exit.OK && !a.said.works() {
		a.status = -1 // it ended without an error, but only because its time was over
	}
	cancel()
	watching.Wait()
}

// interruptOnce interrupts it once it works.
func (a *attempt) interruptOnce(ctx context.Context, interrupt func()) {
	for ctx.Err() == nil {
		if a.works() {
			a.said.sayWorks()
			interrupt()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

var serving = regexp.MustCompile(`(?:served" address=|console:? +http://)([0-9.:]+)`)

func (a *attempt) works() bool {
	text := a.said.String()
	if a.until != "" {
		return strings.Contains(text, a.until)
	}
	at := serving.FindStringSubmatch(text)
	if at == nil {
		return false
	}
	answer, err := http.Get("http://" + at[1] + "/readyz")
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// heard is the output of a running program.
type heard struct {
	mu      sync.Mutex
	text    bytes.Buffer
	working bool
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

func (h *heard) sayWorks() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.working = true
}

func (h *heard) works() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.working
}
