package main

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Plain is what a reader without JavaScript has of a page.
type Plain struct {
	URL      string `json:"url"`
	Text     string `json:"text"`
	Pictures int    `json:"pictures"` // that are drawn and take space
	Scripted int    `json:"scripted"` // parts that only a script could have made
}

// drawn counts the pictures that a reader sees.
const drawn = `[...document.querySelectorAll('main svg.plot, main svg.lineage, main img.coords')].filter(one => one.getBoundingClientRect().height > 20 && (one.tagName !== 'IMG' || one.naturalWidth > 0)).length`

// plainAll reads each page with scripts switched off.
func plainAll(ctx context.Context, urls []string) (all []Plain, err error) {
	for _, url := range urls {
		p := Plain{URL: url}
		err := chromedp.Run(ctx,
			emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(url), chromedp.WaitVisible("main h1"),
			chromedp.Evaluate(`document.querySelector('main').innerText`, &p.Text),
			chromedp.Evaluate(drawn, &p.Pictures),
			chromedp.Evaluate(`document.querySelectorAll('.uplot').length`, &p.Scripted),
		)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", url, err)
		}
		all = append(all, p)
	}
	return all, nil
}
