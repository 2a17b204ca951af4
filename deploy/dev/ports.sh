# shellcheck shell=bash
# Where a stack lives: data directory and ports. Sourced by stack.sh.

# The stack's ports, in the order in which a block of them is laid out.
PORT_NAMES=(POSTGRES AMQP MANAGEMENT REDIS EPMD DIST PROMETHEUS AMQPS MANAGEMENT_TLS REDIS_TLS)

stack_hash() { printf '%s' "$STATE" | cksum | cut -d' ' -f1; }

# choose_data_dir: .dev/data, unless the unprivileged user that has to run PostgreSQL for root cannot get there
# (a checkout under /root or in a private temporary directory). Then below /var/tmp, with a pointer in .dev/.
choose_data_dir() {
  if [[ -f $STATE/data-dir ]]; then
    DATA=$(<"$STATE/data-dir")
    return
  fi
  DATA=$STATE/data
}

# prepare_data_dir settles the choice once the packages, and with them their users, are there.
prepare_data_dir() {
  find_postgres_user
  if [[ $EUID == 0 && ! -f $STATE/data-dir ]] && ! "${AS_POSTGRES[@]}" test -x "$STATE" 2>/dev/null; then
    DATA=/var/tmp/couponlease-$(stack_hash)
    printf '%s\n' "$DATA" >"$STATE/data-dir"
  fi
  mkdir -p "$DATA"
  # /var/tmp is everybody's: a directory somebody else has put there is not ours to use.
  [[ -O $DATA && ! -L $DATA ]] || die "$DATA belongs to somebody else; remove it"
  chmod 0755 "$DATA"
}

port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# block_free BASE: no port of the block is in use.
block_free() {
  local i
  for i in "${!PORT_NAMES[@]}"; do
    ! port_open $(($1 + i)) || return 1
  done
}

anything_running() {
  local name
  for name in epmd "${SERVICES[@]}"; do
    ! is_running "$name" || return 0
  done
  return 1
}

# choose_ports sets PORT_<NAME>: what the environment fixes, else what is recorded, else the first free block,
# starting at a place that depends on the state directory's path, so that two stacks do not meet.
choose_ports() {
  local base i name fixed
  if [[ -f $STATE/ports ]] && { anything_running || block_free "$(<"$STATE/ports")"; }; then
    base=$(<"$STATE/ports")
  else
    base=$((20000 + $(stack_hash) % 1000 * 10))
    for ((i = 0; i < 1000; i++)); do
      ! block_free "$base" || break
      base=$((20000 + (base - 20000 + 10) % 10000))
    done
    printf '%s\n' "$base" >"$STATE/ports"
  fi
  for i in "${!PORT_NAMES[@]}"; do
    name=${PORT_NAMES[i]}
    fixed=COUPONLEASE_DEV_${name}_PORT
    printf -v "PORT_$name" '%s' "${!fixed:-$((base + i))}"
  done
}

# require_free_port SERVICE PORT VARIABLE
require_free_port() {
  ! port_open "$2" || die "$1: port $2 is taken by another program; free it, or choose another with $3"
}
