package tidy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The libraries that have one door each.
var (
	pgx       = []string{"github.com/jackc/pgx", "github.com/jackc/pgx/v5"}
	amqp      = []string{"github.com/rabbitmq/amqp091-go", "github.com/ThreeDotsLabs/watermill-amqp"}
	goRedis   = []string{"github.com/redis/go-redis"}
	watermill = []string{"github.com/ThreeDotsLabs/watermill"}
	otel      = []string{"go.opentelemetry.io"}
)

// The layers, from the top down.
var (
	edges    = own("cmd", "router", "internal/daemon", "internal/console")
	adapters = own("internal/store", "internal/amqp", "internal/quota")
	useCases = own("internal/engine", "internal/claims", "internal/outbox", "internal/deadletter", "internal/reconcile")
)

func own(directories ...string) []string {
	paths := make([]string, 0, len(directories))
	for _, directory := range directories {
		paths = append(paths, module+"/"+directory)
	}
	return paths
}

// A direction restricts what packages may import. Test files are free.
type direction struct {
	name   string
	reason string
	// It concerns the packages of, everything when empty, without those in but.
	of, but []string
	// They must not import never; with reach, not by way of our other packages either.
	never []string
	reach bool
	// When closed, they import the standard library, themselves and only.
	closed bool
	only   []string
	// For the fixture: a package that it concerns, and an import that it must not have.
	breaker, breaks string
}

var directions = []direction{
	{
		name: "messages: standard library only", of: own("messages"), but: own("messages/client"), closed: true,
		reason:  "upstream teams may copy the contracts; they must not get our dependencies with them",
		breaker: "messages", breaks: "github.com/google/uuid",
	}, {
		name: "messages/client: contracts and protocol", of: own("messages/client"), closed: true,
		only:    slices.Concat(own("messages"), []string{"github.com/rabbitmq/amqp091-go"}),
		reason:  "upstream teams import the client; they must get nothing of the product with it",
		breaker: "messages/client", breaks: module + "/internal/amqp",
	}, {
		name: "batcher: standard library only", of: own("internal/batcher"), closed: true,
		reason:  "group commit knows nothing of coupons, so that it can be proved on its own",
		breaker: "internal/batcher", breaks: module + "/internal/coupon",
	}, {
		name: "coupon: policy only", of: own("internal/coupon"), closed: true, only: own("internal/policy"),
		reason:  "the rules of money are decided by pure functions on rows in memory",
		breaker: "internal/coupon", breaks: module + "/internal/store",
	}, {
		name: "claims: the core and batches only", of: own("internal/claims"), closed: true,
		only:    slices.Concat(own("internal/coupon", "internal/batcher"), []string{"golang.org/x/sync", "golang.org/x/time"}),
		reason:  "who stands before the engine names what it needs of it, so that pools and books can be replaced by memory",
		breaker: "internal/claims", breaks: module + "/internal/engine",
	}, {
		name: "policy: cel only", of: own("internal/policy"), closed: true, only: []string{"github.com/google/cel-go"},
		reason:  "a return decision is a pure function of the policy document and the facts",
		breaker: "internal/policy", breaks: module + "/internal/coupon",
	}, {
		name: "handlers: what they translate from and to", of: own("handlers"), closed: true,
		only:    own("messages", "internal/coupon", "internal/policy", "internal/outbox"),
		reason:  "a handler turns bytes into a request and an effect into an outgoing message; who acts is not its business",
		breaker: "handlers", breaks: module + "/internal/engine",
	}, {
		name: "migrations: goose only", of: own("migrations"), closed: true, only: []string{"github.com/pressly/goose/v3"},
		reason:  "migrations are files and the tool that applies them; the driver comes from internal/store",
		breaker: "migrations", breaks: module + "/internal/store",
	}, {
		name: "pgx: internal/store only", but: own("internal/store"), never: pgx,
		reason:  "one package knows the database, so one package has to be right about it",
		breaker: "internal/outbox", breaks: "github.com/jackc/pgx/v5/pgxpool",
	}, {
		name: "the broker's protocol: internal/amqp, and the client of others", never: amqp,
		but:     own("internal/amqp", "messages/client"),
		reason:  "settling, confirming and draining are subtle and are done right in one place",
		breaker: "router", breaks: "github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp",
	}, {
		name: "go-redis: internal/quota only", but: own("internal/quota"), never: goRedis,
		reason:  "Redis is a hint about the quota and never the truth; nothing else may lean on it",
		breaker: "internal/engine", breaks: "github.com/redis/go-redis/v9",
	}, {
		name: "watermill: at the edge only", but: slices.Concat(own("internal/amqp"), edges), never: watermill,
		reason:  "use cases run in the simulator, which has no broker and no router",
		breaker: "internal/outbox", breaks: "github.com/ThreeDotsLabs/watermill/message",
	}, {
		name: "OpenTelemetry: internal/tracing only", but: own("internal/tracing"), never: otel,
		reason:  "everybody else says what happens through small hooks, which cost nothing while nothing is traced",
		breaker: "router", breaks: "go.opentelemetry.io/otel/trace",
	}, {
		name: "tracing: at the edge only", but: slices.Concat(own("internal/tracing"), edges), never: own("internal/tracing"),
		reason:  "use cases and adapters are followed by whoever wires them",
		breaker: "internal/engine", breaks: module + "/internal/tracing",
	}, {
		name: "use cases do not know adapters", of: useCases, never: adapters, reach: true,
		reason:  "a use case names what it needs in an interface; store, amqp and quota satisfy it",
		breaker: "internal/engine", breaks: module + "/internal/store",
	}, {
		name: "arrows point down: below the edges", but: edges, never: edges, reach: true,
		reason:  "what can be called from everywhere must not call back to where the process begins",
		breaker: "internal/store", breaks: module + "/router",
	}, {
		name: "arrows point down: below the handlers", of: slices.Concat(useCases, adapters), never: own("handlers"),
		reason:  "handlers translate for use cases; a use case that translates has two meanings",
		breaker: "internal/engine", breaks: module + "/handlers",
	}, {
		name: "adapters do not know each other", of: own("internal/amqp", "internal/quota"),
		never:   own("internal/store"),
		reason:  "broker, database and Redis are joined by use cases, where the order of their effects is visible",
		breaker: "internal/quota", breaks: module + "/internal/store",
	}, {
		name: "simulate: no real service", of: own("internal/simulate"), reach: true,
		never:   slices.Concat(pgx, amqp, goRedis, watermill, adapters),
		reason:  "a simulated world is repeatable from its seed only if nothing in it is real",
		breaker: "internal/simulate", breaks: module + "/internal/quota",
	}, {
		name: "commands are imported by nobody", never: own("cmd"),
		reason:  "a main package wires; what is worth importing belongs below internal",
		breaker: "internal/console", breaks: module + "/cmd/couponctl",
	}, {
		name: "test tools: tests only", never: own(testTools...),
		reason:  "the product must not carry its test tools, which import past every door",
		breaker: "internal/engine", breaks: module + "/internal/testkit",
	}, {
		name: "no frameworks", never: []string{
			"github.com/stretchr/testify", "github.com/golang/mock", "go.uber.org/mock", "go.uber.org/fx",
			"go.uber.org/dig", "github.com/google/wire", "gorm.io", "github.com/uptrace/bun", "entgo.io",
			"github.com/gin-gonic/gin", "github.com/labstack/echo", "github.com/gofiber/fiber", "github.com/go-chi/chi",
			"github.com/spf13/viper", "github.com/pkg/errors",
		},
		reason:  "the standard library does it, or hides less",
		breaker: "internal/console", breaks: "github.com/gin-gonic/gin",
	},
}

