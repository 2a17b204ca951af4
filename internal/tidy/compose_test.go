package tidy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// composeFile is the part of a compose file that the rule looks at.
type composeFile struct {
	Services map[string]composeService `yaml:"services"`
	Volumes  map[string]any            `yaml:"volumes"`
}

type composeService struct {
	Image         string                       `yaml:"image"`
	Build         any                          `yaml:"build"`
	ContainerName string                       `yaml:"container_name"`
	Restart       string                       `yaml:"restart"`
	Command       any                          `yaml:"command"`
	Entrypoint    any                          `yaml:"entrypoint"`
	Ports         []string                     `yaml:"ports"`
	Volumes       []string                     `yaml:"volumes"`
	Environment   map[string]string            `yaml:"environment"`
	Healthcheck   map[string]any               `yaml:"healthcheck"`
	DependsOn     map[string]map[string]string `yaml:"depends_on"`
	StopGrace     string                       `yaml:"stop_grace_period"`
}

// pinned is an image with a major version as its tag.
var pinned = regexp.MustCompile(`^[\w./-]+:\d+(\.\d+)*(-\w+)?$`)

var (
	infrastructure = []string{"postgres", "rabbitmq", "redis"}
	oneShot        = "migrate"
	daemon         = "coupond"
)

var composeRules = []rule{{
	name:   "docker-compose.yml runs the whole product",
	reason: "it is the first thing a user with Docker tries, and nothing here runs it for us",
	check: func(r tree) []string {
		text := r.text("docker-compose.yml")
		if text == "" {
			return nil
		}
		var compose composeFile
		if err := yaml.Unmarshal([]byte(text), &compose); err != nil {
			return []string{finding("docker-compose.yml", 1, "%v", err)}
		}
		var found []string
		for _, problem := range slices.Concat(compose.services(), compose.scaling(), compose.order(), compose.storage()) {
			found = append(found, finding("docker-compose.yml", 1, "%s", problem))
		}
		return found
	},
	good: map[string]string{"docker-compose.yml": goodCompose},
	bad: map[string]string{"docker-compose.yml": strings.NewReplacer(
		"postgres:17", "postgres:latest",
		"healthcheck: {test: [redis-cli, ping]}", "tty: true",
		"daemon: here", "container_name: coupond",
		"expose: ['8080']", "ports: ['8080:8080']",
		"condition: service_completed_successfully", "condition: service_started",
		"couponctl topology apply", "true",
		"volumes: {postgres: {}, ", "volumes: {",
	).Replace(goodCompose)},
	want: []string{
		"postgres: image postgres:latest is not pinned",
		"redis: no healthcheck",
		"migrate: does not run couponctl topology apply",
		"coupond: container_name",
		"coupond: ports",
		"coupond: does not wait for migrate: service_completed_successfully",
		"postgres: volume postgres is not declared",
	},
}}

// services: everything is there, pinned to a major version, watched and restarted.
func (c composeFile) services() []string {
	var problems []string
	for _, name := range infrastructure {
		service, there := c.Services[name]
		switch {
		case !there:
			problems = append(problems, name+": no such service")
			continue
		case !pinned.MatchString(service.Image):
			problems = append(problems, fmt.Sprintf("%s: image %s is not pinned to a major version", name, service.Image))
		}
		problems = append(problems, watched(name, service)...)
	}
	migrate := c.Services[oneShot]
	for _, step := range []string{"couponctl migrate up", "couponctl topology apply"} {
		if !strings.Contains(fmt.Sprint(migrate.Entrypoint, migrate.Command), step) {
			problems = append(problems, oneShot+": does not run "+step)
		}
	}
	if c.Services[daemon].Build == nil {
		problems = append(problems, daemon+": not built from the Dockerfile")
	}
	return append(problems, watched(daemon, c.Services[daemon])...)
}

