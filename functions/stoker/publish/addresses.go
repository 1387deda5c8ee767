package publish

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// addressFlags are members of events' data as flags: those that are addresses, by the name of the
// member with dashes.
type addressFlags struct {
	flags   *pflag.FlagSet
	blessed bool
}

// Members of data that are one address, and those that are lists of Examples artifacts.
var (
	oneAddress = map[string]string{
		"transform_graph": "address of the TransformGraph artifact", "schema": "address of the Schema artifact, or of schema.pbtxt",
		"statistics": "address of the ExampleStatistics artifact", "hyperparameters": "address of the HyperParameters artifact",
		"model": "address of the model that was blessed", "blessing": "address of the ModelBlessing artifact",
	}
	examplesAddresses = map[string]string{
		"examples": "address of an Examples artifact (repeatable)", "transformed_examples": "address of an Examples artifact that Transform wrote (repeatable)",
	}
)

func flagOf(member string) string { return strings.ReplaceAll(member, "_", "-") }

func (f *addressFlags) add(flags *pflag.FlagSet) {
	f.flags = flags
	for member, says := range oneAddress {
		flags.String(flagOf(member), "", says)
	}
	for member, says := range examplesAddresses {
		flags.StringSlice(flagOf(member), nil, says)
	}
	flags.BoolVar(&f.blessed, "blessed", true, "whether the model is blessed")
}

// given returns the name of a flag that is set; "" if none is.
func (f *addressFlags) given() (name string) {
	f.flags.Visit(func(flag *pflag.Flag) {
		member := strings.ReplaceAll(flag.Name, "-", "_")
		if oneAddress[member] != "" || examplesAddresses[member] != "" || flag.Name == "blessed" {
			name = flag.Name
		}
	})
	return name
}

// named returns the error about a member of data with the name of its flag.
func (f *addressFlags) named(err error) error {
	wrong, ok := errors.AsType[*events.Invalid](err)
	if !ok {
		return err
	}
	member, _, _ := strings.Cut(strings.TrimPrefix(wrong.Field, "data."), "[")
	flag := f.flags.Lookup(flagOf(member))
	switch {
	case flag == nil:
		return err
	case wrong.Got == "" && !flag.Changed:
		return fmt.Errorf("missing --%s s3://BUCKET/KEY, the %s", flag.Name, strings.TrimSuffix(flag.Usage, " (repeatable)"))
	}
	return fmt.Errorf("--%s: %w%s", flag.Name, err, local(strings.Trim(wrong.Got, `"`)))
}

// local returns, for the end of an error about an address, how a local path becomes one.
func local(path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return fmt.Sprintf(": `stoker upload %s s3://BUCKET/KEY` uploads it", app.Quoted(path))
}

// data returns the data of an event of a kind. Whether they suffice is for the kind to say.
func (f *addressFlags) data(kind events.Kind) ([]byte, error) {
	data := map[string]any{}
	for member := range oneAddress {
		if flag := f.flags.Lookup(flagOf(member)); flag.Changed {
			data[member] = flag.Value.String()
		}
	}
	for member := range examplesAddresses {
		if flag := f.flags.Lookup(flagOf(member)); flag.Changed {
			var artifacts []map[string]string
			for _, uri := range flag.Value.(pflag.SliceValue).GetSlice() {
				artifacts = append(artifacts, map[string]string{"uri": uri})
			}
			data[member] = artifacts
		}
	}
	if kind == events.KindModelBlessed {
		data["blessed"] = f.blessed
	} else if f.flags.Changed("blessed") {
		return nil, exit.Usage(fmt.Errorf("--blessed: %s has no such member", kind))
	}
	return json.Marshal(data)
}
