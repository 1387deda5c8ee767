package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Pressed is the result of pressing a button.
type Pressed struct {
	URL    string   `json:"url"`   // of the page that it led to
	Text   string   `json:"text"`  // of that page
	Asked  []string `json:"asked"` // the page's question before the action
	Errors []string `json:"errors"`
}

// press enters the token on the page for it, presses the button with the text label, answers yes to
// the page's question, and reads the page that it leads to, as soon as that shows until. The page
// before is drawn into the folder shots, if there is one.
func press(ctx context.Context, url, token, label, until, shots string) (p Pressed, err error) {
	heard := listen(ctx)
	p.Asked = []string{}
	chromedp.ListenTarget(ctx, func(event any) {
		if asked, ok := event.(*page.EventJavascriptDialogOpening); ok {
			p.Asked = append(p.Asked, asked.Message)
			// An error shows: the button leads nowhere.
			go func() { _ = chromedp.Run(ctx, page.HandleJavaScriptDialog(true)) }()
		}
	})
	origin, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	button := fmt.Sprintf(`//main//button[contains(., %q)]`, label)
	want, err := json.Marshal(until)
	if err != nil {
		return p, err
	}
	err = chromedp.Run(ctx,
		log.Enable(), runtime.Enable(), page.Enable(),
		chromedp.Navigate("http://"+origin+"/token"), chromedp.SendKeys("#token", token), chromedp.Click(`//main//button`),
		chromedp.WaitNotPresent("#token", chromedp.ByQuery),
		chromedp.Navigate(url), chromedp.WaitVisible(button),
	)
	if err == nil && shots != "" {
		var picture []byte
		if err = chromedp.Run(ctx, chromedp.FullScreenshot(&picture, 100)); err == nil {
			err = os.WriteFile(filepath.Join(shots, "press.png"), picture, 0o644)
		}
	}
	if err == nil {
		_, err = chromedp.RunResponse(ctx, chromedp.Click(button))
	}
	if err != nil {
		return p, err
	}
	err = chromedp.Run(ctx,
		chromedp.Poll(`document.body.innerText.includes(`+string(want)+`)`, nil, chromedp.WithPollingTimeout(2*time.Minute)),
		chromedp.Location(&p.URL), chromedp.Evaluate(`document.querySelector('main').innerText`, &p.Text),
	)
	p.Errors = heard()
	return p, err
}