func watched(name string, service composeService) []string {
	var problems []string
	if service.Healthcheck["test"] == nil {
		problems = append(problems, name+": no healthcheck")
	}
	if service.Restart == "" {
		problems = append(problems, name+": no restart policy")
	}
	if service.StopGrace == "" {
		problems = append(problems, name+": no stop_grace_period")
	}
	return problems
}

// scaling: --scale coupond=N works only while nothing of a replica is fixed.
func (c composeFile) scaling() []string {
	var problems []string
	service := c.Services[daemon]
	if service.ContainerName != "" {
		problems = append(problems, daemon+": container_name is fixed, a second replica could not start")
	}
	if len(service.Ports) > 0 {
		problems = append(problems, daemon+": ports are published, a second replica could not start")
	}
	for _, variable := range []string{
		"COUPONLEASE_POSTGRES_URL", "COUPONLEASE_AMQP_URL", "COUPONLEASE_AMQP_MANAGEMENT_URL", "COUPONLEASE_REDIS_URL",
		// Replicas with different keys lose lease tokens.
		"COUPONLEASE_TOKEN_KEYS_FILE",
	} {
		if service.Environment[variable] == "" {
			problems = append(problems, daemon+": no "+variable)
		}
	}
	return problems
}

// order: the daemon starts on a migrated database and a declared topology.
func (c composeFile) order() []string {
	var problems []string
	require := func(name, on, condition string) {
		if c.Services[name].DependsOn[on]["condition"] != condition {
			problems = append(problems, fmt.Sprintf("%s: does not wait for %s: %s", name, on, condition))
		}
	}
	require(daemon, oneShot, "service_completed_successfully")
	for _, name := range infrastructure {
		require(daemon, name, "service_healthy")
	}
	require(oneShot, "postgres", "service_healthy")
	require(oneShot, "rabbitmq", "service_healthy")
	return problems
}

// storage: what has state keeps it in a named volume.
func (c composeFile) storage() []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(c.Services)) {
		for _, mount := range c.Services[name].Volumes {
			volume, _, _ := strings.Cut(mount, ":")
			if _, declared := c.Volumes[volume]; !declared {
				problems = append(problems, fmt.Sprintf("%s: volume %s is not declared", name, volume))
			}
		}
	}
	for _, name := range []string{"postgres", "rabbitmq"} {
		if len(c.Services[name].Volumes) == 0 {
			problems = append(problems, name+": keeps its data in the container")
		}
	}
	return problems
}

const goodCompose = `
services:
  postgres: {image: 'postgres:17', restart: always, stop_grace_period: 1m, healthcheck: {test: [pg_isready]},
    volumes: ['postgres:/var/lib/postgresql/data']}
  rabbitmq: {image: 'rabbitmq:4-management', restart: always, stop_grace_period: 1m, healthcheck: {test: [true]},
    volumes: ['rabbitmq:/var/lib/rabbitmq']}
  redis: {image: 'redis:8', restart: always, stop_grace_period: 1m, healthcheck: {test: [redis-cli, ping]}}
  migrate:
    entrypoint: [sh, -c]
    command: [couponctl migrate up && couponctl topology apply]
    depends_on: {postgres: {condition: service_healthy}, rabbitmq: {condition: service_healthy}}
  coupond:
    build: .
    daemon: here
    restart: always
    stop_grace_period: 1m
    expose: ['8080']
    healthcheck: {test: [wget]}
    environment: {COUPONLEASE_POSTGRES_URL: a, COUPONLEASE_AMQP_URL: b, COUPONLEASE_AMQP_MANAGEMENT_URL: c,
      COUPONLEASE_REDIS_URL: d, COUPONLEASE_TOKEN_KEYS_FILE: e}
    depends_on:
      migrate: {condition: service_completed_successfully}
      postgres: {condition: service_healthy}
      rabbitmq: {condition: service_healthy}
      redis: {condition: service_healthy}
volumes: {postgres: {}, rabbitmq: {}}
`
