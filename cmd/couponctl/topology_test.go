package main

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/amqp"
	"couponlease/internal/console"
)

func TestTopologyShowNeedsNoBroker(t *testing.T) {
	noServices(t)
	ctl(t, "topology", "show").want(t, exitOK, "coupon-order-placed", "coupon.events")
	shown := decode[amqp.Layout](t, ctl(t, "topology", "show", "--output", "json"))
	if _, found := shown.Queue(amqp.QueueLeaseExpired); !found {
		t.Errorf("the layout as JSON lacks queue %s", amqp.QueueLeaseExpired)
	}
}

func TestTopologyDiffAndApply(t *testing.T) {
	broker := onRabbitMQ(t)
	diff := ctl(t, "topology", "diff", "--output", "json")
	diff.want(t, exitFindings)
	missing := decode[console.TopologyDiff](t, diff)
	if !missing.BindingsCompared || len(missing.Differences) < 50 {
		t.Errorf("an empty broker differs in %d places, bindings compared: %t",
			len(missing.Differences), missing.BindingsCompared)
	}
	ctl(t, "topology", "apply").want(t, exitOK, "created queue coupon-order-placed", "in place: ")
	ctl(t, "topology", "diff").want(t, exitOK, "the broker is as the layout says")
	again := decode[console.TopologyChange](t, ctl(t, "topology", "apply", "-o", "json"))
	if len(again.Created) > 0 {
		t.Errorf("applying again created %v", again.Created)
	}
	broker.DeleteQueue(t, amqp.QueueClaims)
	gone := ctl(t, "topology", "diff")
	gone.want(t, exitFindings, "missing queue coupon-claims", "couponctl topology apply")
	ctl(t, "topology", "apply").want(t, exitOK, "created queue coupon-claims")
}

func TestTopologyDiffSaysWhatItCouldNotCompare(t *testing.T) {
	onRabbitMQ(t)
	ctl(t, "topology", "apply").want(t, exitOK)
	t.Setenv("COUPONLEASE_AMQP_MANAGEMENT_URL", "")
	ctl(t, "topology", "diff").want(t, exitOK, "COUPONLEASE_AMQP_MANAGEMENT_URL")
}

func TestTopologyApplyRefusesContradictions(t *testing.T) {
	broker := onRabbitMQ(t)
	conn, err := amqp.Connect(amqp.ConnConfig{URL: broker.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	classic := amqp.Layout{Queues: []amqp.Queue{{Name: amqp.QueueClaims}}}
	if err := amqp.Apply(t.Context(), conn, classic); err != nil {
		t.Fatal(err)
	}
	ctl(t, "topology", "apply").want(t, exitConflict, "inequivalent queue coupon-claims")
	diff := decode[console.TopologyDiff](t, ctl(t, "topology", "diff", "-o", "json"))
	if !slices.ContainsFunc(diff.Differences, func(d amqp.Difference) bool {
		return d.Kind == amqp.Missing && d.Name == amqp.QueueOrderPlaced
	}) {
		t.Error("apply created something although it met a contradiction")
	}
}

func TestTopologyPermissions(t *testing.T) {
	noServices(t)
	ctl(t, "topology", "permissions").want(t, exitOK, "order-service", "coupon.lock", "coupond")
	for name, args := range map[string][]string{"users.json": {"--users"}, "definitions.json": nil} {
		want, err := os.ReadFile("../../deploy/rabbitmq/" + name)
		if err != nil {
			t.Fatal(err)
		}
		got := ctl(t, append([]string{"topology", "permissions", "-o", "json"}, args...)...)
		if diff := cmp.Diff(string(want), got.stdout); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	t.Setenv("COUPONLEASE_AMQP_URL", "amqp://u:p@mq/shop")
	for want, args := range map[string][]string{"shop": nil, "mall": {"--vhost", "mall"}} {
		shown := decode[amqp.Definitions](t, ctl(t, append([]string{"topology", "permissions", "-o", "json"}, args...)...))
		if got := shown.Permissions[0].VHost; got != want {
			t.Errorf("rights are for virtual host %s, want %s", got, want)
		}
	}
}

func TestUnusableTLSFilesAreWrongUsage(t *testing.T) {
	noServices(t)
	ctl(t, "topology", "diff", "--amqp-url=amqps://u:hush@mq", "--amqp-ca-file", file(t, "ca.pem", "no certificate")).
		want(t, exitFindings, "--amqp-ca-file (COUPONLEASE_AMQP_CA_FILE)", "holds no certificate in PEM form")
	ctl(t, "topology", "diff", "--amqp-url=amqp://u:hush@mq", "--amqp-ca-file", file(t, "ca.pem", "")).
		want(t, exitFindings, "write amqps://")
}
