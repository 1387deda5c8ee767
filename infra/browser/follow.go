package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

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
