// Command browser opens pages of the console in a headless Chromium and prints their faults as
// JSON: what axe finds serious or critical, errors on the console, violations of the page's own
// policy, and whether the page is wider than the window. With -times it measures how pages load
// instead. With -watch it stays on the first page, without loading it again, until the page has
// shown each of some words in turn, or no longer shows those that begin with an exclamation mark.
// With -press it enters the token, presses a button and reads the page that follows as soon as it
// shows the word of -watch. With -plain it reads pages with scripts switched off. With -step it
// does steps on one page, such as pressing keys (runSteps). With -brush it chooses ranges on the
// page of a study. With -evaluate it runs a script on the page, and prints what that returns.
// With -peers it starts the servers of other tools, and loads pages of theirs and of the console in
// turn.
//
//	browser -axe axe.min.js [-shots FOLDER] [-pictures FOLDER [-keep]] [-width PIXELS]... URL...
//	browser -times N URL...
//	browser -plain URL...
//	browser -brush URL
//	browser -evaluate FILE URL
//	browser -watch WORD [-watch WORD]... URL
//	browser [-width PIXELS] -step "VERB WHAT" [-step "VERB WHAT"]... URL
//	browser -press LABEL -token TOKEN -watch WORD [-shots FOLDER] URL
//	browser -peers FILE -times N -axe axe.min.js [-shots FOLDER] [-width PIXELS]...
//
// Its tests read the web site that task docs builds.
//
// It is a module of its own: chromedp and the protocol's types are no part of Stoker.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/chromedp/chromedp"
)

type words []string

func (w *words) String() string         { return strings.Join(*w, ",") }
func (w *words) Set(value string) error { *w = append(*w, value); return nil }

type numbers []int

func (n *numbers) String() string { return fmt.Sprint(*n) }
func (n *numbers) Set(value string) error {
	number, err := strconv.Atoi(value)
	*n = append(*n, number)
	return err
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		os.Exit(1)
	}
}

// options are the flags of the command.
type options struct {
	watch, steps, schemes     words
	widths                    numbers
	axe, shots, folder, peers string
	label, token, script      string
	times                     int
	keep, plain               bool
	brushed, outage           bool
}

func readOptions() (o options) {
	flag.StringVar(&o.axe, "axe", "", "axe.min.js of npm's axe-core")
	flag.StringVar(&o.shots, "shots", "", "folder for pictures; none: no pictures")
	flag.StringVar(&o.folder, "pictures", "", "folder of pictures to compare with; none: no comparison")
	flag.BoolVar(&o.keep, "keep", false, "with -pictures: keep new ones instead")
	flag.IntVar(&o.times, "times", 0, "load each page so many times in a new tab, and by links in one that is open, and say how long that took")
	flag.StringVar(&o.label, "press", "", "press the button that says so, and read the page that it leads to")
	flag.StringVar(&o.token, "token", "", "with -press: the console's token")
	flag.BoolVar(&o.plain, "plain", false, "read each page without JavaScript")
	flag.StringVar(&o.peers, "peers", "", "JSON that names the pages to compare and the folder of the other tools' data")
	flag.BoolVar(&o.brushed, "brush", false, "choose ranges on the page of a study")
	flag.StringVar(&o.script, "evaluate", "", "run the script of this file on the page: the body of an asynchronous function")
	flag.BoolVar(&o.outage, "outage", false, "with -watch: that the server goes away is no error of the page")
	flag.Var(&o.widths, "width", "how wide the window is, in pixels; default 1280")
	flag.Var(&o.schemes, "scheme", "light or dark; default both")
	flag.Var(&o.watch, "watch", "what the first page says in turn without being loaded again")
	flag.Var(&o.steps, "step", "what to do on the page; several are done in turn")
	flag.Parse()
	if len(o.widths) == 0 {
		o.widths = numbers{1280}
	}
	if len(o.schemes) == 0 {
		o.schemes = words{"light", "dark"}
	}
	return o
}

func run() error {
	o := readOptions()
	bound := 15 * time.Minute
	switch {
	case o.peers != "":
		bound = 90 * time.Minute // servers in Python start, and their pages may take minutes
	case o.times > 0:
		bound = 45 * time.Minute
	}
	ctx, stop := context.WithTimeout(context.Background(), bound)
	defer stop()
	ctx, unhook := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer unhook()
	ctx, end, err := open(ctx)
	if err != nil {
		return err
	}
	defer end()
	return o.do(ctx)
}

// do does what the flags ask for, in a browser.
func (o options) do(ctx context.Context) error {
	switch {
	case o.label != "" && len(o.watch) == 1:
		return printed(press(ctx, flag.Arg(0), o.token, o.label, o.watch[0], o.shots))
	case len(o.steps) > 0:
		return runSteps(ctx, flag.Arg(0), o.steps, o.widths[0])
	case o.brushed:
		return printed(brush(ctx, flag.Arg(0)))
	case len(o.watch) > 0:
		return follow(ctx, flag.Arg(0), o.watch, o.outage)
	case o.script != "":
		return printed(evaluate(ctx, flag.Arg(0), o.script))
	case o.plain:
		return printed(plainAll(ctx, flag.Args()))
	case o.times > 0 && o.peers == "":
		return printed(loadAll(ctx, flag.Args(), o.times))
	}
	rules, err := os.ReadFile(o.axe)
	if err != nil {
		return err
	}
	if o.peers != "" {
		return printed(survey{o.times, o.widths, string(rules), o.shots, patience}.compareFile(ctx, o.peers))
	}
	return printed(lookAll(ctx, flag.Args(), o.widths, o.schemes, string(rules), o.shots, album{o.folder, o.keep, o.shots}))
}

func printed[T any](value T, err error) error {
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(value)
}

// open starts a Chromium that fetches nothing by itself, nor for a page from another machine, with
// a profile of its own.
func open(ctx context.Context) (context.Context, func(), error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 1000),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("no-proxy-server", true), chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"))
	allocated, release := chromedp.NewExecAllocator(ctx, options...)
	tab, leave := chromedp.NewContext(allocated)
	end := func() { leave(); release() }
	return tab, end, chromedp.Run(tab)
}
