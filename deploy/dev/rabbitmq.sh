# shellcheck shell=bash
# RabbitMQ: a private node with its own name, cookie, port mapper, plugins and configuration. Sourced by stack.sh.

# rabbitmq_server: the real start script; Debian's /usr/sbin wrapper insists on the system's directories.
rabbitmq_server() {
  local found
  for found in /usr/lib/rabbitmq/bin/rabbitmq-server "$(command -v rabbitmq-server || true)"; do
    if [[ -n $found && -x $found ]]; then
      printf '%s' "$found"
      return
    fi
  done
}

rabbitmq_url() {
  if uses_tls; then
    printf 'amqps://couponlease:couponlease@127.0.0.1:%s' "$PORT_AMQPS"
  else
    printf 'amqp://couponlease:couponlease@127.0.0.1:%s' "$PORT_AMQP"
  fi
}

rabbitmq_management_url() {
  if uses_tls; then
    printf 'https://couponlease:couponlease@127.0.0.1:%s' "$PORT_MANAGEMENT_TLS"
  else
    printf 'http://couponlease:couponlease@127.0.0.1:%s' "$PORT_MANAGEMENT"
  fi
}

rabbitmq_check_ports() {
  if uses_tls; then
    require_free_port rabbitmq "$PORT_AMQPS" COUPONLEASE_DEV_AMQPS_PORT
    require_free_port rabbitmq "$PORT_MANAGEMENT_TLS" COUPONLEASE_DEV_MANAGEMENT_TLS_PORT
  fi
  require_free_port rabbitmq "$PORT_AMQP" COUPONLEASE_DEV_AMQP_PORT
  require_free_port rabbitmq "$PORT_MANAGEMENT" COUPONLEASE_DEV_MANAGEMENT_PORT
  require_free_port rabbitmq "$PORT_DIST" COUPONLEASE_DEV_DIST_PORT
  require_free_port rabbitmq "$PORT_PROMETHEUS" COUPONLEASE_DEV_PROMETHEUS_PORT
  is_running epmd || require_free_port epmd "$PORT_EPMD" COUPONLEASE_DEV_EPMD_PORT
}

rabbitmq_write_conf() {
  local dir=$1
  mkdir -p "$dir/home" "$dir/mnesia" "$dir/log" "$dir/conf.d"
  : >"$dir/env.conf"
  printf '[rabbitmq_management,rabbitmq_prometheus].\n' >"$dir/enabled_plugins"
  {
    cat "$HERE/rabbitmq.conf"
    printf 'listeners.tcp.1 = 127.0.0.1:%s\n' "$PORT_AMQP"
    printf 'management.tcp.ip = 127.0.0.1\nmanagement.tcp.port = %s\n' "$PORT_MANAGEMENT"
    printf 'prometheus.tcp.ip = 127.0.0.1\nprometheus.tcp.port = %s\n' "$PORT_PROMETHEUS"
    ! uses_tls || rabbitmq_tls
  } >"$dir/rabbitmq.conf"
}

# rabbitmq_tls prints the settings. The listeners without TLS stay: rabbitmq_ready asks there.
rabbitmq_tls() {
  local listener
  printf 'listeners.ssl.1 = 127.0.0.1:%s\n' "$PORT_AMQPS"
  printf 'management.ssl.ip = 127.0.0.1\nmanagement.ssl.port = %s\n' "$PORT_MANAGEMENT_TLS"
  for listener in ssl_options management.ssl; do
    printf '%s.cacertfile = %s/tls/ca.pem\n' "$listener" "$STATE"
    printf '%s.certfile = %s/tls/server.pem\n' "$listener" "$STATE"
    printf '%s.keyfile = %s/tls/server.key\n' "$listener" "$STATE"
    printf '%s.verify = verify_peer\n%s.fail_if_no_peer_cert = true\n' "$listener" "$listener"
  done
}

rabbitmq_start() {
  local dir=$DATA/rabbitmq environment
  rabbitmq_write_conf "$dir"
  # A clean environment: neither the caller's variables nor /etc/rabbitmq reach the node.
  environment=(env -i PATH="$PATH" LANG=C.UTF-8 HOME="$dir/home"
    ERL_EPMD_ADDRESS=127.0.0.1 ERL_EPMD_PORT="$PORT_EPMD")
  # The node would start a port mapper of its own that outlives it; this one is ours to stop.
  is_running epmd || spawn epmd "${environment[@]}" epmd -address 127.0.0.1 -port "$PORT_EPMD"
  wait_until 10 epmd_ready epmd || die_with_log epmd
  # "detached" makes the start script become the server, so that the pid is the server's.
  spawn rabbitmq "${environment[@]}" \
    detached=true \
    RABBITMQ_NODENAME=couponlease@localhost \
    RABBITMQ_NODE_PORT="$PORT_AMQP" \
    RABBITMQ_DIST_PORT="$PORT_DIST" \
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}" \
    RABBITMQ_CONF_ENV_FILE="$dir/env.conf" \
    RABBITMQ_CONFIG_FILE="$dir/rabbitmq.conf" \
    RABBITMQ_CONFIG_FILES="$dir/conf.d" \
    RABBITMQ_ADVANCED_CONFIG_FILE="$dir/advanced.config" \
    RABBITMQ_ENABLED_PLUGINS_FILE="$dir/enabled_plugins" \
    RABBITMQ_MNESIA_BASE="$dir/mnesia" \
    RABBITMQ_LOG_BASE="$dir/log" \
    RABBITMQ_LOGS=- \
    RABBITMQ_FEATURE_FLAGS_FILE="$dir/feature_flags" \
    RABBITMQ_PID_FILE="$dir/pid" \
    "$(rabbitmq_server)"
}

epmd_ready() { port_open "$PORT_EPMD"; }

# rabbitmq_ready asks the node itself whether its AMQP listener takes connections: the last step of its start.
rabbitmq_ready() {
  local auth status=""
  auth=$(printf 'couponlease:couponlease' | base64)
  port_open "$PORT_MANAGEMENT" || return 1
  status=$(
    exec 3<>"/dev/tcp/127.0.0.1/$PORT_MANAGEMENT"
    printf 'GET /api/health/checks/port-listener/%s HTTP/1.0\r\nAuthorization: Basic %s\r\n\r\n' \
      "$PORT_AMQP" "$auth" >&3
    head -n 1 <&3
  ) 2>/dev/null
  [[ $status == *' 200 '* ]]
}
