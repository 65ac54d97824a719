#!/usr/bin/env bash
# A PostgreSQL server and a pooler, from the system's packages. Without root or apt the tests that need one say why they are skipped.
set -eu
found() { { command -v pg_ctl || ls /usr/lib/postgresql/*/bin/pg_ctl; } && { command -v pgbouncer || ls /usr/sbin/pgbouncer; }; }

if found >/dev/null 2>&1; then exit 0; fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "no PostgreSQL here, and this is no Debian with root: its tests will be skipped" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -o DPkg::Lock::Timeout=600 update -qq
# Only the programs are wanted: no cluster is created, no server is started.
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends postgresql pgbouncer >/dev/null
found >/dev/null
