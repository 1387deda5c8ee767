package runs

import (
	"testing"

	"github.com/stoker-ml/stoker/events"
)

func TestDetailsRepeatNothing(t *testing.T) {
	t.Parallel()
	const head = "end of the module's log:\n"
	for name, tc := range map[string]struct{ message, log, want string }{
		"nothing more":                       {"bad label", "", ""},
		"the log says the same":              {"bad label", "bad label\n", ""},
		"a log that ends in the same":        {"module m: bad label", "reading\nbad label\n", head + "reading"},
		"a table that the log ends in":       {"m: bad fit:\nbias\n", "reading\nbad fit:\nbias\n", "bias\n" + head + "reading"},
		"a log whose last line says more":    {"m: bad label", "reading\nNo: bad label\n", head + "reading\nNo: bad label"},
		"a log in colours":                   {"bad label", "\x1b[1mreading\x1b[0m\n", head + "reading"},
		"a stack without a log":              {"panic: hot\nmain.go:7", "", "main.go:7"},
		"a panic, whose stack the log has":   {"panic: hot\nmain.go:7", "panic: hot\n\n\tmain.go:7\nx", head + "panic: hot\n\n\tmain.go:7\nx"},
		"a stack, and a log of other things": {"panic: hot\nmain.go:7", "step 1", "main.go:7\n" + head + "step 1"},
	} {
		if got := Details(tc.message, tc.log); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestPlainText(t *testing.T) {
	t.Parallel()
	for log, want := range map[string]string{
		"one\ttwo\nthree": "one\ttwo\nthree",
		"\x1b[1m 1/20\x1b[0m loss 2\r\x1b[32m20/20\x1b[0m loss 1\n": "20/20 loss 1\n",
		"1/20\b\b\b\b\b2/20\nnext":                                  "2/20\nnext",
		"Windows\r\nlines\r\n":                                      "Windows\nlines\n",
		"\x1b]0;title\x07x":                                         "]0;titlex",
		"10 % of \u00e9":                                            "10 % of \u00e9",
	} {
		if got := PlainText(log); got != want {
			t.Errorf("%q: %q, want %q", log, got, want)
		}
	}
}

func TestTablesKeepOneLineARow(t *testing.T) {
	t.Parallel()
	if got := FirstLine("panic: too\t\x1b[1mhot\x07\nmain.go:7"); got != "panic: too hot" {
		t.Errorf("%q", got)
	}
	if got := (Summary{State: Failed, Error: "a\nb"}).What(); got != "a" {
		t.Errorf("a failed run's line says %q", got)
	}
}

func TestAKindThatTheMessageBeginsWithIsNotRepeated(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"module builtin:dnn: panic\nstack": "module builtin:dnn: panic",
		"split \"eval\" does not exist":    "module: split \"eval\" does not exist",
	} {
		failed := &events.TrainingFailed{Failed: events.Failed{Reason: events.FailureModule, Message: message}}
		if got := FailureLine(failed); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

func TestTheMainMetricIsOneThatPeopleCompare(t *testing.T) {
	t.Parallel()
	for want, metrics := range map[string]map[string]float64{
		"": nil, "loss 0.5": {"loss": 0.5}, "accuracy 0.9": {"loss": 0.5, "accuracy": 0.9, "mae": 1},
		"mae 0.25": {"loss": 0.5, "mae": 0.25}, "auc 0.75": {"auc": 0.75, "mse": 1},
	} {
		if got := MainMetric(metrics); got != want {
			t.Errorf("%v: %q, want %q", metrics, got, want)
		}
	}
}
