#!/usr/bin/env bash
# Chromium and a font, from the system's packages. Without root or apt the browser tests say why they are skipped.
set -eu
found() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

if found >/dev/null; then exit 0; fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "no Chromium here, and this is no Debian with root: the browser tests will be skipped" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -o DPkg::Lock::Timeout=600 update -qq
apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends chromium fonts-dejavu-core fonts-noto-color-emoji >/dev/null
found >/dev/null
