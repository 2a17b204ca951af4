package main

import (
	"cmp"

	"couponlease/internal/amqp"
	"couponlease/internal/console"
)

type topologyCommand struct {
	Show  topologyShow  `cmd:"" help:"Print the exchanges, queues and bindings that the product needs."`
	Apply topologyApply `cmd:"" help:"Create what is missing on the broker."`
	Diff  topologyDiff  `cmd:"" help:"Compare the broker with the layout."`

	Permissions topologyPermissions `cmd:"" help:"Print who may do what on the broker, to import there."`
}

type topologyShow struct{}

func (topologyShow) Run(s *session) error {
	return s.write(console.Topology{Layout: amqp.DefaultLayout(amqp.Options{})})
}

type topologyApply struct{}

func (topologyApply) Help() string {
	return `Safe to repeat, and with several replicas at once. Nothing is ever deleted or changed:
an object that exists with other arguments ends the command with exit code 3.`
}

func (topologyApply) Run(s *session) error {
	return s.withBroker(func(b *console.Broker) error {
		change, err := b.ApplyTopology(s.ctx)
		if err != nil {
			return err
		}
		return s.write(change)
	})
}

type topologyDiff struct{}

func (topologyDiff) Help() string {
	return `Changes nothing. Exit code 2 when the broker differs.

  couponctl topology diff --output json | jq '.differences[] | select(.kind == "missing")'`
}

func (topologyDiff) Run(s *session) error {
	return s.withBroker(func(b *console.Broker) error {
		diff, err := b.DiffTopology(s.ctx)
		if err != nil {
			return err
		}
		if err := s.write(diff); err != nil {
			return err
		}
		if len(diff.Differences) > 0 {
			return errFindings
		}
		return nil
	})
}

type topologyPermissions struct {
	Users bool   `help:"Print the users instead, without passwords: to import once."`
	VHost string `name:"vhost" placeholder:"NAME" help:"Virtual host of the rights. By default that of the broker's URL, or /."`
}

func (topologyPermissions) Help() string {
	return `As JSON it is what the broker imports. Importing users again takes their passwords away;
importing rights again changes nothing else.

  couponctl topology permissions --users -o json | rabbitmqctl import_definitions
  couponctl topology permissions -o json | rabbitmqctl import_definitions`
}

func (c topologyPermissions) Run(s *session) error {
	if c.Users {
		return s.write(console.Permissions{Definitions: amqp.UserDefinitions()})
	}
	return s.write(console.Permissions{Definitions: amqp.PermissionDefinitions(cmp.Or(c.VHost, s.services.VHost()))})
}
