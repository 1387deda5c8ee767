package main

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// drawnAs returns what Chromium draws for a document, as WebP.
func drawnAs(t *testing.T, html string) []byte {
	t.Helper()
	ctx, end, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	var picture []byte
	page := "data:text/html;base64," + base64.StdEncoding.EncodeToString([]byte(html))
	if err := chromedp.Run(ctx, chromedp.Navigate(page), window(&picture)); err != nil {
		t.Fatal(err)
	}
	return picture
}

// A picture is compared with the one that is kept: a missing card is seen, another digit is not.
func TestAPictureIsComparedWithTheKeptOne(t *testing.T) {
	const page = `<body style="margin:0;font:16px sans-serif"><h1>Runs</h1><p>took 41 s</p><div style="width:400px;height:120px;background:#48c"></div>`
	shots := t.TempDir()
	a := album{folder: t.TempDir(), keep: true, shots: shots}
	const address = "http://localhost:1/run?pipeline=penguin&run=a%2Fb"
	if wrong, err := a.check(address, "light", 1280, drawnAs(t, page)); wrong != "" || err != nil {
		t.Fatal(wrong, err)
	}
	a.keep = false
	for name, tc := range map[string]struct {
		html  string
		wrong string
	}{
		"the same":      {page, ""},
		"another digit": {strings.Replace(page, "41", "47", 1), ""},
		"no card":       {strings.Replace(page, "#48c", "#fff", 1), "differs"},
		"moved":         {strings.Replace(page, "margin:0", "margin:0 40px", 1), "differs"},
	} {
		picture := drawnAs(t, tc.html)
		wrong, err := a.check(address, "light", 1280, picture)
		if err != nil || (tc.wrong == "") != (wrong == "") || !strings.Contains(wrong, tc.wrong) {
			t.Errorf("%s: %q, %v", name, wrong, err)
		}
		shot, err := os.ReadFile(filepath.Join(shots, "run-pipeline-penguin-run-a-b-1280-light.webp"))
		if tc.wrong != "" && (err != nil || !bytes.Equal(shot, picture)) {
			t.Errorf("%s: the new picture is not shown: %v", name, err)
		}
	}
	if wrong, err := a.check("http://localhost:1/", "dark", 390, drawnAs(t, page)); err != nil || !strings.Contains(wrong, "overview-390-dark.webp: no such picture is kept") {
		t.Errorf("a picture that isn't kept: %q, %v", wrong, err)
	}
}
