package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// follow prints each word as the page says it, its notices among them; "!word" once it says that no
// longer. With outage the server may go away and come back meanwhile.
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
