package console

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/internal/amqp"
	"couponlease/internal/config"
	"couponlease/internal/testkit"
)

// patient is an installation on real services, in which everything is as it should be.
type patient struct {
	t        testing.TB
	world    *world
	broker   testkit.Broker
	services config.Services
	channel  *amqp091.Channel
}

func newPatient(t testing.TB) *patient {
	t.Helper()
	p := &patient{t: t, world: newWorld(t), broker: testkit.RabbitMQ(t)}
	redis, prefix := testkit.Redis(t)
	p.services = config.Services{
		PostgresURL: p.world.address, AMQPURL: p.broker.URL, AMQPManagementURL: p.broker.ManagementURL, RedisURL: redis, RedisPrefix: prefix,
		Tokens: config.Tokens{TokenKeys: strings.Repeat("ab", 32)},
	}
	conn, err := amqp091.Dial(p.broker.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if p.channel, err = conn.Channel(); err != nil {
		t.Fatal(err)
	}
	return p
}

// layout puts the broker's layout in place.
func (p *patient) layout() {
	p.t.Helper()
	conn, err := amqp.Connect(amqp.ConnConfig{URL: p.broker.URL})
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	if err := amqp.Apply(p.t.Context(), conn, amqp.DefaultLayout(amqp.Options{})); err != nil {
		p.t.Fatal(err)
	}
}

func (p *patient) consume(queues ...string) {
	p.t.Helper()
	for _, queue := range queues {
		if _, err := p.channel.Consume(queue, "", false, false, false, false, nil); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *patient) examine() HealthReport {
	p.t.Helper()
	return Doctor(p.t.Context(), p.services, DoctorOptions{Timeout: 30 * time.Second, InboxRetention: 14})
}

// complaints are what has to be done something about.
func (r HealthReport) complaints() (all []string) {
	for _, d := range r.Diagnoses {
		if d.Severity == SeverityWarning || d.Severity == SeverityError {
			all = append(all, fmt.Sprintf("%s %s: %s -> %s", d.Severity, d.Check, d.Finding, d.Remedy))
		}
	}
	return all
}

// want fails the test unless there is one complaint with each of the beginnings, which
// has a remedy, and no other.
func (r HealthReport) want(t testing.TB, beginnings ...string) {
	t.Helper()
	complaints := r.complaints()
	for _, beginning := range beginnings {
		i := slices.IndexFunc(complaints, func(c string) bool { return strings.HasPrefix(c, beginning) })
		if i < 0 {
			t.Errorf("nobody complains of %q, but of:\n%s", beginning, strings.Join(complaints, "\n"))
			continue
		}
		if strings.HasSuffix(complaints[i], "-> ") {
			t.Errorf("no remedy: %s", complaints[i])
		}
		complaints = slices.Delete(complaints, i, i+1)
	}
	if len(complaints) > 0 {
		t.Errorf("more complaints than expected:\n%s", strings.Join(complaints, "\n"))
	}
}

func TestDoctorFindsNothingWhereNothingIs(t *testing.T) {
	p := newPatient(t)
	p.layout()
	p.consume(append(handled(), amqp.QueueDead)...)
	report := p.examine()
	report.want(t)
	for _, says := range []string{"PostgreSQL 1", "RabbitMQ ", "Redis ", "clock of RabbitMQ", "token keys: configured"} {
		var b strings.Builder
		if err := report.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), says) {
			t.Errorf("it does not say %q:\n%s", says, &b)
		}
	}
}

// TestDoctorFindsWhatIsWrong with database and keys: each fault is real.
func TestDoctorFindsWhatIsWrong(t *testing.T) {
	p := newPatient(t)
	p.layout()
	p.consume(append(handled(), amqp.QueueDead)...)
	today := time.Now().UTC()
	day := func(offset int) string { return today.AddDate(0, 0, offset).Format("20060102") }
	old := today.AddDate(0, 0, -40)
	p.world.sql(
		"delete from goose_db_version where version_id = 2",
		"insert into goose_db_version (version_id, is_applied) values (99999, true)",
		"select drop_partition('inbox_"+day(0)+"')", "select drop_partition('lease_timer_near_"+day(1)+"')",
		fmt.Sprintf("select create_partition('inbox', 'inbox_%s', 'day', '%s', '%s')", old.Format("20060102"),
			old.Format(time.DateOnly), old.AddDate(0, 0, 1).Format(time.DateOnly)),
	)
	p.services.PostgresURL = strings.Replace(p.services.PostgresURL, "options=", "options=-csynchronous_commit%3Doff%20", 1)
	p.services.TokenKeys = ""
	p.examine().want(t,
		"error database: synchronous_commit is off", "error migrations: 1 migration pending, from 00002_coupons.sql on",
		"warning migrations: 1 migration of a newer release", "error partitions: missing for today: inbox_"+day(0),
		"warning partitions: missing for tomorrow: lease_timer_near_"+day(1),
		"warning partitions: 1 old partition still there", "warning token keys: there are none",
	)
	p.services.TokenKeys = "short"
	if got := strings.Join(p.examine().complaints(), "\n"); !strings.Contains(got, "error token keys: ") ||
		strings.Contains(got, "short") {
		t.Errorf("of a wrong key it says:\n%s", got)
	}
}

