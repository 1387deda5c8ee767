package module_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
)

func TestRequirementsAreNamesWheelsAndAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]module.Requirement{
		"humanize":                         {Name: "humanize"},
		" humanize >= 4.0, < 5 ":           {Name: "humanize"},
		"keras-nlp[extra, more]~=0.5":      {Name: "keras-nlp"},
		"x==1.0+cpu":                       {Name: "x"},
		"x==1.*":                           {Name: "x"},
		"x===1!2.0.post1":                  {Name: "x"},
		`x>1; python_version < "3.13"`:     {Name: "x"},
		"/wheels/x-1.0-py3-none-any.whl":   {Wheel: "/wheels/x-1.0-py3-none-any.whl"},
		"./x-1.0-py3-none-any.whl":         {Wheel: "./x-1.0-py3-none-any.whl"},
		"https://h.example/x-1-py3.whl":    {URL: "https://h.example/x-1-py3.whl"},
		"x @ https://h.example/d/x.whl":    {Name: "x", URL: "https://h.example/d/x.whl"},
		"https://h.example/x.whl#sha256=0": {URL: "https://h.example/x.whl#sha256=0"},
	} {
		want.Text = strings.TrimSpace(text)
		if got, err := module.ParseRequirement(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestRequirementsHoldNoOptions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                     "is empty",
		"--index-url=https://evil.example":     "is an option of pip",
		" -r other.txt":                        "is an option of pip",
		"-e .":                                 "is an option of pip",
		"x\n--index-url=https://evil.example":  "on one line",
		"x --global-option=a":                  "expected a name with versions",
		"x==1 --hash=sha256:00":                "expected a name with versions",
		"x; python_version>'3' --no-binary :a": "expected a name with versions",
		"./folder":                             "expected a name with versions",
		"x.tar.gz[":                            "expected a name with versions",
		"https://h.example/x.tar.gz":           "packages that must be built",
		"http://h.example/x.whl":               "expected https",
		"git+https://h.example/x.git":          "git+https is not supported",
		"file:///etc/x.whl":                    "not the address of a wheel",
		"x @ file://h/etc/x.whl":               "expected https",
		"https://me:secret@h.example/x.whl":    "password",
		"https://h.example/x.whl --pre":        "not the address of a wheel",
		strings.Repeat("x", 1001):              "longer than",
	} {
		if got, err := module.ParseRequirement(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, error %v, want %q", text, got, err, want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%v has a password", err)
		}
	}
}

func FuzzParseRequirement(f *testing.F) {
	for _, seed := range []string{"humanize>=4.0,<5", `x[a]==1; python_version < "3"`, "x @ https://h.example/x.whl", "-r x", "/a b/x.whl"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := module.ParseRequirement(text)
		if err != nil {
			return
		}
		if r.Text == "" || strings.HasPrefix(r.Text, "-") || strings.ContainsAny(r.Text, "\n\r\x00") {
			t.Errorf("%q is more than a package to an installer", r.Text)
		}
		if r.Wheel == "" && strings.Contains(r.Text, " --") {
			t.Errorf("%q holds an option", r.Text)
		}
		if again, err := module.ParseRequirement(r.Text); err != nil || again != r {
			t.Errorf("%q parsed again: %+v, %v", r.Text, again, err)
		}
	})
}
