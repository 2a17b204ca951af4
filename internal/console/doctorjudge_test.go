package console

import (
	"strings"
	"testing"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/quota"
	"couponlease/internal/store"
)

func TestVersionsAreJudged(t *testing.T) {
	for _, test := range []struct {
		service supported
		version string
		want    Severity
	}{
		{supportedPostgreSQL, "15.18 (Debian 15.18-0+deb12u1)", SeverityOK}, {supportedPostgreSQL, "14.9", SeverityError},
		{supportedPostgreSQL, "15", SeverityOK}, {supportedPostgreSQL, "18beta1", SeverityOK},
		{supportedPostgreSQL, "19.0", SeverityNote}, {supportedPostgreSQL, "", SeverityNote},
		{supportedRabbitMQ, "3.9.29", SeverityError}, {supportedRabbitMQ, "3.10.8", SeverityOK},
		{supportedRabbitMQ, "4.2.6", SeverityOK}, {supportedRabbitMQ, "4.4.0", SeverityNote},
		{supportedRedis, "5.0.3", SeverityError}, {supportedRedis, "7.0.15", SeverityOK},
	} {
		d := test.service.judge(test.version)
		if d.Severity != test.want || (d.Severity == SeverityError) != (d.Remedy != "") {
			t.Errorf("%s %q: %+v", test.service.service, test.version, d)
		}
	}
}

func TestClocksAreComparedWithTheDatabases(t *testing.T) {
	host := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	read := func(ahead, took, coarse time.Duration) reading {
		return reading{clock: host.Add(ahead), asked: host.Add(-took / 2), answered: host.Add(took / 2), coarse: coarse}
	}
	for name, test := range map[string]struct {
		database, other reading
		host, service   Severity
	}{
		"together":              {read(0, 0, 0), read(0, 0, 0), SeverityOK, SeverityOK},
		"this host is behind":   {read(3*time.Second, 0, 0), read(3*time.Second, 0, 0), SeverityWarning, SeverityOK},
		"the service is behind": {read(0, 0, 0), read(-3*time.Second, 0, 0), SeverityOK, SeverityWarning},
		"far apart":             {read(0, 0, 0), read(time.Minute, 0, 0), SeverityOK, SeverityError},
		"a slow answer":         {read(0, 0, 0), read(3*time.Second, 6*time.Second, 0), SeverityOK, SeverityOK},
		"a clock of seconds":    {read(0, 0, 0), read(-1900*time.Millisecond, 0, time.Second), SeverityOK, SeverityOK},
	} {
		t.Run(name, func(t *testing.T) {
			var c clocks
			c.add("Redis", test.other)
			if got := c.judge(); got != nil {
				t.Errorf("without the database's clock: %+v", got)
			}
			c.setDatabase(test.database)
			got := c.judge()
			if len(got) != 2 || got[0].Severity != test.host || got[1].Severity != test.service {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestJudgements holds what cannot be provoked on services that others use as well.
func TestJudgements(t *testing.T) {
	well := amqp.Node{Name: "n", Running: true, DiskLimit: 2 << 30, DiskFree: 9 << 30}
	node := func(change func(*amqp.Node)) []Diagnosis {
		n := well
		change(&n)
		return judgeNodes([]amqp.Node{well, n})
	}
	for name, test := range map[string]struct {
		got  []Diagnosis
		want string
	}{
		"well":            {judgeNodes([]amqp.Node{well}), ""},
		"memory":          {node(func(n *amqp.Node) { n.MemoryAlarm = true }), "error n is short of memory"},
		"disk":            {node(func(n *amqp.Node) { n.DiskAlarm = true }), "error n is short of disk and takes no messages: 9216 MB"},
		"down":            {node(func(n *amqp.Node) { n.Running = false }), "error n does not run"},
		"split":           {node(func(n *amqp.Node) { n.Partitions = []string{"m"} }), "error n has lost sight of m"},
		"default limit":   {node(func(n *amqp.Node) { n.DiskLimit = 50 << 20 }), "warning n goes on until only 50 MB"},
		"flags":           {judgeFlags([]string{"khepri_db"}), "warning off, although the next release needs them: khepri_db"},
		"flags on":        {judgeFlags(nil), ""},
		"few rights":      {hidden("alarms", "monitoring"), "note the user of the management API may not see alarms"},
		"unchecked":       {judgeLayout([]amqp.Difference{{Kind: amqp.Unchecked, Object: "queue", Name: "q"}}, "/"), "note unchecked queue q"},
		"standby":         {judgeServer(store.ServerFacts{Version: "15.1", Standby: true})[1:], "error it is a standby"},
		"held snapshot":   {judgeServer(store.ServerFacts{Version: "15.1", OldestSnapshot: 2 * time.Hour})[1:], "warning a session has held a snapshot for 2h"},
		"redis well":      {judgeRedis(quota.Facts{Version: "7.0", AppendOnly: true, Eviction: "noeviction"})[1:], ""},
		"redis snapshots": {judgeRedis(quota.Facts{Version: "7.0", Snapshots: true})[1:], ""},
		"redis forgets":   {judgeRedis(quota.Facts{Version: "7.0"})[1:], "note it keeps nothing over a restart"},
		"redis drops":     {judgeRedis(quota.Facts{Version: "7.0", AppendOnly: true, Eviction: "allkeys-lru"})[1:], "warning it drops keys"},
		"redis replica":   {judgeRedis(quota.Facts{Version: "7.0", AppendOnly: true, Replica: true})[1:], "warning it is a replica"},
		"stocks well": {judgeStocks([]QuotaLine{
			{Template: "a", Generation: 2, State: QuotaLower, Redis: &QuotaLevel{Generation: 2}}, {Template: "b", State: QuotaNotLoaded},
			{Template: "c", Generation: 3, State: QuotaOther, Redis: &QuotaLevel{Generation: 2}},
		}), ""},
		"stocks ahead": {judgeStocks([]QuotaLine{
			{Template: "a", Generation: 2, State: QuotaOther, Redis: &QuotaLevel{Generation: 3}},
		}), "warning they are of a later generation than the database, as if that had been restored: a"},
		"stocks too high": {judgeStocks([]QuotaLine{
			{Template: "a", Generation: 2, State: QuotaHigher, Redis: &QuotaLevel{Generation: 2}},
		}), "warning they hold more than there is left: a"},
		"redis disk": {judgeRedis(quota.Facts{Version: "7.0", AppendOnly: true, LastSaveFailed: true})[1:], "warning it could not write"},
	} {
		t.Run(name, func(t *testing.T) {
			var texts []string
			for _, d := range test.got {
				if d.Remedy == "" {
					t.Errorf("no remedy: %+v", d)
				}
				texts = append(texts, string(d.Severity)+" "+d.Finding)
			}
			if got := strings.Join(texts, "; "); !strings.HasPrefix(got, test.want) || len(texts) > 1 || test.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
