package config

import (
	"net/url"

	"github.com/alecthomas/kong"
)

// Setting is one effective setting, fit to be shown: secrets are hidden.
type Setting struct {
	Name     string `json:"name"`
	Env      string `json:"env"`
	Value    string `json:"value"`
	Default  string `json:"default"`
	Allowed  string `json:"allowed,omitempty"`
	Meaning  string `json:"meaning"`
	IsSecret bool   `json:"secret,omitempty"`
}

// Settings lists what is in effect, in the order of the struct.
func (d Daemon) Settings() []Setting {
	var list []Setting
	for _, flag := range flagsOf(&d) {
		list = append(list, setting(flag))
	}
	return list
}

func setting(flag *kong.Flag) Setting {
	s := Setting{
		Name: flag.Name, Value: text(flag.Target), Default: flag.Default,
		Allowed: bounds(flag), Meaning: flag.Help, IsSecret: isSecret(flag),
	}
	if len(flag.Envs) > 0 {
		s.Env = flag.Envs[0]
	}
	if s.IsSecret {
		s.Value = hide(flag, s.Value)
	}
	return s
}

// redacted stands in the place of a secret.
const redacted = "xxxxx"

// hide gives what may be seen of a secret: of a URL all but the passwords, of
// everything else whether it is set.
func hide(flag *kong.Flag, value string) string {
	if flag.Tag.Get("form") == "url" || value == "" {
		return Redact(value)
	}
	return redacted
}

// Redact gives a service's URL without what must not be seen: the password, and
// the values of all parameters but the harmless ones. Text that is not a URL is
// not shown at all.
func Redact(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return redacted
	}
	query := u.Query()
	for name := range query {
		switch name {
		case "sslmode", "sslrootcert", "options", "application_name", "connect_timeout", "target_session_attrs",
			"default_query_exec_mode", "heartbeat", "connection_timeout":
		default:
			query.Set(name, redacted)
		}
	}
	u.RawQuery = query.Encode()
	return u.Redacted()
}
