package storagetest_test

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

func ExampleFaulty() {
	ctx := context.Background()
	ref := storage.Ref{Bucket: "artifacts", Key: "commit.json"}
	plan := storagetest.Nth(storagetest.OpPutIf, 0, storagetest.Fault{LoseAnswer: true})
	store := storagetest.Faulty(storagetest.NewMemory(), plan)

	_, err := store.PutIf(ctx, ref, []byte("ours"), storage.Condition{IfAbsent: true})
	fmt.Println(err)
	_, err = store.PutIf(ctx, ref, []byte("ours"), storage.Condition{IfAbsent: true})
	fmt.Println(err)
	// Output:
	// store unavailable: answer lost, as planned
	// put s3://artifacts/commit.json: precondition failed
}
