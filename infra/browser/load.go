package main

import (
	"context"
	"encoding/json"
	"errors"
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

// Loads are the figures of one page, one for each time it was loaded. A browser still prepares a
// new tab while it loads a page; users mostly follow links in a tab that is open.
type Loads struct {
	URL     string    `json:"url"`
	OpenTab []Figures `json:"open_tab"` // by a link on the page before
	NewTab  []Figures `json:"new_tab"`
}

// notes keeps the longest task from the first one on.
const notes = `window.longest = 0; new PerformanceObserver(list => { for (const t of list.getEntries()) window.longest = Math.max(window.longest, t.duration); }).observe({type: 'longtask', buffered: true});`

const figures = `(() => { const n = performance.getEntriesByType('navigation')[0], paint = performance.getEntriesByName('first-contentful-paint')[0];
return {load_ms: n.loadEventEnd, server_ms: (n.serverTiming[0] || {duration: 0}).duration, painted_ms: paint ? paint.startTime : 0, longest_task_ms: window.longest, bytes: n.decodedBodySize, sent: n.encodedBodySize}; })()`

// loadAll loads each page so many times in a new tab, and as often by a link in a tab in which the
// page before it in the list is open; before the first one that is the last. It goes round by
// round, so that other work on the machine affects all pages alike. The first round warms the
// browser up and is not reported.
func loadAll(ctx context.Context, urls []string, times int) ([]Loads, error) {
	if len(urls) == 0 {
		return nil, errors.New("no page to load: name its URL")
	}
	all := make([]Loads, len(urls))
	tab, leave := chromedp.NewContext(ctx)
	defer leave()
	if _, err := load(tab, chromedp.Navigate(urls[len(urls)-1]), noting()); err != nil {
		return nil, fmt.Errorf("%s: %w", urls[len(urls)-1], err)
	}
	for round := range times + 1 {
		for i, url := range urls {
			fresh, err := loadNew(ctx, url)
			if err != nil {
				return nil, fmt.Errorf("%s, in a new tab: %w", url, err)
			}
			opened, err := load(tab, link(url))
			if err != nil {
				return nil, fmt.Errorf("%s, by a link: %w", url, err)
			}
			if all[i].URL = url; round > 0 {
				all[i].NewTab, all[i].OpenTab = append(all[i].NewTab, fresh), append(all[i].OpenTab, opened)
			}
		}
	}
	return all, nil
}

// settled is how long a page is watched for long tasks after it is loaded.
const settled = 600 * time.Millisecond

// noting keeps the longest task of each page that the tab loads.
func noting() chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(notes).Do(ctx)
		return err
	})
}

func loadNew(ctx context.Context, url string) (f Figures, err error) {
	ctx, leave := chromedp.NewContext(ctx)
	defer leave()
	return load(ctx, chromedp.Navigate(url), noting())
}

// load prepares a tab, loads a page in it with open, and measures that.
func load(ctx context.Context, open chromedp.Action, prepare ...chromedp.Action) (f Figures, err error) {
	err = chromedp.Run(ctx, append(prepare, open, chromedp.WaitVisible("main h1"), chromedp.Sleep(settled), chromedp.Evaluate(figures, &f))...)
	if err == nil && f.Load <= 0 {
		err = fmt.Errorf("not loaded %v after its heading was shown", settled)
	}
	return f, err
}

// link adds a link to the page, follows it, and waits until the page that it leads to is loaded.
func link(url string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		quoted, err := json.Marshal(url)
		if err != nil {
			return err
		}
		response, err := chromedp.RunResponse(ctx, chromedp.Evaluate(fmt.Sprintf(`{ const a = document.body.appendChild(document.createElement('a')); a.href = %s; a.click(); 0 }`, quoted), nil))
		if err == nil && response.URL != url {
			err = fmt.Errorf("the link leads to %s", response.URL)
		}
		return err
	})
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
	complaints := heard()
	if outage {
		complaints = slices.DeleteFunc(complaints, func(text string) bool { return strings.Contains(text, "net::ERR_") })
	}
	if len(complaints) > 0 {
		return fmt.Errorf("the browser complains: %s", strings.Join(complaints, "; "))
	}
	return nil
}
