package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"couponlease/internal/config"
	"couponlease/internal/console"
	"couponlease/internal/store"
)

// place is a schema and a virtual host of the demo's own, on services that others
// may be using.
type place struct {
	name string
	// services are those of the user, own the same inside the place.
	services, own config.Services
}

// placePrefix begins the name of every place.
const placePrefix = "demo_"

// valid says whether the name is one that newPlace gives, so that nothing else is
// ever removed.
func (p *place) valid() bool {
	id, ours := strings.CutPrefix(p.name, placePrefix)
	_, err := hex.DecodeString(id)
	return ours && err == nil && len(id) == 8
}

// managementTimeout bounds one request to the management API.
const managementTimeout = 30 * time.Second

// newPlace makes a place; what was made of it when something failed is gone.
func newPlace(ctx context.Context, services config.Services) (p *place, err error) {
	for variable, value := range map[string]string{
		"COUPONLEASE_POSTGRES_URL": services.PostgresURL, "COUPONLEASE_AMQP_URL": services.AMQPURL,
		"COUPONLEASE_AMQP_MANAGEMENT_URL": services.AMQPManagementURL,
	} {
		if value == "" {
			return nil, console.Usage(fmt.Errorf("%s is not set: `make demo` starts the services and sets it", variable))
		}
	}
	random := make([]byte, 4)
	_, _ = rand.Read(random) // documented never to fail
	p = &place{name: placePrefix + hex.EncodeToString(random), services: services, own: services}
	if p.own.PostgresURL, err = store.InSchema(services.PostgresURL, p.name); err != nil {
		return nil, err
	}
	broker, err := url.Parse(services.AMQPURL)
	if err != nil {
		return nil, errors.New("COUPONLEASE_AMQP_URL is not a URL")
	}
	broker.Path = "/" + p.name
	p.own.AMQPURL = broker.String()
	if err := store.CreateSchema(ctx, services.Postgres(), p.name); err != nil {
		return nil, err
	}
	if err := p.createVirtualHost(ctx, broker.User.Username()); err != nil {
		return nil, errors.Join(err, p.remove(ctx))
	}
	return p, nil
}

func (p *place) createVirtualHost(ctx context.Context, user string) error {
	if err := p.manage(ctx, http.MethodPut, nil, "vhosts", p.name); err != nil {
		return fmt.Errorf("create virtual host: %w", err)
	}
	everything := map[string]string{"configure": ".*", "write": ".*", "read": ".*"}
	if err := p.manage(ctx, http.MethodPut, everything, "permissions", p.name, user); err != nil {
		return fmt.Errorf("permit the virtual host: %w", err)
	}
	return nil
}

// remove deletes schema and virtual host with everything in them.
func (p *place) remove(ctx context.Context) error {
	var errs []error
	if err := p.manage(ctx, http.MethodDelete, nil, "vhosts", p.name); err != nil {
		errs = append(errs, fmt.Errorf("delete virtual host %s: %w", p.name, err))
	}
	if err := store.DropSchema(ctx, p.services.Postgres(), p.name); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// manage makes one request to the broker's management API. Deleting what is not
// there is fine.
func (p *place) manage(ctx context.Context, method string, body any, path ...string) error {
	ctx, cancel := context.WithTimeout(ctx, managementTimeout)
	defer cancel()
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	for i, element := range path {
		path[i] = url.PathEscape(element)
	}
	base := strings.TrimSuffix(p.services.AMQPManagementURL, "/")
	request, err := http.NewRequestWithContext(ctx, method, base+"/api/"+strings.Join(path, "/"),
		bytes.NewReader(content))
	if err != nil {
		return errors.New("COUPONLEASE_AMQP_MANAGEMENT_URL is not a URL")
	}
	request.Header.Set("Content-Type", "application/json")
	trust, err := p.services.BrokerTLS()
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: trust}}
	reply, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask the management API: %w", err)
	}
	defer reply.Body.Close()
	missing := method == http.MethodDelete && reply.StatusCode == http.StatusNotFound
	if reply.StatusCode/100 != 2 && !missing {
		why, _ := io.ReadAll(io.LimitReader(reply.Body, 1024))
		return fmt.Errorf("the management API says %s: %s", reply.Status, why)
	}
	return nil
}
