#!/usr/bin/env bash
# Chromium and a font, from the system's packages. Without root or apt the browser tests say why they are skipped.
# Chromium without windows, where there is one: it takes three fifths of the CPU.
set -eu
found() { command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome; }

if command -v chromium-headless-shell >/dev/null; then exit 0; fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    if found >/dev/null; then exit 0; fi
    echo "no Chromium here, and this is no Debian with root: the browser tests will be skipped" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -o DPkg::Lock::Timeout=600 update -qq
install() { apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends "$1" fonts-dejavu-core fonts-noto-color-emoji >/dev/null; }
install chromium-headless-shell || found >/dev/null || install chromium
found >/dev/null
