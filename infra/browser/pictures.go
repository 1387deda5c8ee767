package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"golang.org/x/image/webp"
)

// album compares what the first window of each page shows with a picture of it that is kept.
type album struct {
	folder string // of the kept pictures; "": none are compared
	keep   bool   // keep new ones instead
	shots  string // folder for those that differ
}

// Pictures are compared by the mean colors of blocks of some pixels: how a font's edges are drawn
// depends on the processor, where text stands doesn't.
const (
	block     = 8
	differs   = 20    // of 255: a block whose color differs by more is another one
	tolerance = 0.004 // part of the blocks that may be others
)

// alike makes a page look alike on each machine: in one font, in one zone, and with nothing that
// moves.
func alike() chromedp.Action {
	const sheet = `document.adoptedStyleSheets = [new CSSStyleSheet()];
document.adoptedStyleSheets[0].replaceSync(':root { --sans: "DejaVu Sans"; --mono: "DejaVu Sans Mono"; } *, *::before, *::after { animation: none !important; transition: none !important; }');`
	return chromedp.Tasks{
		emulation.SetTimezoneOverride("UTC"),
		chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := page.AddScriptToEvaluateOnNewDocument(sheet).Do(ctx)
			return err
		}),
	}
}

// timeless replaces the times on a page, which depend on when it is looked at.
const timeless = `for (const time of document.querySelectorAll('time')) time.textContent = '9 min ago'`

// window takes a picture of what the window shows, without its times.
func window(picture *[]byte) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) (err error) {
		if err := chromedp.Evaluate(timeless, nil).Do(ctx); err != nil {
			return err
		}
		*picture, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatWebp).WithQuality(82).Do(ctx)
		return err
	})
}

// check compares a picture of a page with the kept one, and says what is wrong; "" if nothing is.
func (p album) check(address, scheme string, width int, picture []byte) (string, error) {
	name := fmt.Sprintf("%s-%d-%s.webp", nameOf(address), width, scheme)
	path := filepath.Join(p.folder, name)
	if p.keep {
		return "", os.WriteFile(path, picture, 0o644)
	}
	kept, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return name + ": no such picture is kept: task console:pictures keeps it", p.show(name, picture)
	}
	if err != nil {
		return "", err
	}
	part, err := difference(kept, picture)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if part <= tolerance {
		return "", nil
	}
	return fmt.Sprintf("%s: %.1f %% differs from the picture that is kept: if that is meant, task console:pictures keeps the new one", name, 100*part), p.show(name, picture)
}

func (p album) show(name string, picture []byte) error {
	if p.shots == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(p.shots, name), picture, 0o644)
}

var digests = regexp.MustCompile(`[0-9a-f]{17,}`)

// nameOf makes a file name from the path and the query of a page's address, with digests cut short.
func nameOf(address string) string {
	at, err := url.Parse(address)
	if err != nil {
		return "page"
	}
	path := strings.Trim(at.Path, "/")
	if path == "" {
		path = "overview"
	}
	query, _ := url.QueryUnescape(at.RawQuery)
	whole := digests.ReplaceAllStringFunc(path+"-"+query, func(digest string) string { return digest[:8] })
	text := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, strings.Trim(whole, "-"))
	return text[:min(len(text), 80)]
}

// difference returns the part of the blocks of two pictures that differ; 1 if they differ in size.
func difference(one, other []byte) (float64, error) {
	a, err := webp.Decode(bytes.NewReader(one))
	if err != nil {
		return 0, err
	}
	b, err := webp.Decode(bytes.NewReader(other))
	if err != nil {
		return 0, err
	}
	size := a.Bounds()
	if size != b.Bounds() {
		return 1, nil
	}
	all, others := 0, 0
	for y := size.Min.Y; y < size.Max.Y; y += block {
		for x := size.Min.X; x < size.Max.X; x += block {
			in := image.Rect(x, y, x+block, y+block).Intersect(size)
			all++
			if far(mean(a, in), mean(b, in)) {
				others++
			}
		}
	}
	return float64(others) / float64(max(1, all)), nil
}

// mean returns the mean red, green and blue of a part of a picture, to 255.
func mean(picture image.Image, part image.Rectangle) (sum [3]float64) {
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			sum[0], sum[1], sum[2] = sum[0]+float64(r>>8), sum[1]+float64(g>>8), sum[2]+float64(b>>8)
		}
	}
	for i := range sum {
		sum[i] /= float64(part.Dx() * part.Dy())
	}
	return sum
}

func far(a, b [3]float64) bool {
	for i := range a {
		if d := a[i] - b[i]; d > differs || d < -differs {
			return true
		}
	}
	return false
}
