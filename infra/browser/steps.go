package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// shifts adds up the layout shifts that no input of the reader explains, as the Layout Instability
// API counts them.
const shifts = `window.shifted = 0; new PerformanceObserver(list => { for (const s of list.getEntries()) if (!s.hadRecentInput) window.shifted += s.value; }).observe({type: 'layout-shift', buffered: true});`

// runSteps does steps on a page, one after the other, and prints a line for each when it is done:
// its verb, or the value that it asks for, as JSON. A step is a verb and the rest of its text:
//
//	key j           presses a key, without a field: j, ?, Enter, Escape
//	write text      presses the keys of a text
//	click SELECTOR  clicks on an element
//	hover SELECTOR  moves the pointer onto an element
//	until EXPR      waits until a JavaScript expression holds
//	print EXPR      prints the value of one
//	go URL          opens another page
//	shot FILE       keeps a picture of the window
func runSteps(ctx context.Context, url string, steps []string, width int) error {
	heard := listen(ctx)
	err := chromedp.Run(ctx, log.Enable(), runtime.Enable(), emulation.SetDeviceMetricsOverride(int64(width), 900, 1, false), chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(shifts).Do(ctx)
		return err
	}), chromedp.Navigate(url), chromedp.WaitVisible("main h1"))
	if err != nil {
		return err
	}
	for _, step := range steps {
		verb, what, _ := strings.Cut(step, " ")
		said, err := runStep(ctx, verb, what)
		if err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
		fmt.Println(said)
	}
	if complaints := heard(); len(complaints) > 0 {
		return fmt.Errorf("the browser complains: %s", strings.Join(complaints, "; "))
	}
	return nil
}

func runStep(ctx context.Context, verb, what string) (said string, err error) {
	switch said = verb; verb {
	case "key":
		err = chromedp.Run(ctx, chromedp.ActionFunc(func(ctx context.Context) error { return pressKey(ctx, what) }))
	case "write":
		err = chromedp.Run(ctx, chromedp.KeyEvent(what))
	case "click":
		err = chromedp.Run(ctx, chromedp.Click(what, chromedp.ByQuery))
	case "hover":
		err = hover(ctx, what)
	case "until":
		err = chromedp.Run(ctx, holds(what))
	case "print":
		var value any
		err = chromedp.Run(ctx, chromedp.Evaluate(what, &value))
		text, _ := json.Marshal(value)
		said = string(text)
	case "go":
		err = chromedp.Run(ctx, chromedp.Navigate(what), chromedp.WaitVisible("main h1"))
	case "shot":
		var picture []byte
		if err = chromedp.Run(ctx, chromedp.CaptureScreenshot(&picture)); err == nil {
			err = os.WriteFile(what, picture, 0o644)
		}
	default:
		err = fmt.Errorf("unknown step")
	}
	return said, err
}

// pressKey presses a key as a keyboard does: the page may prevent what it writes.
func pressKey(ctx context.Context, key string) error {
	down := input.DispatchKeyEvent(input.KeyDown).WithKey(key)
	switch code := map[string]int64{"Enter": 13, "Escape": 27, "Tab": 9}[key]; {
	case key == "Enter":
		down = down.WithText("\r").WithWindowsVirtualKeyCode(code)
	case code > 0:
		down = down.WithWindowsVirtualKeyCode(code)
	default:
		down = down.WithText(key)
	}
	if err := down.Do(ctx); err != nil {
		return err
	}
	return input.DispatchKeyEvent(input.KeyUp).WithKey(key).Do(ctx)
}

// pageText is the address and the text of a page without the times that count on by themselves.
const pageText = `location.href + ' ' + document.body.innerText.replace(/\d+ (s|min|h|days) ago|just now/g, '')`

// waiting is a wait for an effect on a page.
type waiting struct {
	begun, changed time.Time
	shown          string
}

// settles is how long a page stays as it is until a wait for an effect ends. A busy machine may
// show nothing new for a minute.
const settles = 3 * time.Minute

// over reports whether a wait ends without the effect: the page has not changed for a while, or
// patience has passed.
func (w *waiting) over(now time.Time, page string) bool {
	if w.begun.IsZero() {
		w.begun = now
	}
	if page != w.shown || w.changed.IsZero() {
		w.shown, w.changed = page, now
	}
	return now.Sub(w.changed) >= settles || now.Sub(w.begun) >= patience
}

// holds waits until a JavaScript expression holds, also while the browser opens another page.
func holds(expression string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		wait, looked := waiting{}, time.Now()
		for ; ; time.Sleep(20 * time.Millisecond) {
			var so bool
			err := chromedp.Evaluate(expression, &so).Do(ctx)
			if err == nil && so {
				return nil
			}
			if time.Since(looked) < time.Second {
				continue
			}
			var page string
			_ = chromedp.Evaluate(pageText, &page).Do(ctx) // there is none while another one opens
			if looked = time.Now(); wait.over(looked, page) {
				return errors.Join(fmt.Errorf("it never holds that %s: the page shows %q", expression, page), err)
			}
		}
	})
}

// hover moves the pointer until the page says that it is over the element, which may move
// meanwhile; for two minutes at most, since another element may cover it.
func hover(ctx context.Context, selector string) error {
	quoted, err := json.Marshal(selector)
	if err != nil {
		return err
	}
	place := fmt.Sprintf(`(() => { const one = document.querySelector(%s), r = one.getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2, Over: one.matches(':hover')}; })()`, quoted)
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		var at struct {
			X, Y float64
			Over bool
		}
		err := chromedp.Run(ctx, chromedp.Evaluate(place, &at), chromedp.ActionFunc(func(ctx context.Context) error {
			return chromedp.MouseEvent("mouseMoved", at.X, at.Y).Do(ctx)
		}))
		if err != nil || at.Over {
			return err
		}
		if err := chromedp.Run(ctx, chromedp.Sleep(50*time.Millisecond)); err != nil {
			return err
		}
	}
	return errors.New("the pointer does not get onto it")
}
