package main

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Figures are of one loading of a page.
type Figures struct {
	Load    float64 `json:"load_ms"`   // from asking for the page until it is loaded
	Server  float64 `json:"server_ms"` // of that, what the server says it took (Server-Timing)
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

// loadAll loads each page so many times, each in a new tab, round by round: what else the machine
// does meanwhile falls on all alike. The first round warms the browser up, and is not reported.
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
