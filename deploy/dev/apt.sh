#!/usr/bin/env bash
# Installs Debian packages without questions, without starting their system services and without creating
# Debian's "main" PostgreSQL cluster. Run as root by install.sh; what it changes besides, it changes back.
set -euo pipefail

export DEBIAN_FRONTEND=noninteractive
POLICY=/usr/sbin/policy-rc.d
CLUSTER=/etc/postgresql-common/createcluster.d/couponlease-dev.conf
undo=()

cleanup() {
  ((${#undo[@]} == 0)) || rm -f "${undo[@]}"
}
trap cleanup EXIT

if [[ ! -e $POLICY ]]; then
  undo+=("$POLICY")
  printf '#!/bin/sh\nexit 101\n' >"$POLICY"
  chmod 0755 "$POLICY"
fi
if [[ ! -e $CLUSTER ]]; then
  undo+=("$CLUSTER")
  mkdir -p "$(dirname "$CLUSTER")"
  printf 'create_main_cluster = false\n' >"$CLUSTER"
fi

apt-get update
apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 "$@"
