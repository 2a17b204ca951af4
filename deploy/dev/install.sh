# shellcheck shell=bash
# Packages of the distribution, installed only when a server program is missing. Sourced by stack.sh.

has_program() {
  case $1 in
    postgres) [[ -n $(postgres_bin) ]] ;;
    rabbitmq) [[ -n $(rabbitmq_server) ]] ;;
    redis) command -v redis-server >/dev/null ;;
  esac
}

package_of() {
  case $1 in
    postgres) echo postgresql ;;
    rabbitmq) echo rabbitmq-server ;;
    redis) echo redis-server ;;
  esac
}

install_missing() {
  local service packages=()
  for service in "$@"; do
    has_program "$service" || packages+=("$(package_of "$service")")
  done
  if ((${#packages[@]} == 0)); then
    return 0
  fi
  install_packages "${packages[@]}"
  for service in "$@"; do
    has_program "$service" || die "$service: its server program is still missing after installing ${packages[*]}"
  done
}

# install_tools: what only the tests need, a producer and a client that know nothing of this project.
install_tools() {
  local packages=()
  [[ -x /usr/bin/python3 ]] && /usr/bin/python3 -c 'import pika' 2>/dev/null || packages+=(python3-pika)
  command -v node >/dev/null || packages+=(nodejs)
  command -v npm >/dev/null || packages+=(npm)
  ((${#packages[@]} == 0)) || install_packages "${packages[@]}"
}

# as_root COMMAND...: directly, or through sudo when that needs no password.
as_root() {
  if [[ $EUID == 0 ]]; then
    "$@"
  else
    sudo -n "$@"
  fi
}

install_packages() {
  local log=$STATE/log/install.log
  command -v apt-get >/dev/null || die "missing: $*. Install them, or name running services by URL (see help)"
  if [[ $EUID != 0 ]] && ! sudo -n true 2>/dev/null; then
    die "missing packages; run: sudo apt-get update && sudo apt-get install $*"
  fi
  say "installing $* (log: $log)"
  if ! as_root bash "$HERE/apt.sh" "$@" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    die "installing $* did not work"
  fi
}