func TestDoctorFindsWhatIsWrongWithTheBroker(t *testing.T) {
	p := newPatient(t)
	p.examine().want(t, "error broker layout: 107 objects missing: exchange commerce, ")
	p.layout()
	if _, err := p.channel.QueueDelete(amqp.QueueClaims, false, false, false); err != nil {
		t.Fatal(err)
	}
	for _, queue := range []string{"coupon-old", amqp.QueueClaims} {
		if _, err := p.channel.QueueDeclare(queue, true, false, false, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	p.consume(handled()[1:]...)
	for _, queue := range []string{amqp.QueueUndeliverable, handled()[0]} {
		if err := p.channel.PublishWithContext(t.Context(), "", queue, false, false, amqp091.Publishing{}); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, 10*time.Second, "the message is there", func() (bool, string) {
			return p.broker.QueueDepth(t, queue) == 1, ""
		})
	}
	p.broker.SetPolicy(t, testkit.Policy{
		Name: "short", Pattern: "^coupon-commands$", ApplyTo: "queues", Definition: map[string]any{"delivery-limit": 3},
	})
	want := []string{
		"error broker layout: 3 objects missing: binding ", "error broker layout: inequivalent queue coupon-claims",
		"warning broker layout: extra queue coupon-old",
		"error broker layout: overruled queue coupon-commands (by policy short: delivery-limit is 3, not 50)",
		"error consumers: nobody consumes " + handled()[0] + "; 1 message waiting",
		"warning consumers: nobody files dead letters", "warning consumers: 1 delayed message in coupon-undeliverable",
	}
	p.examine().want(t, want...)
	p.services.AMQPManagementURL = strings.Replace(p.broker.ManagementURL, "//", "//nobody:at-all@", 1)
	if _, rest, found := strings.Cut(p.broker.ManagementURL, "@"); found {
		p.services.AMQPManagementURL = "http://nobody:at-all@" + rest
	}
	if got := strings.Join(p.examine().complaints(), "\n"); !strings.Contains(got, "error broker management: it is not reached") ||
		strings.Contains(got, "at-all") {
		t.Errorf("of a user that there is not it says:\n%s", got)
	}
}

// TestDoctorIsNotHeldUp: services that take a connection and say nothing, or do not take
// it, are found, and so is what the others have to say.
func TestDoctorIsNotHeldUp(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	healthy := newPatient(t)
	for _, address := range []string{silent.Addr().String(), "127.0.0.1:1"} {
		all := config.Services{
			PostgresURL: "postgres://u:hush@" + address + "/d", AMQPURL: "amqp://u:hush@" + address,
			AMQPManagementURL: "http://u:hush@" + address, RedisURL: "redis://u:hush@" + address,
			Tokens: healthy.services.Tokens,
		}
		report := Doctor(t.Context(), all, DoctorOptions{Timeout: 500 * time.Millisecond, InboxRetention: 14})
		report.want(t, "error database: it is not reached", "error broker: it is not reached",
			"error broker management: it is not reached", "warning redis: it is not reached")
		if text := fmt.Sprint(report.Diagnoses); strings.Contains(text, "hush") {
			t.Errorf("%s: it says %s", address, text)
		}
		healthy.services.AMQPURL, healthy.services.AMQPManagementURL = all.AMQPURL, ""
		report = Doctor(t.Context(), healthy.services, DoctorOptions{Timeout: 2 * time.Second, InboxRetention: 14})
		report.want(t, "error broker: it is not reached")
	}
	Doctor(t.Context(), config.Services{Tokens: healthy.services.Tokens}, DoctorOptions{Timeout: time.Second}).want(t,
		"error database: COUPONLEASE_POSTGRES_URL is not set", "error broker: COUPONLEASE_AMQP_URL is not set")
}

// TestChecksThatDoNotEndAreGivenUp although they do not listen.
func TestChecksThatDoNotEndAreGivenUp(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	d := &doctor{options: DoctorOptions{Timeout: time.Millisecond}}
	got := d.examine(t.Context(), check{"deaf", func(context.Context) ([]Diagnosis, error) {
		<-release
		return nil, nil
	}}, check{"quick", func(context.Context) ([]Diagnosis, error) { return nil, nil }})
	if len(got) != 2 || got[0].Severity != SeverityError || !strings.Contains(got[0].Finding, "no answer within 1ms") ||
		got[1].Severity != SeverityOK {
		t.Errorf("%+v", got)
	}
}
