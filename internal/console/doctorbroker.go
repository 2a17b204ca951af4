package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"couponlease/handlers"
	"couponlease/internal/amqp"
	"couponlease/messages"
)

// broker examines RabbitMQ; when it is not reached, nothing else is asked of it.
func (d *doctor) broker(ctx context.Context) []Diagnosis {
	const name = "broker"
	if d.services.AMQPURL == "" {
		return notSet(name, "COUPONLEASE_AMQP_URL")
	}
	trust, err := d.services.BrokerTLS()
	if err != nil {
		return []Diagnosis{{name, SeverityError, err.Error(), "correct the files of RabbitMQ's certificates"}}
	}
	conn, err := amqp.Connect(amqp.ConnConfig{
		URL: d.services.AMQPURL, Name: clientName, TLS: trust, DialTimeout: d.options.Timeout,
	})
	if err != nil {
		return []Diagnosis{{name, SeverityError, err.Error(), "correct COUPONLEASE_AMQP_URL"}}
	}
	// What was asked is answered by now, or will not be.
	defer func() { _ = conn.Close() }()
	var reached atomic.Bool
	var management atomic.Pointer[amqp.Management]
	found := d.examine(ctx,
		check{name, func(ctx context.Context) ([]Diagnosis, error) {
			if err := conn.Ready(ctx); err != nil {
				return []Diagnosis{{Severity: SeverityError, Finding: "it is not reached: " + cmp.Or(conn.State().LastError, err).Error(),
					Remedy: "see that it runs, and that COUPONLEASE_AMQP_URL names it; nothing else of it was checked"}}, nil
			}
			reached.Store(true)
			return []Diagnosis{supportedRabbitMQ.judge(conn.ServerVersion())}, nil
		}},
		check{"broker management", func(ctx context.Context) ([]Diagnosis, error) {
			if d.services.AMQPManagementURL == "" {
				return []Diagnosis{{Severity: SeverityNote, Finding: "not configured: bindings, policies, alarms and feature flags " +
					"were not looked at", Remedy: "set COUPONLEASE_AMQP_MANAGEMENT_URL"}}, nil
			}
			m, err := amqp.NewManagement(d.services.AMQPManagementURL, d.services.VHost(), trust)
			if err != nil {
				return nil, err
			}
			asked := time.Now()
			overview, err := m.Overview(ctx)
			if err != nil {
				return []Diagnosis{{Severity: SeverityError, Finding: "it is not reached: " + err.Error(),
					Remedy: "`rabbitmq-plugins enable rabbitmq_management`; COUPONLEASE_AMQP_MANAGEMENT_URL needs a user with the tag management"}}, nil
			}
			management.Store(m)
			if !overview.Clock.IsZero() {
				d.clocks.add("RabbitMQ", reading{overview.Clock, asked, time.Now(), time.Second})
			}
			return nil, nil
		}},
	)
	if !reached.Load() {
		return found
	}
	return append(found, d.examine(ctx, d.brokerChecks(conn, management.Load())...)...)
}

// brokerChecks are those of a broker that is reached; management may be nil.
func (d *doctor) brokerChecks(conn *amqp.Conn, management *amqp.Management) []check {
	checks := []check{
		{"broker layout", func(ctx context.Context) ([]Diagnosis, error) {
			differences, err := amqp.Verify(ctx, conn, amqp.DefaultLayout(amqp.Options{}), management)
			return judgeLayout(differences, d.services.VHost()), err
		}},
		{"consumers", func(ctx context.Context) ([]Diagnosis, error) {
			states, err := amqp.QueueStates(ctx, conn, append(handled(), amqp.QueueDead, amqp.QueueUndeliverable))
			return judgeQueues(states), err
		}},
	}
	if management != nil {
		checks = append(checks,
			check{"broker nodes", func(ctx context.Context) ([]Diagnosis, error) {
				nodes, err := management.Nodes(ctx)
				if errors.Is(err, amqp.ErrNotAllowed) {
					return hidden("alarms", "monitoring"), nil
				}
				return judgeNodes(nodes), err
			}},
			check{"broker feature flags", func(ctx context.Context) ([]Diagnosis, error) {
				names, err := management.DisabledFlags(ctx)
				if errors.Is(err, amqp.ErrNotAllowed) {
					return hidden("feature flags", "administrator"), nil
				}
				return judgeFlags(names), err
			}},
		)
	}
	return checks
}

func hidden(what, tag string) []Diagnosis {
	return []Diagnosis{{Severity: SeverityNote, Finding: "the user of the management API may not see " + what,
		Remedy: fmt.Sprintf("give it the tag %s: `rabbitmqctl set_user_tags USER management %s`", tag, tag)}}
}

// handled lists the queues of all messages that have a handler.
func handled() (queues []string) {
	table := handlers.Table()
	for _, contract := range messages.Contracts() {
		if table[contract.Type] != nil && !slices.Contains(queues, contract.Queue) {
			queues = append(queues, contract.Queue)
		}
	}
	return queues
}

// shownMissing bounds how many missing objects are named.
const shownMissing = 5

