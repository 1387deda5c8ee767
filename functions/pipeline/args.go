package pipeline

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Args are TFX's TrainArgs and EvalArgs. In a file they are a mapping, or, as in TFX, the text of
// the message in JSON ('{"num_steps": 100}') or in proto text ("num_steps: 100 splits: 'train'").
type Args struct {
	NumSteps int      `json:"num_steps,omitempty" jsonschema:"minimum=1,description=Number of steps. Default: the module's choice; for an evaluation\\, the whole split"`
	Splits   []string `json:"splits" jsonschema:"description=Splits to read. Each must exist in every Examples artifact. Default: [train]; for an evaluation\\, [eval]"`
}

// long parses a text as the message that it holds.
func (a *Args) long(n node) (node, error) {
	text, ok := n.value.(string)
	if !ok {
		return n, nil
	}
	message := dynamicpb.NewMessage(argsMessage)
	if err := readMessage(text, message); err != nil {
		return n, n.inText(a.forms(), err)
	}
	var fields []field
	message.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		fields = append(fields, field{key: string(f.Name()), at: n.at, node: node{at: n.at, value: nodeValue(f, v, n.at)}})
		return true
	})
	return node{at: n.at, value: fields}, nil
}

func (a *Args) forms() string {
	return "a mapping like {num_steps: 100, splits: [train]}, or the same as JSON or proto text"
}

// readMessage reads JSON, which begins with a brace, or proto text, which does not.
func readMessage(text string, message proto.Message) error {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return protojson.Unmarshal([]byte(text), message)
	}
	return prototext.Unmarshal([]byte(text), message)
}

func nodeValue(f protoreflect.FieldDescriptor, v protoreflect.Value, at position) any {
	if !f.IsList() {
		return json.Number(v.String())
	}
	list := make([]node, v.List().Len())
	for i := range list {
		list[i] = node{at: at, value: v.List().Get(i).String()}
	}
	return list
}

// argsMessage is TrainArgs, and except for its name EvalArgs, as in tfx/proto/trainer.proto; of
// version 2, which distinguishes 0 from a missing number.
var argsMessage = func() protoreflect.MessageDescriptor {
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("functions/pipeline/args.proto"), Package: proto.String("stoker.pipeline"), Syntax: proto.String("proto2"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Args"), Field: []*descriptorpb.FieldDescriptorProto{
			{
				Name: proto.String("splits"), JsonName: proto.String("splits"), Number: proto.Int32(1),
				Label: descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
			},
			{
				Name: proto.String("num_steps"), JsonName: proto.String("numSteps"), Number: proto.Int32(2),
				Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum(),
			},
		}}},
	}, nil)
	if err != nil {
		panic(err) // a mistake above
	}
	return file.Messages().Get(0)
}()

// place matches the position of an error in messages of the protobuf library.
var place = regexp.MustCompile(` ?\(line ([0-9]+):[0-9]+\)`)

// inText returns an error of a text inside the file, at the line of the file.
func (n node) inText(expected string, err error) error {
	// The library chooses one of the two blanks at random.
	message := strings.TrimLeft(strings.TrimPrefix(err.Error(), "proto:"), " \u00a0")
	at := n.at
	if found := place.FindStringSubmatch(message); found != nil && at != (position{}) {
		line, _ := strconv.Atoi(found[1])
		at.line += n.textLine + line - 1
		message = strings.TrimPrefix(strings.Replace(message, found[0], "", 1), ": ")
	}
	return failAt(at, "%s; expected %s", message, expected)
}

// addAt adds a problem with key at the position of err.
func (r *report) addAt(key string, err error) {
	known, ok := errors.AsType[problemAt](err)
	if !ok || known.Line == 0 {
		r.add(key, "%v", err)
		return
	}
	r.problems = append(r.problems, Problem{Line: known.Line, Column: known.Column, Key: key, Message: known.Message})
}
