package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed static
var static embed.FS

// assetsMark is a hash of all files that pages load. It is part of their addresses, so that a
// browser caches them forever, and never uses those of another version of this program.
var assetsMark = markOfFolder(static)

func markOfFolder(folder fs.FS) string {
	hash := sha256.New()
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(folder, name)
		hash.Write(text)
		return err
	})
	if err != nil {
		panic(err) // the directory is embedded
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// asset returns the address of a file that pages load.
func asset(name string) template.URL { return template.URL("/static/" + name + "?v=" + assetsMark) }

// assets serves the files that pages load.
func assets() http.HandlerFunc {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the directory is embedded under that name
	}
	serve := http.StripPrefix("/static/", http.FileServerFS(files))
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		if r.URL.Query().Get("v") == assetsMark {
			w.Header().Set("Cache-Control", "max-age=31536000, immutable")
		} else {
			w.Header().Set("Cache-Control", "no-cache")
		}
		serve.ServeHTTP(w, r)
	}
}