var importRules = makeImportRules()

func makeImportRules() []rule {
	all := make([]rule, 0, len(directions))
	for _, d := range directions {
		bad := map[string]string{
			d.breaker + "/x.go":         "package x\n\nimport _ \"" + d.breaks + "\"\n",
			d.breaker + "/fine_test.go": "package x\n\nimport _ \"" + d.breaks + "\"\n",
		}
		// What is forbidden in product code is not in its tests; everybody may import errors.
		good := map[string]string{
			d.breaker + "/x.go":         "package x\n\nimport _ \"errors\"\n",
			d.breaker + "/fine_test.go": "package x\n\nimport _ \"" + d.breaks + "\"\n",
		}
		for i, allowed := range d.only {
			good[fmt.Sprintf("%s/only%d.go", d.breaker, i)] = "package x\n\nimport _ \"" + allowed + "\"\n"
		}
		all = append(all, rule{
			name: d.name, reason: d.reason, check: d.check, good: good, bad: bad, want: []string{d.breaks},
		})
	}
	return append(all, throughRule)
}

// throughRule is a direction again, on a tree where only the import of an import breaks it.
var throughRule = rule{
	name: "simulate: no real service by way of another package", reason: "see simulate",
	check: direction{of: own("internal/simulate"), never: pgx, reach: true}.check,
	good: map[string]string{
		"internal/simulate/x.go": "package x\n\nimport _ \"couponlease/internal/engine\"\n",
		"internal/engine/x.go":   "package x\n\nimport _ \"errors\"\n",
	},
	bad: map[string]string{
		"internal/simulate/x.go": "package x\n\nimport _ \"couponlease/internal/engine\"\n",
		"internal/engine/x.go":   "package x\n\nimport _ \"github.com/jackc/pgx/v5\"\n",
	},
	want: []string{"couponlease/internal/engine → github.com/jackc/pgx/v5"},
}

func (d direction) check(r tree) []string {
	return each(r.golang(false), func(f file) []string {
		importer := module + "/" + f.dir()
		if (len(d.of) > 0 && !within(importer, d.of...)) || within(importer, d.but...) {
			return nil
		}
		var found []string
		imports := r.imports(f)
		for _, imported := range slices.Sorted(maps.Keys(imports)) {
			if way := d.violation(r, importer, imported); way != "" {
				found = append(found, finding(f.name, imports[imported], "%s imports %s", f.dir(), way))
			}
		}
		return found
	})
}

// violation is the way from imported to a package that importer must not have, empty when there is none.
func (d direction) violation(r tree, importer, imported string) string {
	if within(imported, d.never...) || (d.closed && !isStandard(imported) && !within(imported, d.of...) &&
		!within(imported, d.only...)) {
		return imported
	}
	if !d.reach {
		return ""
	}
	return r.way(imported, d.never, map[string]bool{importer: true})
}

// way finds a chain of imports from one of our packages to a forbidden one.
func (r tree) way(from string, never []string, seen map[string]bool) string {
	if seen[from] || !within(from, module) {
		return ""
	}
	seen[from] = true
	for _, f := range r.golang(false) {
		if module+"/"+f.dir() != from {
			continue
		}
		for _, next := range slices.Sorted(maps.Keys(r.imports(f))) {
			if within(next, never...) {
				return from + " → " + next
			}
			if rest := r.way(next, never, seen); rest != "" {
				return from + " → " + rest
			}
		}
	}
	return ""
}

// isStandard: import paths of the standard library have no dot in their first element, and ours begin with the module.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return first != module && !strings.Contains(first, ".")
}
