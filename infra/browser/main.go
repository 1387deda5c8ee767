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

func run() error {
	var watch, steps, schemes words
	var widths numbers
	axe := flag.String("axe", "", "axe.min.js of npm's axe-core")
	shots := flag.String("shots", "", "folder for pictures; none: no pictures")
	folder := flag.String("pictures", "", "folder of pictures to compare with; none: no comparison")
	keep := flag.Bool("keep", false, "with -pictures: keep new ones instead")
	times := flag.Int("times", 0, "load each page so many times, and say how long that took")
	label := flag.String("press", "", "press the button that says so, and read the page that it leads to")
	token := flag.String("token", "", "with -press: the console's token")
	plain := flag.Bool("plain", false, "read each page without JavaScript")
	peers := flag.String("peers", "", "JSON that names the pages to compare and the folder of the other tools' data")
	brushed := flag.Bool("brush", false, "choose ranges on the page of a study")
	script := flag.String("evaluate", "", "run the script of this file on the page: the body of an asynchronous function")
	outage := flag.Bool("outage", false, "with -watch: that the server goes away is no error of the page")
	flag.Var(&widths, "width", "how wide the window is, in pixels; default 1280")
	flag.Var(&schemes, "scheme", "light or dark; default both")
	flag.Var(&watch, "watch", "what the first page says in turn without being loaded again")
	flag.Var(&steps, "step", "what to do on the page; several are done in turn")
	flag.Parse()
	if len(widths) == 0 {
		widths = numbers{1280}
	}
	if len(schemes) == 0 {
		schemes = words{"light", "dark"}
	}
	bound := 15 * time.Minute
	if *peers != "" {
		bound = 90 * time.Minute // servers in Python start, and their pages may take minutes
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
	switch {
	case *label != "" && len(watch) == 1:
		return printed(press(ctx, flag.Arg(0), *token, *label, watch[0], *shots))
	case len(steps) > 0:
		return runSteps(ctx, flag.Arg(0), steps, widths[0])
	case *brushed:
		return printed(brush(ctx, flag.Arg(0)))
	case len(watch) > 0:
		return follow(ctx, flag.Arg(0), watch, *outage)
	case *script != "":
		return printed(evaluate(ctx, flag.Arg(0), *script))
	case *plain:
		return printed(plainAll(ctx, flag.Args()))
	case *times > 0 && *peers == "":
		return printed(loadAll(ctx, flag.Args(), *times))
	}
	rules, err := os.ReadFile(*axe)
	if err != nil {
		return err
	}
	if *peers != "" {
		return printed(survey{*times, widths, string(rules), *shots, patience}.compareFile(ctx, *peers))
	}
	return printed(lookAll(ctx, flag.Args(), widths, schemes, string(rules), *shots, album{*folder, *keep, *shots}))
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
