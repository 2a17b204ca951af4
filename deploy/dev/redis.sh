# shellcheck shell=bash
# Redis: private and without persistence, because the product must be able to rebuild it. Sourced by stack.sh.

redis_url() {
  if uses_tls; then
    printf 'rediss://127.0.0.1:%s/0' "$PORT_REDIS_TLS"
  else
    printf 'redis://127.0.0.1:%s/0' "$PORT_REDIS"
  fi
}

redis_check_ports() {
  require_free_port redis "$PORT_REDIS" COUPONLEASE_DEV_REDIS_PORT
  ! uses_tls || require_free_port redis "$PORT_REDIS_TLS" COUPONLEASE_DEV_REDIS_TLS_PORT
}

redis_start() {
  local tls=()
  mkdir -p "$DATA/redis"
  if uses_tls; then
    tls=(--tls-port "$PORT_REDIS_TLS" --tls-ca-cert-file "$STATE/tls/ca.pem" --tls-cert-file "$STATE/tls/server.pem"
      --tls-key-file "$STATE/tls/server.key" --tls-auth-clients yes)
  fi
  # The port without TLS stays: redis_ready asks there.
  spawn redis redis-server --port "$PORT_REDIS" --bind 127.0.0.1 --dir "$DATA/redis" \
    --save '' --appendonly no --daemonize no "${tls[@]}"
}

redis_ready() {
  local answer=""
  port_open "$PORT_REDIS" || return 1
  answer=$(
    exec 3<>"/dev/tcp/127.0.0.1/$PORT_REDIS"
    printf 'PING\r\n' >&3
    head -n 1 <&3
  ) 2>/dev/null
  [[ $answer == +PONG* ]]
}
