package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Finding is the result for one page at one width in one color scheme.
type Finding struct {
	URL        string   `json:"url"`
	Scheme     string   `json:"scheme"` // light or dark
	Width      int      `json:"width"`
	Violations []string `json:"violations"`
	Errors     []string `json:"errors"`   // of the console, breaches of the policy among them
	Overflow   int      `json:"overflow"` // pixels by which the page is wider than the window
	Elements   int      `json:"elements"`
	Charts     int      `json:"charts"`
	Figures    Figures  `json:"figures"`
	// How it differs from the picture that is kept; "": it does not.
	Picture string `json:"picture"`
}

// lookAll examines each page at each width in each color scheme, and compares its picture if one is
// kept.
func lookAll(ctx context.Context, urls []string, widths []int, schemes []string, axe, shots string, kept album) (all []Finding, err error) {
	for at, url := range urls {
		for _, width := range widths {
			for _, scheme := range schemes {
				finding, picture, first, err := look(ctx, url, scheme, width, axe, kept.folder != "")
				if err == nil && kept.folder != "" {
					finding.Picture, err = kept.check(url, scheme, width, first)
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %w", url, err)
				}
				all = append(all, finding)
				if shots != "" {
					name := fmt.Sprintf("%02d-%d-%s.png", at+1, width, scheme)
					if err := os.WriteFile(filepath.Join(shots, name), picture, 0o644); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return all, nil
}

// serious returns the rules of axe that a page violates seriously, with the places.
const serious = `axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations.filter(v => v.impact === 'serious' || v.impact === 'critical').map(v => v.id + ': ' + v.help + ' ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + (n.any[0] ? n.any[0].message : '')).join(' | '))))`

// look examines a page; with same, it looks alike on each machine.
func look(ctx context.Context, url, scheme string, width int, axe string, same bool) (f Finding, picture, first []byte, err error) {
	ctx, leave := chromedp.NewContext(ctx)
	defer leave()
	f = Finding{URL: url, Scheme: scheme, Width: width, Violations: []string{}, Errors: []string{}}
	heard := listen(ctx)
	var violations string
	prepare := chromedp.Tasks{}
	if same {
		prepare = chromedp.Tasks{alike()}
	}
	err = chromedp.Run(ctx,
		log.Enable(), runtime.Enable(), prepare,
		emulation.SetDeviceMetricsOverride(int64(width), 900, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		noting(),
		chromedp.Navigate(url), chromedp.WaitVisible("main h1"), chromedp.Sleep(1200*time.Millisecond),
		chromedp.Evaluate(figures, &f.Figures),
		chromedp.Evaluate(`document.documentElement.scrollWidth - innerWidth`, &f.Overflow),
		chromedp.Evaluate(`document.querySelectorAll('*').length`, &f.Elements),
		chromedp.Evaluate(`document.querySelectorAll('.canvas.drawn').length`, &f.Charts),
		chromedp.FullScreenshot(&picture, 100),
		window(&first),
		chromedp.Evaluate(axe+`; 0`, nil),
		chromedp.Evaluate(serious, &violations, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }),
	)
	if err == nil {
		err = json.Unmarshal([]byte(violations), &f.Violations)
	}
	f.Errors = append(f.Errors, heard()...)
	return f, picture, first, err
}

// Plain is what a browser without JavaScript shows of a page.
type Plain struct {
	URL      string `json:"url"`
	Text     string `json:"text"`
	Pictures int    `json:"pictures"` // that are drawn and take space
	Scripted int    `json:"scripted"` // parts and gaps that only a script could have made or filled
}

// drawn counts the pictures that a reader sees.
const drawn = `[...document.querySelectorAll('main svg.plot, main svg.lineage, main img.coords, main img.study-picture')].filter(one => one.getBoundingClientRect().height > 20 && (one.tagName !== 'IMG' || one.naturalWidth > 0)).length`

// plainAll reads each page with scripts switched off.
func plainAll(ctx context.Context, urls []string) (all []Plain, err error) {
	for _, url := range urls {
		p := Plain{URL: url}
		err := chromedp.Run(ctx,
			// The window shows all of the page: innerText lacks what is not laid out yet.
			emulation.SetDeviceMetricsOverride(1280, 12000, 1, false),
			emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(url), chromedp.WaitVisible("main h1"),
			chromedp.Evaluate(`document.querySelector('main').innerText`, &p.Text),
			chromedp.Evaluate(drawn, &p.Pictures),
			chromedp.Evaluate(`document.querySelectorAll('.drawn').length + [...document.querySelectorAll('svg.study-picture:empty')].filter(one => one.getBoundingClientRect().height > 0).length`, &p.Scripted),
		)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", url, err)
		}
		all = append(all, p)
	}
	return all, nil
}
