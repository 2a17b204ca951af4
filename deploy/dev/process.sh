# shellcheck shell=bash
# Processes: started in a session of their own, remembered as "pid start-time" so that a recycled pid is never
# mistaken for ours, stopped by signal, waited for by condition. Sourced by stack.sh.

# start_time PID: the kernel's start time of a process (field 22 of its stat line), empty when it is gone or a zombie.
start_time() {
  local stat fields
  [[ -r /proc/$1/stat ]] || return 0
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  # The command name may hold blanks and brackets: the fields are counted after its closing bracket.
  read -r -a fields <<<"${stat##*) }"
  [[ ${fields[0]} == Z ]] || printf '%s' "${fields[19]}"
}

# spawn NAME COMMAND...: run it in the background, output to its log, without the locks of this script.
spawn() {
  local name=$1 pid
  shift
  (cd / && exec setsid "$@") >>"$STATE/log/$name.log" 2>&1 </dev/null 8>&- 9>&- &
  pid=$!
  printf '%s %s\n' "$pid" "$(start_time "$pid")" >"$STATE/pids/$name"
  disown "$pid"
}

# pid_of NAME: the pid of a process that we started and that still runs; empty otherwise.
pid_of() {
  local pid="" began=""
  [[ -f $STATE/pids/$1 ]] || return 0
  read -r pid began <"$STATE/pids/$1" || true
  if [[ -n $pid && -n $began && $(start_time "$pid") == "$began" ]]; then
    printf '%s' "$pid"
  fi
}

is_running() { [[ -n $(pid_of "$1") ]]; }

is_gone() { [[ -z $(pid_of "$1") ]]; }

# wait_until SECONDS CONDITION [NAME]: polls; gives up early when the process NAME has died.
wait_until() {
  local deadline=$((SECONDS + $1)) condition=$2 name=${3:-}
  until $condition; do
    ((SECONDS < deadline)) || return 1
    [[ -z $name ]] || is_running "$name" || return 1
    sleep 0.1
  done
}

# stop_process NAME: the service's own way of a clean stop, then force. SIGINT is PostgreSQL's fast shutdown.
stop_process() {
  local name=$1 pid signal=TERM
  pid=$(pid_of "$name")
  if [[ -n $pid ]]; then
    [[ $name != postgres ]] || signal=INT
    say "stopping $name"
    kill -s "$signal" "$pid" 2>/dev/null || true
    wait_gone "$name" 20 || kill_process "$name"
  fi
  rm -f "$STATE/pids/$name"
}

kill_process() {
  local name=$1 pid
  pid=$(pid_of "$name")
  if [[ -n $pid ]]; then
    say "killing $name"
    kill -s KILL "$pid" 2>/dev/null || true
    wait_gone "$name" 30 || die "$name (pid $pid) does not go away"
  fi
  rm -f "$STATE/pids/$name"
}

wait_gone() {
  local deadline=$((SECONDS + $2))
  until is_gone "$1"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.1
  done
}
