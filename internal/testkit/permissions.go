package testkit

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"testing"
)

// Import gives definitions to the broker, as `rabbitmqctl import_definitions` does. They may only speak of the test's
// virtual host and of users that are the test's to delete: see DeleteUser.
func (b Broker) Import(t testing.TB, definitions any) {
	t.Helper()
	b.ask(t, http.MethodPost, definitions, nil, "definitions")
}

// Login sets a random password for a user, which is there or not, and returns the URL by which the user reaches the
// virtual host. Tags are the broker's, separated by commas. The user is deleted when the test ends.
func (b Broker) Login(t testing.TB, user, tags string) string {
	t.Helper()
	password := rand.Text()
	b.DeleteUser(t, user)
	b.ask(t, http.MethodPut, map[string]string{"password": password, "tags": tags}, nil, "users", user)
	return b.urlFor(t, b.URL, user, password)
}

// DeleteUser deletes a user when the test ends, if it is there then.
func (b Broker) DeleteUser(t testing.TB, user string) {
	t.Helper()
	t.Cleanup(func() {
		var users []struct{ Name string }
		b.ask(t, http.MethodGet, nil, &users, "users")
		for _, found := range users {
			if found.Name == user {
				b.ask(t, http.MethodDelete, nil, nil, "users", user)
			}
		}
	})
}

// ManagementFor is the base of the HTTP API with the credentials of another URL.
func (b Broker) ManagementFor(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal("the credentials are not given as a URL")
	}
	password, _ := u.User.Password()
	return b.urlFor(t, b.ManagementURL, u.User.Username(), password)
}

func (b Broker) urlFor(t testing.TB, address, user, password string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal("the broker is not given as a URL")
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}
