package schemagen_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/schemagen"
)

// The schema of a split is inferred from its records.
func ExampleInfer() {
	train := schemagen.NewStatistics("train")
	for _, company := range []string{"Flash", "Blue Ribbon", "Flash"} {
		var b example.Builder
		if err := train.Add(b.Float("fare", 12.5).String("company", company).Build()); err != nil {
			fmt.Println(err)
			return
		}
	}
	schema, err := schemagen.Infer(schemagen.Options{MaxStringDomain: schemagen.DefaultMaxStringDomain}, train)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(schema.Text()))
	// Output:
	// feature {
	//   name: "company"
	//   type: BYTES
	//   domain: "company"
	//   presence {
	//     min_fraction: 1.0
	//     min_count: 1
	//   }
	//   shape {
	//     dim {
	//       size: 1
	//     }
	//   }
	// }
	// feature {
	//   name: "fare"
	//   type: FLOAT
	//   presence {
	//     min_fraction: 1.0
	//     min_count: 1
	//   }
	//   shape {
	//     dim {
	//       size: 1
	//     }
	//   }
	// }
	// string_domain {
	//   name: "company"
	//   value: "Blue Ribbon"
	//   value: "Flash"
	// }
}
