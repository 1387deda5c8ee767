package savedmodel

import (
	"math"
	"math/rand/v2"
	"testing"

	examplepb "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// tower returns a model that holds every op of nn.Graph, over features of every kind and shape.
func tower() Model {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(name string, trainable bool, shape ...int) nn.Param {
		n := 1
		for _, d := range shape {
			n *= d
		}
		p := nn.Param{Name: name, Shape: shape, Trainable: trainable}
		for range n {
			p.Values = append(p.Values, float32(rng.NormFloat64()))
		}
		return p
	}
	node := func(op nn.Op, name string, in ...string) nn.Node { return nn.Node{Name: name, Op: op, In: in} }
	deep := func(op nn.Op, name string, depth int, in ...string) nn.Node {
		return nn.Node{Name: name, Op: op, In: in, Attr: nn.Attr{Depth: depth}}
	}
	vocabulary := []string{"Cash", "Credit Card", "", "\xff no UTF-8", "Cash"}
	return Model{
		Graph: &nn.Graph{
			Inputs: []nn.Input{
				{Name: "miles", Kind: nn.Float32, Width: 1}, {Name: "Fare (USD)", Kind: nn.Float32, Width: 4},
				{Name: "hour", Kind: nn.Int64, Width: 1}, {Name: "areas", Kind: nn.Int64, Width: 2},
				{Name: "payment", Kind: nn.String, Width: 1}, {Name: "company", Kind: nn.String, Width: 2},
				{Name: "seconds", Kind: nn.Float32, Width: 1},
			},
			Nodes: []nn.Node{
				node(nn.OpSub, "centred", "miles", "miles/mean"), node(nn.OpMul, "scaled", "centred", "miles/scale"),
				node(nn.OpDropNaN, "known", "scaled"),
				deep(nn.OpClamp, "hour/clamped", 25, "hour"), deep(nn.OpOneHot, "hour/onehot", 25, "hour/clamped"),
				node(nn.OpCast, "areas/float", "areas"), deep(nn.OpOneHot, "areas/onehot", 5, "areas"),
				{Name: "payment/id", Op: nn.OpVocab, In: []string{"payment"}, Attr: nn.Attr{Depth: 6, Vocabulary: vocabulary}},
				deep(nn.OpEmbed, "payment/vector", 6, "payment/id", "payment/embedding"),
				deep(nn.OpHash, "company/id", 7, "company"), node(nn.OpEmbed, "company/vector", "company/id", "company/embedding"),
				node(nn.OpConcat, "joined", "known", "Fare (USD)", "hour/onehot", "areas/float", "areas/onehot", "payment/vector", "company/vector", "seconds"),
				node(nn.OpMatMul, "hidden/product", "joined", "hidden/kernel"), node(nn.OpAddBias, "hidden", "hidden/product", "hidden/bias"),
				node(nn.OpRelu, "relu", "hidden"), node(nn.OpTanh, "tanh", "hidden"), node(nn.OpSigmoid, "sigmoid", "hidden"),
				node(nn.OpAdd, "mixed", "relu", "tanh"), node(nn.OpConcat, "alone", "mixed"),
				node(nn.OpMatMul, "logits", "alone", "head/kernel.v1"), node(nn.OpSoftmax, "probabilities", "logits"),
			},
			Params: []nn.Param{
				random("miles/mean", false, 1), random("miles/scale", false, 1),
				random("payment/embedding", true, 6, 3), random("company/embedding", true, 7, 2),
				random("hidden/kernel", true, 50, 8), random("hidden/bias", true, 8), random("head/kernel.v1", true, 8, 3),
			},
			Outputs: []nn.Output{
				{Name: "probabilities", Node: "probabilities", Width: 3}, {Name: "logits", Node: "logits", Width: 3},
				{Name: "gate", Node: "sigmoid", Width: 8}, {Name: "payment_id", Node: "payment/id", Width: 1},
			},
		},
		Spec: example.Spec{
			{Name: "Fare (USD)", Kind: example.Float, Shape: []int{2, 2}, Default: &example.Default{Float: 9}},
			{Name: "areas", Kind: example.Int64, Shape: []int{2}},
			{Name: "company", Kind: example.Bytes},
			{Name: "hour", Kind: example.Int64},
			{Name: "miles", Kind: example.Float},
			{Name: "payment", Kind: example.Bytes, Shape: []int{1}},
			{Name: "seconds", Kind: example.Int64, Shape: []int{}},
			{Name: "unused", Kind: example.Float, Shape: []int{3}},
		},
		Defaults: map[string]example.Default{
			"miles": {Float: float32(math.NaN())}, "hour": {Int64: -1}, "payment": {Bytes: []byte("Cash")},
		},
	}
}

// towerRows makes raw examples and the inputs they have to become.
func towerRows(n int) (rows []*examplepb.Example, inputs map[string]nn.Value) {
	rng := rand.New(rand.NewPCG(3, 4))
	miles, fare, seconds := nn.Floats(1), nn.Floats(4), nn.Floats(1)
	hour, areas := nn.Ints(1), nn.Ints(2)
	payment, company := nn.Strings(1), nn.Strings(2)
	payments := []string{"Cash", "Credit Card", "", "\xff no UTF-8", "Dispute", "cash"}
	for range n {
		row := map[string]*examplepb.Feature{}
		rows = append(rows, &examplepb.Example{Features: &examplepb.Features{Feature: row}})
		sometimes := func() bool { return rng.IntN(3) > 0 }

		m, h, p := float32(math.NaN()), int64(-1), "Cash"
		if sometimes() {
			m = rng.Float32() * 10
			row["miles"] = floats(m)
		}
		if sometimes() {
			h = rng.Int64N(40) - 5
			row["hour"] = ints(h)
		}
		if sometimes() {
			p = payments[rng.IntN(len(payments))]
			row["payment"] = bytesOf(p)
		}
		f := []float32{9, 9, 9, 9}
		if sometimes() {
			for i := range f {
				f[i] = rng.Float32()
			}
			row["Fare (USD)"] = floats(f...)
		}
		a := []int64{rng.Int64N(8) - 1, rng.Int64N(8) - 1}
		row["areas"] = ints(a...)
		c := []string{"", ""}
		if sometimes() {
			c[0] = "Taxi"
			row["company"] = bytesOf(c[0])
		}
		s := rng.Int64N(1000)
		row["seconds"] = ints(s)

		miles.Floats, fare.Floats = append(miles.Floats, m), append(fare.Floats, f...)
		seconds.Floats = append(seconds.Floats, float32(s))
		hour.Ints, areas.Ints = append(hour.Ints, h), append(areas.Ints, a...)
		payment.Strings = append(payment.Strings, []byte(p))
		company.Strings = append(company.Strings, []byte(c[0]), []byte(c[1]))
	}
	return rows, map[string]nn.Value{
		"miles": miles, "Fare (USD)": fare, "hour": hour, "areas": areas, "payment": payment, "company": company, "seconds": seconds,
	}
}

func floats(v ...float32) *examplepb.Feature {
	return &examplepb.Feature{Kind: &examplepb.Feature_FloatList{FloatList: &examplepb.FloatList{Value: v}}}
}

func ints(v ...int64) *examplepb.Feature {
	return &examplepb.Feature{Kind: &examplepb.Feature_Int64List{Int64List: &examplepb.Int64List{Value: v}}}
}

func bytesOf(v ...string) *examplepb.Feature {
	list := &examplepb.BytesList{}
	for _, s := range v {
		list.Value = append(list.Value, []byte(s))
	}
	return &examplepb.Feature{Kind: &examplepb.Feature_BytesList{BytesList: list}}
}

func serialized(t *testing.T, rows []*examplepb.Example) [][]byte {
	t.Helper()
	var list [][]byte
	for _, r := range rows {
		b, err := marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}
