#!/usr/bin/env bash
# Chromium and a font, from the system's packages. Without root or apt the browser tests say why they are skipped.
# Where there is one, also a Chromium without windows: it takes three fifths of the CPU.
set -eu
found() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

if found >/dev/null && command -v chromium-headless-shell >/dev/null; then exit 0; fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    found >/dev/null || echo "no Chromium here, and this is no Debian with root: the browser tests will be skipped" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -o DPkg::Lock::Timeout=600 update -qq
install() { apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends "$@" >/dev/null; }
install chromium fonts-dejavu-core fonts-noto-color-emoji
install chromium-headless-shell || echo "no Chromium without windows in these packages: the browser tests take longer" >&2
found >/dev/null
