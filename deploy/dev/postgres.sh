# shellcheck shell=bash
# PostgreSQL: a private cluster with honest durability. Sourced by stack.sh.

# PostgreSQL refuses to run as root, so root hands it to an unprivileged user.
AS_POSTGRES=()

find_postgres_user() {
  local user=postgres
  [[ $EUID == 0 ]] || return 0
  id "$user" >/dev/null 2>&1 || user=nobody
  AS_POSTGRES=(setpriv "--reuid=$user" "--regid=$(id -g "$user")" --clear-groups)
  POSTGRES_USER=$user
}

# postgres_bin: the directory of the newest server installed, empty when there is none.
postgres_bin() {
  local found
  found=$(printf '%s\n' /usr/lib/postgresql/*/bin/postgres | sort -t/ -k5 -n | tail -n 1)
  [[ -x $found ]] || found=$(command -v postgres || true)
  [[ -z $found ]] || dirname "$found"
}

postgres_url() {
  local mode=disable
  ! uses_tls || mode=verify-full
  printf 'postgres://couponlease:couponlease@127.0.0.1:%s/couponlease?sslmode=%s' "$PORT_POSTGRES" "$mode"
}

postgres_check_ports() { require_free_port postgres "$PORT_POSTGRES" COUPONLEASE_DEV_POSTGRES_PORT; }

postgres_start() {
  local bin dir=$DATA/postgres
  bin=$(postgres_bin)
  find_postgres_user
  [[ -d $dir ]] || postgres_init "$bin" "$dir"
  postgres_clear_stale_lock "$dir"
  # Copied, because the server's user may not be able to read the checkout.
  cp "$HERE/postgresql.conf" "$dir/couponlease.conf"
  ! uses_tls || postgres_tls "$dir" >>"$dir/couponlease.conf"
  chmod 0644 "$dir/couponlease.conf"
  spawn postgres "${AS_POSTGRES[@]}" "$bin/postgres" -D "$dir" -p "$PORT_POSTGRES"
}

# postgres_tls DIR: prints the settings. The server only takes a key that is its own and nobody else can read.
postgres_tls() {
  local dir=$1 file
  for file in ca.pem server.pem server.key; do
    install -m 0600 "$STATE/tls/$file" "$dir/$file"
    [[ $EUID != 0 ]] || chown "$POSTGRES_USER" "$dir/$file"
  done
  printf 'hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n' >"$dir/tls_hba.conf"
  chmod 0644 "$dir/tls_hba.conf"
  printf "ssl = on\nssl_ca_file = 'ca.pem'\nssl_cert_file = 'server.pem'\nssl_key_file = 'server.key'\n"
  printf "hba_file = '%s/tls_hba.conf'\n" "$dir"
}

# postgres_init BIN DIR: builds beside and moves into place, so that an interrupted run leaves nothing half made.
postgres_init() {
  local bin=$1 dir=$2 new=$2.new major
  major=$("$bin/postgres" --version | grep -oE '[0-9]+' | head -n 1)
  ((major >= 15)) || die "PostgreSQL $major is too old, 15 or newer is needed"
  rm -rf "$new" "$dir"
  mkdir -m 0700 "$new"
  printf 'couponlease\n' >"$new.password"
  if [[ $EUID == 0 ]]; then
    chown "$POSTGRES_USER" "$new" "$new.password"
  fi
  say "initialising PostgreSQL $major in $dir"
  {
    (cd / && "${AS_POSTGRES[@]}" "$bin/initdb" -D "$new" --username=couponlease --pwfile="$new.password" \
      --auth-local=reject --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8)
    rm -f "$new.password"
    (cd / && printf 'CREATE DATABASE couponlease\n' | "${AS_POSTGRES[@]}" "$bin/postgres" --single -D "$new" postgres)
    printf "include 'couponlease.conf'\n" >>"$new/postgresql.conf"
  } >>"$STATE/log/postgres.log" 2>&1 </dev/null || die_with_log postgres
  mv "$new" "$dir"
}

# postgres_clear_stale_lock DIR: a killed server leaves its lock file, and the next one takes it for a sign of life as
# long as nobody has collected the dead process; in a container without a proper init nobody ever does.
postgres_clear_stale_lock() {
  local dir=$1 pid
  [[ -f $dir/postmaster.pid ]] || return 0
  pid=$(head -n 1 "$dir/postmaster.pid")
  [[ -d /proc/$pid && -z $(start_time "$pid") ]] || return 0
  POSTGRES_DIR=$dir wait_until 30 postgres_unused || die "PostgreSQL is dead, but its children still use $dir"
  rm -f "$dir/postmaster.pid"
}

# postgres_unused: no process works in the data directory, as each of the server's does.
postgres_unused() {
  local cwd
  for cwd in /proc/[0-9]*/cwd; do
    [[ $(readlink "$cwd" 2>/dev/null) != "$POSTGRES_DIR" ]] || return 1
  done
}

postgres_ready() {
  "$(postgres_bin)/pg_isready" -q -h 127.0.0.1 -p "$PORT_POSTGRES" -U couponlease -d couponlease
}