func judgeLayout(differences []amqp.Difference, vhost string) (diagnoses []Diagnosis) {
	var missing []string
	for _, difference := range differences {
		d := Diagnosis{Severity: SeverityError, Finding: difference.String()}
		switch difference.Kind {
		case amqp.Missing:
			missing = append(missing, difference.Object+" "+difference.Name)
			continue
		case amqp.Inequivalent:
			d.Remedy = fmt.Sprintf("stop who uses it, let it run empty, delete it (`rabbitmqctl delete_queue -p %s %s "+
				"--if-empty`), and `couponctl topology apply`", vhost, difference.Name)
		case amqp.Overruled:
			d.Remedy = fmt.Sprintf("`rabbitmqctl list_policies -p %s` shows it: exclude the queue from its pattern, or "+
				"`rabbitmqctl clear_policy -p %s NAME`", vhost, vhost)
		case amqp.Extra:
			d.Severity = SeverityWarning
			d.Remedy = "nothing of this release uses it: delete it, if nobody else does"
			if difference.Object == "queue" {
				d.Remedy += fmt.Sprintf(" (`rabbitmqctl delete_queue -p %s %s --if-empty --if-unused`)", vhost, difference.Name)
			}
		case amqp.Unchecked:
			d.Severity = SeverityNote
			d.Remedy = "ask as a user with more rights, or set COUPONLEASE_AMQP_MANAGEMENT_URL"
		}
		diagnoses = append(diagnoses, d)
	}
	if n := len(missing); n > 0 {
		text := count(n, "object") + " missing: " + strings.Join(missing[:min(n, shownMissing)], ", ")
		if n > shownMissing {
			text += ", and more"
		}
		diagnoses = append(diagnoses, Diagnosis{Severity: SeverityError, Finding: text, Remedy: "`couponctl topology apply`"})
	}
	return diagnoses
}

func judgeQueues(states []amqp.QueueState) (diagnoses []Diagnosis) {
	var idle []string
	waiting := 0
	for _, q := range states {
		switch {
		case !q.Exists || !q.Known: // that is told of the layout
		case q.Name == amqp.QueueUndeliverable:
			if q.Messages > 0 {
				diagnoses = append(diagnoses, Diagnosis{Severity: SeverityWarning,
					Finding: count(q.Messages, "delayed message") + " in " + q.Name + ": their queue was gone",
					Remedy:  "`couponctl topology diff` shows what is missing; the sweeper does what lost lease timers would have done"})
			}
		case q.Consumers > 0:
		case q.Name == amqp.QueueDead:
			diagnoses = append(diagnoses, Diagnosis{Severity: SeverityWarning,
				Finding: "nobody files dead letters; " + count(q.Messages, "message") + " waiting in " + q.Name,
				Remedy:  "start a coupond, or see what /readyz of one says"})
		default:
			idle = append(idle, q.Name)
			waiting += q.Messages
		}
	}
	if len(idle) > 0 {
		diagnoses = append(diagnoses, Diagnosis{Severity: SeverityError,
			Finding: fmt.Sprintf("nobody consumes %s; %s waiting", strings.Join(idle, ", "), count(waiting, "message")),
			Remedy:  "start a coupond, or see what /readyz of one says"})
	}
	return diagnoses
}

// smallDiskLimit is a limit at which a broker that goes on writing has no room left for
// what it has taken.
const smallDiskLimit = 256 << 20

func judgeNodes(nodes []amqp.Node) (diagnoses []Diagnosis) {
	add := func(severity Severity, node, finding, remedy string) {
		diagnoses = append(diagnoses, Diagnosis{Severity: severity, Finding: node + " " + finding, Remedy: remedy})
	}
	for _, node := range nodes {
		if !node.Running {
			add(SeverityError, node.Name, "does not run", "start it; `rabbitmqctl cluster_status` shows the others")
			continue
		}
		if node.MemoryAlarm {
			add(SeverityError, node.Name, "is short of memory and takes no messages",
				"see that all queues are consumed, and give it memory or raise vm_memory_high_watermark")
		}
		if node.DiskAlarm {
			add(SeverityError, node.Name, fmt.Sprintf("is short of disk and takes no messages: %d MB are left, %d MB is the limit",
				node.DiskFree>>20, node.DiskLimit>>20), "make room on its disk; `rabbitmq-diagnostics status` shows where")
		}
		if len(node.Partitions) > 0 {
			add(SeverityError, node.Name, "has lost sight of "+strings.Join(node.Partitions, ", "),
				"mend the network and restart it; `rabbitmqctl cluster_status` shows who sees whom")
		}
		if node.DiskLimit < smallDiskLimit {
			add(SeverityWarning, node.Name, fmt.Sprintf("goes on until only %d MB of its disk are left", node.DiskLimit>>20),
				"`rabbitmqctl set_disk_free_limit 2GB`, and disk_free_limit.absolute in its configuration")
		}
	}
	return diagnoses
}

func judgeFlags(disabled []string) []Diagnosis {
	if len(disabled) == 0 {
		return nil
	}
	return []Diagnosis{{Severity: SeverityWarning,
		Finding: "off, although the next release needs them: " + strings.Join(disabled, ", "),
		Remedy:  "when all nodes run the same release: `rabbitmqctl enable_feature_flag all`"}}
}
