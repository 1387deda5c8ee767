package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Evaluated is what a script found on a page.
type Evaluated struct {
	Found  json.RawMessage `json:"found"`
	Errors []string        `json:"errors"`
}

// evaluate runs a script of a file on a page, once its charts are drawn. The script is the body of
// an asynchronous function; what it returns is printed.
func evaluate(ctx context.Context, url, script string) (e Evaluated, err error) {
	text, err := os.ReadFile(script)
	if err != nil {
		return e, err
	}
	heard := listen(ctx)
	var found string
	err = chromedp.Run(ctx,
		log.Enable(), runtime.Enable(), chromedp.Navigate(url), chromedp.WaitVisible("main h1"),
		chromedp.Poll(`[...document.querySelectorAll('[data-chart]')].every(one => one.classList.contains('drawn') || one.getBoundingClientRect().top > innerHeight)`,
			nil, chromedp.WithPollingTimeout(2*time.Minute)),
		chromedp.Evaluate(fmt.Sprintf(`(async () => { %s })().then(found => JSON.stringify(found))`, text), &found,
			func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }),
	)
	e.Found, e.Errors = json.RawMessage(found), append([]string{}, heard()...)
	return e, err
}
