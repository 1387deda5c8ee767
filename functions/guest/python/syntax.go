package python

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// syntaxScript reads source files as the interpreter would, and runs none of them. 3 says that one is no Python.
const syntaxScript = `import ast, sys
for name in sys.argv[1:]:
    try:
        with open(name, "rb") as file:
            ast.parse(file.read(), name)
    except (SyntaxError, ValueError) as error:
        print(name, getattr(error, "lineno", None) or 1, getattr(error, "msg", error), sep="\n")
        sys.exit(3)
`

// SyntaxError says where a source file is no Python.
type SyntaxError struct {
	File    string // as it was named to CheckSyntax
	Line    string
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%s: SyntaxError: %s", e.File, e.Line, e.Message)
}

// CheckSyntax reads source files as the environment's Python would. The first that it would not take is a *SyntaxError.
func CheckSyntax(ctx context.Context, e Environment, files ...string) error {
	out, err := run(ctx, e.by, probeTimeout, e.Interpreter, append([]string{"-I", "-c", syntaxScript}, files...)...)
	exit, ended := errors.AsType[*exec.ExitError](err)
	if told := strings.SplitN(strings.TrimSpace(string(out)), "\n", 3); ended && exit.ExitCode() == 3 && len(told) == 3 {
		return &SyntaxError{File: told[0], Line: told[1], Message: told[2]}
	}
	if err != nil {
		return fmt.Errorf("have %s read %s: %w", e.Interpreter, strings.Join(files, ", "), err)
	}
	return nil
}
