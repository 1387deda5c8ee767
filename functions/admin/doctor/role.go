package doctor

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

// Role checks whether the bus permits this client what the programs of a role do, a line for each. refused asks the bus.
func Role(role access.Role, scope access.Scope, refused func(context.Context, jetstream.Permits) (jetstream.Permits, error)) Check {
	return Func("role "+string(role), func(ctx context.Context) (all []Finding) {
		needs, err := role.Needs(scope)
		if err != nil {
			return []Finding{Warn("--role, --pipeline and --class say more of it", "not known what it may: %v", err)}
		}
		for _, need := range needs {
			no, err := refused(ctx, jetstream.Permits{Publish: need.Publish, Subscribe: need.Subscribe})
			if err != nil {
				return append(all, Wrong("look at what is said of the bus", "not known whether it may %s: %v", need.To, err))
			}
			all = append(all, ofNeed(role, need, no))
		}
		return all
	})
}

func ofNeed(role access.Role, need access.Need, no jetstream.Permits) Finding {
	of, refused := len(need.Publish)+len(need.Subscribe), len(no.Publish)+len(no.Subscribe)
	do := fmt.Sprintf("`stoker access nats %s` prints what the server is to allow", role)
	var first string
	switch {
	case refused == 0:
		return Fine("may %s", need.To)
	case len(no.Publish) > 0:
		first = "publish to " + no.Publish[0]
	default:
		first = "listen to " + no.Subscribe[0]
		do += "; --nats-inbox (NATS_INBOX_PREFIX) is where answers are heard"
	}
	return Wrong(do, "may not %s: refused to %s (%d of %d subjects)", need.To, first, refused, of)
}
