#!/usr/bin/env bash
# The private development stack: PostgreSQL, RabbitMQ and Redis on loopback ports of their own, with their
# data under .dev/. Never a system service, never a standard port. Run `deploy/dev/stack.sh help` for the commands.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
HERE=$ROOT/deploy/dev
STATE=${COUPONLEASE_DEV_STATE:-$ROOT/.dev}
SERVICES=(postgres rabbitmq redis)

# Debian keeps server programs out of an ordinary user's PATH.
export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# shellcheck source=deploy/dev/process.sh
source "$HERE/process.sh"
# shellcheck source=deploy/dev/ports.sh
source "$HERE/ports.sh"
# shellcheck source=deploy/dev/install.sh
source "$HERE/install.sh"
# shellcheck source=deploy/dev/postgres.sh
source "$HERE/postgres.sh"
# shellcheck source=deploy/dev/rabbitmq.sh
source "$HERE/rabbitmq.sh"
# shellcheck source=deploy/dev/redis.sh
source "$HERE/redis.sh"

# uses_tls: whether the services of this stack speak TLS.
uses_tls() { [[ -d $STATE/tls ]]; }

say() { printf 'stack: %s\n' "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

usage() {
  cat <<'USAGE'
usage: deploy/dev/stack.sh COMMAND

  up               install what is missing, start every service, wait until all are ready; stays up until `down`
  down             stop every service that `up` started; data is kept
  wipe             down, and delete the data
  tools            install what only the tests need (python3-pika, nodejs, npm), if it is missing
  status           one line per service; exit code 1 unless all are ready
  env              print the export lines (also in .dev/env)
  run CMD...       run CMD with the stack up and its variables set; stops the stack afterwards
                   unless `up` wants it to stay or another `run` still uses it
  start-SERVICE    start one service (postgres, rabbitmq, redis)
  stop-SERVICE     stop it cleanly
  kill-SERVICE     stop it as a crash would (SIGKILL)
  restart-SERVICE  stop-SERVICE, then start-SERVICE

A service whose URL the environment already names is used as it is, and never started or stopped:
  COUPONLEASE_POSTGRES_URL, COUPONLEASE_AMQP_URL (with COUPONLEASE_AMQP_MANAGEMENT_URL), COUPONLEASE_REDIS_URL
Ports are picked per checkout and kept in .dev/ports. To fix them:
  COUPONLEASE_DEV_POSTGRES_PORT, COUPONLEASE_DEV_AMQP_PORT, COUPONLEASE_DEV_MANAGEMENT_PORT,
  COUPONLEASE_DEV_REDIS_PORT, COUPONLEASE_DEV_EPMD_PORT, COUPONLEASE_DEV_DIST_PORT,
  COUPONLEASE_DEV_PROMETHEUS_PORT, COUPONLEASE_DEV_AMQPS_PORT, COUPONLEASE_DEV_MANAGEMENT_TLS_PORT,
  COUPONLEASE_DEV_REDIS_TLS_PORT
COUPONLEASE_DEV_STATE names another state directory than .dev/: a second stack beside the first.
With ca.pem, server.pem and server.key in tls/ below the state directory, the services speak TLS and want a
certificate of the same authority from their clients.
With COUPONLEASE_DEV_EPHEMERAL=1, `run` also deletes the data when it stops the stack.
USAGE
}

# is_external SERVICE: the environment names a service other than ours.
is_external() {
  local given=""
  case $1 in
    postgres) given=${COUPONLEASE_POSTGRES_URL:-} ;;
    rabbitmq) given=${COUPONLEASE_AMQP_URL:-} ;;
    redis) given=${COUPONLEASE_REDIS_URL:-} ;;
  esac
  [[ -n $given && $given != "$("$1_url")" ]]
}

own_services() {
  local service
  for service in "${SERVICES[@]}"; do
    is_external "$service" || printf '%s\n' "$service"
  done
}

check_environment() {
  if [[ -n ${COUPONLEASE_AMQP_URL:-} && -z ${COUPONLEASE_AMQP_MANAGEMENT_URL:-} ]]; then
    die "COUPONLEASE_AMQP_URL is set, COUPONLEASE_AMQP_MANAGEMENT_URL is not: set both or neither"
  fi
}

# prepare: the state directory, the data directory and the ports are known after it.
prepare() {
  mkdir -p "$STATE/pids" "$STATE/log"
  choose_data_dir
  choose_ports
}

# draw_token_key: once for each stack, so that every process of it makes the same lease tokens.
draw_token_key() {
  [[ ! -s $STATE/token-keys ]] || return 0
  (
    umask 077
    head -c 32 /dev/urandom | base64 >"$STATE/token-keys.new"
  )
  mv "$STATE/token-keys.new" "$STATE/token-keys"
}

write_env() {
  local service tmp=$STATE/env.new
  draw_token_key
  {
    printf '# Written by deploy/dev/stack.sh: source it to reach the private stack of this checkout.\n'
    for service in $(own_services); do
      case $service in
        postgres) printf "export COUPONLEASE_POSTGRES_URL='%s'\n" "$(postgres_url)" ;;
        rabbitmq)
          printf "export COUPONLEASE_AMQP_URL='%s'\n" "$(rabbitmq_url)"
          printf "export COUPONLEASE_AMQP_MANAGEMENT_URL='%s'\n" "$(rabbitmq_management_url)"
          ;;
        redis) printf "export COUPONLEASE_REDIS_URL='%s'\n" "$(redis_url)" ;;
      esac
    done
    printf "export COUPONLEASE_TOKEN_KEYS_FILE='%s'\n" "$STATE/token-keys"
  } >"$tmp"
  mv "$tmp" "$STATE/env"
}

