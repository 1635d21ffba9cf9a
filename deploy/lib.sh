# shellcheck shell=bash
# shellcheck disable=SC2034 # what is set here is used there
# What deploy/demo and deploy/check share. Source it; it runs nothing by itself.

# The checkout, whichever folder the script was called from.
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# Where swift builds; LOCKSTEP_SCRATCH names another folder.
scratch=${LOCKSTEP_SCRATCH:-$root/.build}

# What the programs link, and what every broker of ours needs.
build_packages=(libmosquitto-dev libsqlite3-dev libyaml-dev pkg-config)
broker_packages=(mosquitto mosquitto-clients socat sqlite3)

# Debian keeps servers out of the PATH of ordinary users.
PATH=$PATH:/usr/sbin:/sbin

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# usage_error TEXT: an argument that can't be used.
usage_error() {
    printf '%s: %s\nTry %s --help.\n' "${0##*/}" "$*" "${0##*/}" >&2
    exit 64
}

# whole_number OPTION VALUE FROM TO: checks an argument.
whole_number() {
    if ! [[ $2 =~ ^(0|[1-9][0-9]{0,17})$ ]] || (($2 < $3 || $2 > $4)); then
        usage_error "$1 takes a whole number from $3 to $4, not '$2'"
    fi
}

# install_packages NAME...: installs those Debian packages that are missing.
install_packages() {
    local package missing=()
    command -v dpkg-query >/dev/null ||
        fail "this is not Debian: install what these Debian packages hold, and run the steps by hand: $*"
    for package; do
        # Also true of a package of another version or architecture that is installed.
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    ((${#missing[@]})) || return 0

    local as_root=()
    if ((EUID)); then
        command -v sudo >/dev/null || fail "not root, and no sudo: install these packages first: ${missing[*]}"
        as_root=(sudo)
    fi
    printf 'Installing %s\n' "${missing[*]}"
    local log
    log=$(mktemp)
    if ! apt_get update </dev/null >"$log" 2>&1 ||
        ! apt_get install --yes --no-install-recommends "${missing[@]}" </dev/null >>"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "apt-get could not install: ${missing[*]}"
    fi
    rm -f "$log"
}

# Called by install_packages alone, whose as_root it sees.
apt_get() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet -o DPkg::Lock::Timeout=300 "$@"
}

# require_swift: ends with advice where there is no Swift that can build the package.
require_swift() {
    local wanted version
    wanted=$(sed -n 's|^// swift-tools-version: *||p' "$root/Package.swift")
    command -v swift >/dev/null ||
        fail "swift is not in the PATH: install Swift $wanted or newer (https://www.swift.org/install/linux/)"
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1)
    [[ -n $version ]] || fail "'swift --version' says no version: is this a Swift toolchain? $(command -v swift)"
    [[ $(printf '%s\n%s\n' "$wanted" "$version" | sort -V | head -n 1) == "$wanted" ]] ||
        fail "this is Swift $version, the package needs $wanted or newer (https://www.swift.org/install/linux/)"
}

# reference_python: makes, where it is missing, a Python with the packages that the tests compare with; prints its path.
reference_python() {
    local folder=${XDG_CACHE_HOME:-$HOME/.cache}/lockstep/reference log
    if ! "$folder/bin/python" -c 'import numpy, paho.mqtt, vqf' 2>/dev/null; then
        log=$(mktemp)
        if ! { python3 -m venv --clear "$folder" && "$folder/bin/pip" install --quiet 'numpy<3' 'paho-mqtt==2.1.0' 'vqf==2.1.2'; } \
            >"$log" 2>&1; then
            cat "$log" >&2
            rm -f "$log"
            fail "the Python packages numpy, paho-mqtt and vqf can't be installed into $folder: is PyPI reachable?"
        fi
        rm -f "$log"
    fi
    printf '%s\n' "$folder/bin/python"
}
