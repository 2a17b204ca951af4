package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// clean takes every variable of ours out of the environment of the test.
func clean(t *testing.T) {
	t.Helper()
	for _, flag := range flagsOf(&Daemon{}) {
		for _, env := range flag.Envs {
			// Set first, so that the variable comes back after the test.
			t.Setenv(env, "")
			unset(t, env)
		}
	}
}

// parse reads arguments as coupond does.
func parse(t *testing.T, args ...string) (Daemon, error) {
	t.Helper()
	var d Daemon
	reader := NewReader()
	parser, err := kong.New(&d, reader.Options()...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	return d, reader.Check(ctx)
}

func valid() Daemon {
	d := Default()
	d.PostgresURL = "postgres://u:p@db/coupons"
	d.AMQPURL = "amqp://u:p@mq/shop"
	return d
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	clean(t)
	t.Setenv("COUPONLEASE_BATCH", "many")
	t.Setenv("COUPONLEASE_PREFETCH", "0")
	t.Setenv("COUPONLEASE_SWEEP_INTERVAL", "soon")
	t.Setenv("COUPONLEASE_AMQP_URL", "http://guest:secret@mq")
	_, err := parse(t, "--order-lease=-5m", "--writers", "-3", "--topology=maybe", "--log-format=xml",
		"--http-addr=8080", "--amqp-ca-file=/no/such/file", "--drain-timeout=1", "--stacking=all",
		"--retry-tiers=1s,soon,2s")
	var wrong *Error
	if !errors.As(err, &wrong) {
		t.Fatalf("got %v, want an *Error", err)
	}
	want := []string{
		"--postgres-url (COUPONLEASE_POSTGRES_URL): is not set; use postgres://user:password@host:5432/database",
		"--amqp-url (COUPONLEASE_AMQP_URL): is not a URL of the form amqp:// or amqps://user:password@host:port/name",
		"--amqp-ca-file (COUPONLEASE_AMQP_CA_FILE): stat /no/such/file: no such file or directory; name a file that can be read",
		"--topology (COUPONLEASE_TOPOLOGY): \"maybe\" is unknown; use declare or verify or off",
		"--prefetch (COUPONLEASE_PREFETCH): 0 is out of range; use 1 to 2000",
		"--retry-tiers (COUPONLEASE_RETRY_TIERS): \"soon\" is not a duration; use 1s to 36h, such as 1s,8s,64s,512s",
		"--batch (COUPONLEASE_BATCH): \"many\" is not a whole number; use 1 to 4096",
		"--writers (COUPONLEASE_WRITERS): -3 is out of range; use 1 to 64",
		"--order-lease (COUPONLEASE_ORDER_LEASE): -5m0s is out of range; use 1s to 8760h",
		"--stacking (COUPONLEASE_STACKING): \"all\" is unknown; use ALL or PARTIAL",
		"--sweep-interval (COUPONLEASE_SWEEP_INTERVAL): \"soon\" is not a duration; use 0s to 1h, such as 10s",
		"--http-addr (COUPONLEASE_HTTP_ADDR): \"8080\" is not an address; use host:port, such as 127.0.0.1:8080 or :8080",
		"--log-format (COUPONLEASE_LOG_FORMAT): \"xml\" is unknown; use text or json",
		"--drain-timeout (COUPONLEASE_DRAIN_TIMEOUT): \"1\" is not a duration; use 1s to 10m, such as 20s",
	}
	if diff := cmp.Diff(want, wrong.Mistakes); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the message shows a password: %s", err)
	}
}

