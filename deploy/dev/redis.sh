# shellcheck shell=bash
# Redis: private and without persistence, because the product must be able to rebuild it. Sourced by stack.sh.

redis_url() { printf 'redis://127.0.0.1:%s/0' "$PORT_REDIS"; }

redis_check_ports() { require_free_port redis "$PORT_REDIS" COUPONLEASE_DEV_REDIS_PORT; }

redis_start() {
  mkdir -p "$DATA/redis"
  spawn redis redis-server --port "$PORT_REDIS" --bind 127.0.0.1 --dir "$DATA/redis" \
    --save '' --appendonly no --daemonize no
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
