package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// answerLimit bounds what is read of an answer of the management API.
const answerLimit = 1 << 20

// ask makes one request to the management API. body is sent as JSON; answer, when not nil, is filled from the reply.
// Path elements are escaped. Any status but a success fails the test.
func (b Broker) ask(t testing.TB, method string, body, answer any, path ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	for i, element := range path {
		path[i] = url.PathEscape(element)
	}
	what := method + " /api/" + strings.Join(path, "/")
	payload, err := json.Marshal(body)
	if err != nil {
		t.Fatalf("%s: encode body: %v", what, err)
	}
	endpoint := strings.TrimSuffix(b.ManagementURL, "/") + "/api/" + strings.Join(path, "/")
	request, err := http.NewRequestWithContext(ctx, method, endpoint, bytes.NewReader(payload))
	if err != nil {
		t.Fatalf("%s is not a base for %s", managementVariable, what)
	}
	request.Header.Set("Content-Type", "application/json")
	// Connections are not kept: a test that looks for leaked goroutines must not find ours.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Do(request)
	if err != nil {
		t.Fatalf("RabbitMQ's management API does not answer: %v; %s", err, howToStart)
	}
	defer reply.Body.Close()
	content, err := io.ReadAll(io.LimitReader(reply.Body, answerLimit))
	if err != nil {
		t.Fatalf("%s: read answer: %v", what, err)
	}
	if reply.StatusCode/100 != 2 {
		t.Fatalf("%s: %s: %s", what, reply.Status, content)
	}
	if answer != nil {
		if err := json.Unmarshal(content, answer); err != nil {
			t.Fatalf("%s: decode answer: %v", what, err)
		}
	}
}
