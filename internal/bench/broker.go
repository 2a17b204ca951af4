package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/internal/testkit"
)

// gauge asks the broker for the depth of queues, on a connection of its own.
type gauge struct {
	conn    *amqp091.Connection
	channel *amqp091.Channel
}

func openGauge(broker testkit.Broker) (*gauge, error) {
	conn, err := amqp091.Dial(broker.URL)
	if err != nil {
		return nil, fmt.Errorf("connect to RabbitMQ: %w", err)
	}
	channel, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel to RabbitMQ: %w", err)
	}
	return &gauge{conn: conn, channel: channel}, nil
}

func (g *gauge) close() error { return g.conn.Close() }

// depth counts the messages that wait in the queues, those that were delivered
// and are not acknowledged left out.
func (g *gauge) depth(queues ...string) (int, error) {
	var sum int
	for _, queue := range queues {
		// A passive declaration compares nothing but the name.
		state, err := g.channel.QueueDeclarePassive(queue, true, false, false, false, nil)
		if err != nil {
			return 0, fmt.Errorf("depth of queue %s: %w", queue, err)
		}
		sum += state.Messages
	}
	return sum, nil
}

// node is what the management API tells about the broker.
type node struct {
	Process int
	Version string
	Erlang  string
}

func readNode(ctx context.Context, broker testkit.Broker) (node, error) {
	var overview struct {
		Node    string `json:"node"`
		Version string `json:"rabbitmq_version"`
		Erlang  string `json:"erlang_version"`
	}
	if err := manage(ctx, broker, "/api/overview", &overview); err != nil {
		return node{}, err
	}
	var details struct {
		Process string `json:"os_pid"`
	}
	if err := manage(ctx, broker, "/api/nodes/"+overview.Node, &details); err != nil {
		return node{}, err
	}
	n := node{Version: overview.Version, Erlang: overview.Erlang}
	if _, err := fmt.Sscan(details.Process, &n.Process); err != nil {
		return node{}, fmt.Errorf("read RabbitMQ's process id: %w", err)
	}
	if _, err := readProcess(n.Process); err != nil {
		return node{}, fmt.Errorf("RabbitMQ has to run on this machine: %w", err)
	}
	return n, nil
}

func manage(ctx context.Context, broker testkit.Broker, path string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		strings.TrimSuffix(broker.ManagementURL, "/")+path, nil)
	if err != nil {
		return fmt.Errorf("ask RabbitMQ for %s: malformed address", path) // the address holds a password
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask RabbitMQ for %s: %w", path, err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("ask RabbitMQ for %s: %s", path, reply.Status)
	}
	if err := json.NewDecoder(reply.Body).Decode(answer); err != nil {
		return fmt.Errorf("ask RabbitMQ for %s: %w", path, err)
	}
	return nil
}