func TestFlagBeatsEnvironmentBeatsDefault(t *testing.T) {
	clean(t)
	t.Setenv("COUPONLEASE_POSTGRES_URL", "postgres://u:p@db/coupons")
	t.Setenv("COUPONLEASE_AMQP_URL", "amqp://u:p@mq/shop")
	t.Setenv("COUPONLEASE_BATCH", "64")
	t.Setenv("COUPONLEASE_WRITERS", "4")
	t.Setenv("COUPONLEASE_ORDER_LEASE", "nonsense that a flag overrides")
	got, err := parse(t, "--batch=32", "--order-lease=20m", "--retry-tiers=1s,2s")
	if err != nil {
		t.Fatal(err)
	}
	want := valid()
	want.Batch, want.Writers, want.OrderLease = 32, 4, 20*time.Minute
	want.RetryTiers = []time.Duration{time.Second, 2 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestCheckJudgesTheStructItself(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Daemon)
		want   string // part of the message; "" is no mistake
	}{
		{"valid", func(*Daemon) {}, ""},
		{"a lease of no length", func(d *Daemon) { d.OrderLease = 0 }, "--order-lease"},
		{"a negative lease", func(d *Daemon) { d.OrderLease = -time.Second }, "--order-lease"},
		{"sweeping switched off", func(d *Daemon) { d.SweepInterval = 0 }, ""},
		{"any free port", func(d *Daemon) { d.HTTPAddr = "127.0.0.1:0" }, ""},
		{"port out of range", func(d *Daemon) { d.HTTPAddr = "127.0.0.1:65536" }, "--http-addr"},
		{"no broker", func(d *Daemon) { d.AMQPURL = "" }, "--amqp-url"},
		{"no retries", func(d *Daemon) { d.RetryTiers = nil }, "--retry-tiers"},
		{"no shards", func(d *Daemon) { d.OutboxShards = 0 }, "--outbox-shards"},
		{"traces of more than all", func(d *Daemon) { d.TraceShare = "1.5" }, "--trace-share"},
		{"traces of no number", func(d *Daemon) { d.TraceShare = "NaN" }, "--trace-share"},
		{"traces over another protocol", func(d *Daemon) { d.TraceEndpoint = "grpc://x:4317" }, "--trace-endpoint"},
		{"all traces", func(d *Daemon) { d.TraceShare, d.TraceEndpoint = "1", "http://x:4318" }, ""},
		{"no queues for answers", func(d *Daemon) { d.ReplyQueues = "" }, ""},
		{"several kinds of queues for answers", func(d *Daemon) { d.ReplyQueues = "reply., answers-" }, ""},
		{"any queue for answers", func(d *Daemon) { d.ReplyQueues = "reply.,," }, "--reply-queues"},
		{"our queues for answers", func(d *Daemon) { d.ReplyQueues = "coupon-" }, "--reply-queues"},
		{"the broker's queues for answers", func(d *Daemon) { d.ReplyQueues = "amq." }, "--reply-queues"},
		{"too many kinds of queues for answers",
			func(d *Daemon) { d.ReplyQueues = strings.Repeat("r,", maxList) + "r" }, "--reply-queues"},
		{"nothing set at all", func(d *Daemon) { *d = Daemon{} }, "--writers"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := valid()
			test.change(&d)
			err := d.Check()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want a message about %q", err, test.want)
			}
		})
	}
}

func TestQueuesForAnswers(t *testing.T) {
	clean(t)
	tests := []struct {
		args []string
		want []string
	}{
		{nil, []string{"reply."}}, {[]string{"--reply-queues="}, nil},
		{[]string{"--reply-queues", "answers-, shop."}, []string{"answers-", "shop."}},
	}
	for _, test := range tests {
		d, _ := parse(t, test.args...)
		if diff := cmp.Diff(test.want, d.ReplyPrefixes()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.args, diff)
		}
	}
	t.Setenv("COUPONLEASE_REPLY_QUEUES", "")
	if d, _ := parse(t); d.ReplyPrefixes() != nil {
		t.Errorf("an empty variable allows %q", d.ReplyPrefixes())
	}
}

// TestEverySettingIsDocumented: a setting that is added is complete, or this fails.
func TestEverySettingIsDocumented(t *testing.T) {
	flags := flagsOf(&Daemon{})
	if len(flags) < 25 {
		t.Fatalf("only %d settings found", len(flags))
	}
	for _, flag := range flags {
		want := "COUPONLEASE_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		if len(flag.Envs) == 0 || flag.Envs[0] != want {
			t.Errorf("--%s: variables %q, want %s first", flag.Name, flag.Envs, want)
		}
		if len(flag.Help) < 20 || !strings.HasSuffix(flag.Help, ".") {
			t.Errorf("--%s: help %q is not a sentence", flag.Name, flag.Help)
		}
		if flag.Group == nil {
			t.Errorf("--%s: belongs to no group", flag.Name)
		}
		switch flag.Target.Interface().(type) {
		case int, time.Duration, []time.Duration:
			if !flag.Tag.Has("min") || !flag.Tag.Has("max") || !flag.HasDefault {
				t.Errorf("--%s: a number needs min, max and default", flag.Name)
			}
		case string:
			bounded := flag.Tag.Has("oneof") && flag.HasDefault || flag.Tag.Has("form")
			if !bounded {
				t.Errorf("--%s: a text needs oneof and a default, or a form", flag.Name)
			}
		default:
			t.Errorf("--%s: type %s is neither a number, a duration nor a text", flag.Name, flag.Target.Type())
		}
		if flag.Tag.Get("form") == "url" && !isSecret(flag) {
			t.Errorf("--%s: a URL may hold a password and must be redacted", flag.Name)
		}
	}
	if err := valid().Check(); err != nil {
		t.Errorf("the defaults are not valid: %v", err)
	}
}

func TestHelpShowsMeaningBoundsAndVariable(t *testing.T) {
	var d Daemon
	out := &strings.Builder{}
	parser, err := kong.New(&d, append(NewReader().Options(), kong.Writers(out, out), kong.Exit(func(int) {}))...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"--help"}); err != nil {
		t.Fatal(err)
	}
	help := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"--order-lease=15m How long an order holds its coupons when it does not say itself. Allowed: 1s to 8760h. ($COUPONLEASE_ORDER_LEASE)",
		"--transport=\"windowed\"",
		"Allowed: windowed or stock. ($COUPONLEASE_TRANSPORT)",
	} {
		if !strings.Contains(help, want) {
			t.Errorf("help does not say %q:\n%s", want, out)
		}
	}
}
