// Command browser looks at pages of the console in a headless Chromium, and prints as JSON what is wrong with them: what axe finds serious
// or critical, errors on the console, breaches of the page's own policy, how long it took to load, and the longest task of the page's
// script. With -watch it stays on the first page, without loading it again, until that has said each of some words in turn.
//
//	browser -axe axe.min.js [-shots FOLDER] [-watch WORD]... URL...
//
// It is a module of its own: chromedp and the protocol's types are no part of Stoker.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Finding is what is to be said of one page.
type Finding struct {
	URL         string   `json:"url"`
	Scheme      string   `json:"scheme"` // light or dark
	Violations  []string `json:"violations"`
	Errors      []string `json:"errors"` // of the console, breaches of the policy among them
	LoadMillis  float64  `json:"load_ms"`
	LongestTask float64  `json:"longest_task_ms"` // 0: none of 50 ms or more
	Elements    int      `json:"elements"`
	Charts      int      `json:"charts"`
}

type words []string

func (w *words) String() string         { return strings.Join(*w, ",") }
func (w *words) Set(value string) error { *w = append(*w, value); return nil }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		os.Exit(1)
	}
}

func run() error {
	var watch words
	axe := flag.String("axe", "", "axe.min.js of npm's axe-core")
	shots := flag.String("shots", "", "folder for pictures; none: no pictures")
	flag.Var(&watch, "watch", "what the first page says in turn without being loaded again")
	flag.Parse()
	script, err := os.ReadFile(*axe)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	ctx, end, err := open(ctx)
	if err != nil {
		return err
	}
	defer end()
	if len(watch) > 0 {
		return follow(ctx, flag.Arg(0), watch)
	}
	var all []Finding
	for _, url := range flag.Args() {
		for _, scheme := range []string{"light", "dark"} {
			finding, picture, err := look(ctx, url, scheme, string(script))
			if err != nil {
				return fmt.Errorf("%s: %w", url, err)
			}
			all = append(all, finding)
			if *shots != "" {
				name := fmt.Sprintf("%02d-%s.png", len(all), scheme)
				if err := os.WriteFile(filepath.Join(*shots, name), picture, 0o644); err != nil {
					return err
				}
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

// open starts a Chromium that fetches nothing by itself, with a profile of its own.
func open(ctx context.Context) (context.Context, func(), error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 1000),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	allocated, release := chromedp.NewExecAllocator(ctx, options...)
	tab, leave := chromedp.NewContext(allocated)
	end := func() { leave(); release() }
	return tab, end, chromedp.Run(tab)
}

// tasks notes each task of 50 ms or more from the first one on.
const tasks = `window.longest = 0; new PerformanceObserver(list => { for (const t of list.getEntries()) window.longest = Math.max(window.longest, t.duration); }).observe({type: 'longtask', buffered: true});`

func look(ctx context.Context, url, scheme, axe string) (f Finding, picture []byte, err error) {
	ctx, leave := chromedp.NewContext(ctx)
	defer leave()
	f = Finding{URL: url, Scheme: scheme, Violations: []string{}, Errors: []string{}}
	heard := listen(ctx)
	var violations string
	err = chromedp.Run(ctx,
		log.Enable(), runtime.Enable(),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := page.AddScriptToEvaluateOnNewDocument(tasks).Do(ctx)
			return err
		}),
		chromedp.Navigate(url), chromedp.WaitVisible("main h1"), chromedp.Sleep(1500*time.Millisecond),
		chromedp.Evaluate(`(() => { const n = performance.getEntriesByType('navigation')[0]; return n.loadEventEnd - n.startTime; })()`, &f.LoadMillis),
		chromedp.Evaluate(`window.longest`, &f.LongestTask),
		chromedp.Evaluate(`document.querySelectorAll('*').length`, &f.Elements),
		chromedp.Evaluate(`document.querySelectorAll('.uplot canvas').length`, &f.Charts),
		chromedp.FullScreenshot(&picture, 100),
		chromedp.Evaluate(axe+`; 0`, nil),
		chromedp.Evaluate(`axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations.filter(v => v.impact === 'serious' || v.impact === 'critical').map(v => v.id + ': ' + v.help + ' ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + (n.any[0] ? n.any[0].message : '')).join(' | '))))`,
			&violations, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }),
	)
	if err == nil {
		err = json.Unmarshal([]byte(violations), &f.Violations)
	}
	f.Errors = append(f.Errors, heard()...)
	return f, picture, err
}

// listen gathers what the browser complains of.
func listen(ctx context.Context) func() []string {
	var mu sync.Mutex
	var all []string
	add := func(text string) { mu.Lock(); defer mu.Unlock(); all = append(all, text) }
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
				add(string(e.Entry.Level) + ": " + e.Entry.Text + " " + e.Entry.URL)
			}
		case *runtime.EventExceptionThrown:
			add("exception: " + e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError {
				add("console.error")
			}
		}
	})
	return func() []string { mu.Lock(); defer mu.Unlock(); return all }
}

// follow prints each word as the page says it.
func follow(ctx context.Context, url string, want []string) error {
	heard := listen(ctx)
	if err := chromedp.Run(ctx, log.Enable(), runtime.Enable(), chromedp.Navigate(url), chromedp.Evaluate(`window.loaded = 1`, nil)); err != nil {
		return err
	}
	for _, word := range want {
		quoted, err := json.Marshal(word)
		if err != nil {
			return err
		}
		seen := fmt.Sprintf(`window.loaded === 1 && document.querySelector('main').innerText.includes(%s)`, quoted)
		if err := chromedp.Run(ctx, chromedp.Poll(seen, nil, chromedp.WithPollingTimeout(time.Minute))); err != nil {
			return fmt.Errorf("the page never says %s: %w", word, err)
		}
		fmt.Println(word)
	}
	if errors := heard(); len(errors) > 0 {
		return fmt.Errorf("the browser complains: %s", strings.Join(errors, "; "))
	}
	return nil
}
