package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Brushed is what the page of a study shows after ranges were chosen on the axes of its parallel
// coordinates.
type Brushed struct {
	Dragged string   `json:"dragged"` // the filter, after dragging along the first axis
	Rows    string   `json:"rows"`    // the heading of the table then
	Keyed   string   `json:"keyed"`   // the filter, after keys on a handle of the second axis
	Focused string   `json:"focused"` // the label of the element that has the focus then
	Cleared string   `json:"cleared"` // the filter, after pressing the first axis
	Contour string   `json:"contour"` // the address of the contour plot, after another choice
	Errors  []string `json:"errors"`
}

// axis returns where a position from 0 to 1 of an axis is in the window.
const axis = `((i, v) => { const place = document.querySelector('[data-lines]'), box = place.getBoundingClientRect(), unit = box.width / 1100;
const [at, ends] = place.dataset.wide.split(';').map(p => p.split(',').map(Number)); return {x: box.left + at[i] * unit, y: box.top + (ends[0] + v * (ends[1] - ends[0])) * unit}; })`

const filter = `(new URL(location.href).searchParams.get('q') || '')`

type place struct{ X, Y float64 }

// brush chooses ranges on the page of a study by mouse and by keyboard, and another contour plot.
func brush(ctx context.Context, url string) (b Brushed, err error) {
	heard := listen(ctx)
	var from, to place
	at := func(i int, v float64, p *place) chromedp.Action {
		return chromedp.Evaluate(fmt.Sprintf("%s(%d, %g)", axis, i, v), p)
	}
	err = chromedp.Run(ctx, log.Enable(), runtime.Enable(), chromedp.Navigate(url), chromedp.WaitVisible("main h1"),
		holds(`!!document.querySelector('.grip')`), chromedp.Evaluate(`document.querySelector('[data-lines]').scrollIntoView({block: 'center'})`, nil),
		at(0, 0.3, &from), at(0, 0.7, &to),
		chromedp.ActionFunc(func(ctx context.Context) error { return drag(ctx, from, to) }),
		holds(filter+` !== ''`), holds(`/ of /.test(document.querySelector('#study-table h2').textContent)`),
		chromedp.Evaluate(filter, &b.Dragged), chromedp.Evaluate(`document.querySelector('#study-table h2').textContent`, &b.Rows),
		chromedp.Evaluate(`document.querySelectorAll('.grip')[2].focus()`, nil), chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.ArrowUp),
		holds(`document.querySelector('[data-brushes]').dataset.brushes.includes('"axis":1')`),
		chromedp.Evaluate(filter, &b.Keyed), chromedp.Evaluate(`document.activeElement.getAttribute('aria-label') || ''`, &b.Focused),
		chromedp.ActionFunc(func(ctx context.Context) error { return drag(ctx, to, to) }),
		holds(`!document.querySelector('[data-brushes]').dataset.brushes.includes('"axis":0')`), chromedp.Evaluate(filter, &b.Cleared),
		chromedp.Evaluate(`(() => { const s = document.querySelector('.choice select[name=y]'); s.value = s.options[s.options.length - 1].value; s.dispatchEvent(new Event('change', {bubbles: true})); })()`, nil),
		holds(`new URL(location.href).searchParams.get('y') !== null`),
		chromedp.Evaluate(`new URL(location.href).searchParams.get('y')`, &b.Contour),
	)
	b.Errors = append([]string{}, heard()...)
	return b, err
}

// drag presses the mouse at one place, and releases it at another.
func drag(ctx context.Context, from, to place) error {
	left := func(p *input.DispatchMouseEventParams) *input.DispatchMouseEventParams {
		return p.WithButton(input.Left).WithClickCount(1)
	}
	err := left(input.DispatchMouseEvent(input.MousePressed, from.X, from.Y)).Do(ctx)
	for i := 1; i <= 4 && err == nil; i++ {
		part := float64(i) / 4
		err = left(input.DispatchMouseEvent(input.MouseMoved, from.X+part*(to.X-from.X), from.Y+part*(to.Y-from.Y))).Do(ctx)
	}
	return errors.Join(err, left(input.DispatchMouseEvent(input.MouseReleased, to.X, to.Y)).Do(ctx))
}
