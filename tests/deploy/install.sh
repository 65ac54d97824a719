#!/usr/bin/env bash
# What checks the files of deploy/, from the system's packages: promtool, nginx, haproxy, systemd-analyze. (Caddy and hadolint
# are in requirements/dev.txt.) Without apt, or root, the tests that need them say why they are skipped.
set -eu
cd "$(dirname "$0")"
programs="$PWD/programs"
PATH="$PATH:/usr/sbin:$programs"
found() { command -v "$1" >/dev/null; }

wanted=""
found nginx || wanted="$wanted nginx"
found haproxy || wanted="$wanted haproxy"
found systemd-analyze || wanted="$wanted systemd"
if [ -z "$wanted" ] && found promtool; then exit 0; fi
if ! found apt-get || [ "$(id -u)" != 0 ]; then
    echo "promtool,$wanted: not all are here, and this is no Debian with root: their tests will be skipped" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -o DPkg::Lock::Timeout=600 update -qq
if [ -n "$wanted" ]; then
    # Only the programs are wanted: no server is started.
    denied=/usr/sbin/policy-rc.d
    if [ ! -e "$denied" ]; then
        trap 'rm -f "$denied"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$denied"
        chmod +x "$denied"
    fi
    # shellcheck disable=SC2086
    apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends $wanted >/dev/null
fi
if ! found promtool; then
    # One program out of a package that is a whole server.
    work="$(mktemp -d)"
    (cd "$work" && apt-get download -qq prometheus 2>/dev/null && dpkg-deb -x prometheus_*.deb unpacked)
    mkdir -p "$programs"
    cp "$work/unpacked/usr/bin/promtool" "$programs/promtool"
    rm -rf "$work"
fi
