package main

import (
	"fmt"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// Target is one stage of a Containerfile that becomes an image.
type Target struct {
	Base   string
	Config v1.Config
	Runs   []string // what is run while it is built
	// What is copied, by the stage that it comes from; "" is the build's own folder.
	Copies map[string][]string
}

// ReadTarget reads a stage by BuildKit's own parser. ${VERSION} in it is version.
func ReadTarget(file, name, version string) (Target, error) {
	stages, err := readStages(file)
	if err != nil {
		return Target{}, err
	}
	for _, stage := range stages {
		if stage.Name == name {
			return readStage(stage, version)
		}
	}
	return Target{}, fmt.Errorf("%s: no target %s", file, name)
}

func readStages(file string) ([]instructions.Stage, error) {
	text, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	parsed, err := parser.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return stages, nil
}

func readStage(stage instructions.Stage, version string) (Target, error) {
	t := Target{Base: stage.BaseName, Copies: map[string][]string{}, Config: v1.Config{
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Labels: map[string]string{},
	}}
	expand := strings.NewReplacer("${VERSION}", version).Replace
	for _, command := range stage.Commands {
		switch c := command.(type) {
		case *instructions.ArgCommand:
		case *instructions.LabelCommand:
			for _, label := range c.Labels {
				t.Config.Labels[label.Key] = expand(strings.Trim(label.Value, `"`))
			}
		case *instructions.EnvCommand:
			for _, env := range c.Env {
				t.Config.Env = append(t.Config.Env, env.Key+"="+expand(env.Value))
			}
		case *instructions.UserCommand:
			t.Config.User = c.User
		case *instructions.WorkdirCommand:
			t.Config.WorkingDir = c.Path
		case *instructions.EntrypointCommand:
			if c.PrependShell {
				return t, fmt.Errorf("target %s: ENTRYPOINT needs a shell: write it as a list", stage.Name)
			}
			t.Config.Entrypoint = c.CmdLine
		case *instructions.CopyCommand:
			t.Copies[c.From] = append(t.Copies[c.From], append(c.SourcePaths, c.DestPath)...)
		case *instructions.RunCommand:
			t.Runs = append(t.Runs, c.String())
		default:
			return t, fmt.Errorf("target %s: %s is not known here", stage.Name, command.Name())
		}
	}
	return t, nil
}
