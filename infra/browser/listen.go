package main

import (
	"context"
	"sync"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

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
