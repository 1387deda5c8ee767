package savedmodel

import (
	"fmt"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/nn"
)

// addTables makes a hash table for each vocabulary of the graph.
func (b *builder) addTables(nodes []nn.Node) {
	b.tables = map[string]capture{}
	for _, n := range nodes {
		if n.Op == nn.OpVocab {
			b.tables[n.Name] = b.addTable(n.Name, n.Attr.Vocabulary)
		}
	}
}

// addTable makes a table from token to index. It comes to life in two ways, both needed: the init op of the top graph runs
// the initializer, and tf.saved_model.load calls the object's own functions.
func (b *builder) addTable(name string, vocabulary []string) capture {
	id := b.objects.add(&corepb.SavedObject{Kind: &corepb.SavedObject_Resource{Resource: &corepb.SavedResource{}}})
	shared := fmt.Sprintf("table_%d", id)
	b.objects.child(rootObject, id, shared)
	a := attrs{"key_dtype": typeAttr(stringType), "value_dtype": typeAttr(int64Type), "shared_name": stringAttr(shared)}
	table := capture{object: id, node: b.top.node("HashTableV2", name+"/table", a), dtype: resourceType}

	create := newFunction(b.numbered("_creator"))
	create.output("table", create.op("HashTableV2", "hash_table", a), resourceType)
	initialize := b.tableInitializer(table, vocabulary)
	destroy := newFunction(b.numbered("_destroyer"))
	destroy.output("done", destroy.constant("done", int32Const(1)), int32Type)

	done := tensorSpec{key: "unknown", dtype: int32Type, shape: []int{}}
	handle := tensorSpec{key: "unknown", dtype: resourceType, shape: []int{}}
	b.objects.child(id, b.objects.tracedFunction(create, handle), "_create_resource")
	b.objects.child(id, b.objects.tracedFunction(initialize, done), "_initialize")
	b.objects.child(id, b.objects.tracedFunction(destroy, done), "_destroy_resource")
	b.functions = append(b.functions, create, initialize, destroy)
	b.inits = append(b.inits, b.top.call(name+"/initialize", initialize))
	return table
}

// tableInitializer fills the table with the tokens and their indices. A token that stands twice has its first index.
func (b *builder) tableInitializer(table capture, vocabulary []string) *function {
	var tokens []string
	var indices []int64
	seen := map[string]bool{}
	for i, token := range vocabulary {
		if !seen[token] {
			seen[token] = true
			tokens, indices = append(tokens, token), append(indices, int64(i))
		}
	}
	f := newFunction(b.numbered("_initializer"))
	fill := f.node("LookupTableImportV2", "import", attrs{"Tin": typeAttr(stringType), "Tout": typeAttr(int64Type)},
		f.capture(table), f.constant("tokens", stringsConst(tokens)), f.constant("indices", int64sConst(indices)))
	f.def.Signature.ControlOutput = []string{"import"}
	f.def.ControlRet["import"] = fill
	one := f.constant("one", int32Const(1))
	done := f.op("Identity", "done", attrs{"T": typeAttr(int32Type)}, one, tensor("^"+fill))
	f.output("done", done, int32Type)
	return f
}