start_services() {
  local service began=$SECONDS started=()
  for service in "$@"; do
    is_running "$service" || "$service"_check_ports
  done
  for service in "$@"; do
    if is_running "$service"; then
      continue
    fi
    say "starting $service (log: $STATE/log/$service.log)"
    "$service"_start
    started+=("$service")
  done
  for service in "$@"; do
    wait_until 90 "$service"_ready "$service" || die_with_log "$service"
  done
  if ((${#started[@]} > 0)); then
    say "ready after $((SECONDS - began)) s: ${started[*]}"
  fi
}

die_with_log() {
  say "$1 did not become ready; the end of its log:"
  tail -n 30 "$STATE/log/$1.log" >&2 || true
  die "$1 is not ready"
}

# bring_up SERVICE...: idempotent; called with the stack lock held.
bring_up() {
  if (($# > 0)); then
    install_missing "$@"
    prepare_data_dir
    start_services "$@"
  fi
  write_env
}

bring_up_all() {
  local services
  check_environment
  prepare
  mapfile -t services < <(own_services)
  bring_up "${services[@]}"
}

bring_down() {
  local service private
  [[ -d $STATE ]] || return 0
  # Stacks of single tests that were killed before they could clear away theirs.
  for private in "$STATE"/private/*/; do
    [[ ! -d $private ]] || COUPONLEASE_DEV_STATE=${private%/} "$HERE/stack.sh" wipe
  done
  for service in redis rabbitmq epmd postgres; do
    stop_process "$service"
  done
  rm -f "$STATE/keep"
}

delete_data() {
  [[ -d $STATE ]] || return 0
  choose_data_dir
  rm -rf "$DATA"
  rm -rf "$STATE"
}

# locked COMMAND...: one change of the stack at a time per checkout.
locked() {
  mkdir -p "$STATE"
  (
    flock -w 300 9 || die "another stack command has held $STATE/lock for 5 minutes"
    "$@"
  ) 9>"$STATE/lock"
}

cmd_up() {
  bring_up_all
  touch "$STATE/keep"
  say "up; stop it with: make down"
}

cmd_tools() {
  mkdir -p "$STATE/log"
  install_tools
}

cmd_status() {
  local service failed=0
  prepare
  for service in "${SERVICES[@]}"; do
    if is_external "$service"; then
      printf '%-9s external\n' "$service"
    elif is_running "$service" && "$service"_ready; then
      printf '%-9s ready     %s\n' "$service" "$("$service"_url)"
    else
      printf '%-9s stopped\n' "$service"
      failed=1
    fi
  done
  return "$failed"
}

cmd_env() {
  [[ -f $STATE/env ]] || die "no stack has been started here: run \`make up\`"
  cat "$STATE/env"
}

# stop_unless_used runs when a `run` ends: the last one out turns off the light.
stop_unless_used() {
  flock -u 8
  [[ ! -e $STATE/keep ]] || return 0
  flock -n -x 8 || return 0
  say "stopping what this run started"
  bring_down
  if [[ ${COUPONLEASE_DEV_EPHEMERAL:-} == 1 ]]; then
    delete_data
  fi
}

cmd_run() {
  (($# > 0)) || die "run: no command given"
  mkdir -p "$STATE"
  exec 8>"$STATE/users"
  flock -s 8
  trap 'locked stop_unless_used' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  locked bring_up_all
  # shellcheck disable=SC1091
  source "$STATE/env"
  # In the background, so that a signal reaches the trap at once and not after the command; in a process group of its
  # own, so that the signal can be passed on to all that the command has started.
  local child code=0
  set -m
  "$@" 8>&- <&0 &
  child=$!
  set +m
  trap 'end_group "$child"; exit 130' INT
  trap 'end_group "$child"; exit 143' TERM HUP
  wait "$child" || code=$?
  exit "$code"
}

end_group() {
  kill -s TERM -- "-$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}

known_service() {
  local service
  for service in "${SERVICES[@]}"; do
    [[ $service == "$1" ]] && return 0
  done
  die "unknown service $1: one of ${SERVICES[*]}"
}

# cmd_service ACTION SERVICE: start, stop, kill or restart one service of ours.
cmd_service() {
  local action=$1 service=$2
  known_service "$service"
  prepare
  is_external "$service" && die "$service is named by the environment and not ours to $action"
  case $action in
    start) bring_up "$service" ;;
    stop) stop_process "$service" ;;
    kill) kill_process "$service" ;;
    restart)
      stop_process "$service"
      bring_up "$service"
      ;;
  esac
}

main() {
  case ${1:-help} in
    up) locked cmd_up ;;
    down) locked bring_down ;;
    tools) locked cmd_tools ;;
    wipe)
      locked bring_down
      delete_data
      ;;
    status) cmd_status ;;
    env) cmd_env ;;
    run)
      shift
      cmd_run "$@"
      ;;
    start-* | stop-* | kill-* | restart-*) locked cmd_service "${1%%-*}" "${1#*-}" ;;
    help | -h | --help) usage ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
}

main "$@"
