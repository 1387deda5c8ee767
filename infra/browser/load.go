package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Figures are of one loading of a page.
type Figures struct {
	Load float64 `json:"load_ms"` // from asking for the page until it is loaded
	// The part that the server reports for itself (Server-Timing).
	Server  float64 `json:"server_ms"`
	Painted float64 `json:"painted_ms"`
	Longest float64 `json:"longest_task_ms"` // of the page's thread; 0: none of 50 ms or more
	Bytes   int     `json:"bytes"`           // of the HTML
	Sent    int     `json:"sent"`            // of the HTML as it came over the wire
}

// Loads are the figures of one page, one for each time it was loaded.
type Loads struct {
	URL   string    `json:"url"`
	Times []Figures `json:"times"`
}

// notes keeps the longest task from the first one on.
const notes = `window.longest = 0; new PerformanceObserver(list => { for (const t of list.getEntries()) window.longest = Math.max(window.longest, t.duration); }).observe({type: 'longtask', buffered: true});`

const figures = `(() => { const n = performance.getEntriesByType('navigation')[0], paint = performance.getEntriesByName('first-contentful-paint')[0];
return {load_ms: n.loadEventEnd, server_ms: (n.serverTiming[0] || {duration: 0}).duration, painted_ms: paint ? paint.startTime : 0, longest_task_ms: window.longest, bytes: n.decodedBodySize, sent: n.encodedBodySize}; })()`

// loadAll loads each page so many times, each in a new tab, round by round, so that other work on
// the machine affects all pages alike. The first round warms the browser up and is not reported.
func loadAll(ctx context.Context, urls []string, times int) ([]Loads, error) {
	all := make([]Loads, len(urls))
	for round := range times + 1 {
		for i, url := range urls {
			one, err := load(ctx, url)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", url, err)
			}
			if all[i].URL = url; round > 0 {
				all[i].Times = append(all[i].Times, one)
			}
		}
	}
	return all, nil
}

// settled is how long a page is watched for long tasks after it is loaded.
const settled = 600 * time.Millisecond

func load(ctx context.Context, url string) (f Figures, err error) {
	ctx, leave := chromedp.NewContext(ctx)
	defer leave()
	err = chromedp.Run(ctx,
		chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := page.AddScriptToEvaluateOnNewDocument(notes).Do(ctx)
			return err
		}),
		chromedp.Navigate(url), chromedp.WaitVisible("main h1"), chromedp.Sleep(settled), chromedp.Evaluate(figures, &f))
	return f, err
}

// listen collects the errors that the browser reports.
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

// follow prints each word when the page shows it, notices included; "!word" when the page no longer
// shows it. With outage the server may stop and start again in between.
func follow(ctx context.Context, url string, want []string, outage bool) error {
	heard := listen(ctx)
	if err := chromedp.Run(ctx, log.Enable(), runtime.Enable(), chromedp.Navigate(url), chromedp.Evaluate(`window.loaded = 1`, nil)); err != nil {
		return err
	}
	for _, word := range want {
		said, gone := strings.CutPrefix(word, "!")
		quoted, err := json.Marshal(said)
		if err != nil {
			return err
		}
		seen := fmt.Sprintf(`window.loaded === 1 && document.body.innerText.includes(%s) !== %t`, quoted, gone)
		if err := chromedp.Run(ctx, chromedp.Poll(seen, nil, chromedp.WithPollingTimeout(2*time.Minute))); err != nil {
			return fmt.Errorf("the page never says %s: %w", word, err)
		}
		fmt.Println(word)
	}
	errors := heard()
	if outage {
		errors = slices.DeleteFunc(errors, func(text string) bool { return strings.Contains(text, "net::ERR_") })
	}
	if len(errors) > 0 {
		return fmt.Errorf("the browser complains: %s", strings.Join(errors, "; "))
	}
	return nil
}
