package savedmodel

import (
	"fmt"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/nn"
)

// tableOp makes a table that is filled once.
const tableOp = "HashTableV2"

// addTables makes a hash table for each vocabulary of the graph.
func (b *builder) addTables(nodes []nn.Node) {
	b.tables = map[string]capture{}
	for _, n := range nodes {
		if n.Op == nn.OpVocab {
			b.tables[n.Name] = b.addTable(n.Name, n.Attr.Vocabulary)
		}
	}
}

// addTable makes a table from token to index. It is filled in two ways, which are both needed: the
// init op of the top graph runs the initializer, and tf.saved_model.load calls the object's own
// functions.
func (b *builder) addTable(name string, vocabulary []string) capture {
	id := b.objects.add(&corepb.SavedObject{Kind: &corepb.SavedObject_Resource{Resource: &corepb.SavedResource{}}})
	shared := fmt.Sprintf("table_%d", id)
	b.objects.child(rootObject, id, shared)
	a := attrs{"key_dtype": typeAttr(stringType), "value_dtype": typeAttr(int64Type), "shared_name": stringAttr(shared)}
	table := capture{object: id, node: b.top.node(tableOp, name+"/table", a), dtype: resourceType}

	create, initialize := newFunction(b.numbered("_creator")), newFunction(b.numbered("_initializer"))
	destroy := newFunction(b.numbered("_destroyer"))
	initialize.fillTable(table, vocabulary)
	b.objects.tableFunctions(id, a, create, initialize, destroy)
	b.functions = append(b.functions, create, initialize, destroy)
	b.inits = append(b.inits, b.top.call(name+"/initialize", initialize))
	return table
}

// tableFunctions adds to a table's object the functions by which tf.saved_model.load creates a
// table of those attributes, fills it and destroys it. The one that fills it must exist, the others
// are written here.
func (o *objects) tableFunctions(id int32, a attrs, create, initialize, destroy *function) {
	create.output("table", create.op(tableOp, "hash_table", a), resourceType)
	destroy.output("done", destroy.constant("done", int32Const(1)), int32Type)
	done := tensorSpec{key: "unknown", dtype: int32Type, shape: []int{}}
	handle := tensorSpec{key: "unknown", dtype: resourceType, shape: []int{}}
	o.child(id, o.tracedFunction(create, handle), "_create_resource")
	o.child(id, o.tracedFunction(initialize, done), "_initialize")
	o.child(id, o.tracedFunction(destroy, done), "_destroy_resource")
}

// fillTable fills the table with the tokens and their indices. A token that occurs twice has its
// first index.
func (f *function) fillTable(table capture, vocabulary []string) {
	var tokens []string
	var indices []int64
	seen := map[string]bool{}
	for i, token := range vocabulary {
		if !seen[token] {
			seen[token] = true
			tokens, indices = append(tokens, token), append(indices, int64(i))
		}
	}
	fill := f.node("LookupTableImportV2", "import", attrs{"Tin": typeAttr(stringType), "Tout": typeAttr(int64Type)},
		f.capture(table), f.constant("tokens", stringsConst(tokens)), f.constant("indices", int64sConst(indices)))
	f.endFilling(fill)
}

// endFilling completes the function that fills a table: it runs the node that fills, and returns 1.
func (f *function) endFilling(fill string) {
	f.def.Signature.ControlOutput = []string{"import"}
	f.def.ControlRet["import"] = fill
	one := f.constant("one", int32Const(1))
	done := f.op("Identity", "done", attrs{"T": typeAttr(int32Type)}, one, edge("^"+fill))
	f.output("done", done, int32Type)
}
