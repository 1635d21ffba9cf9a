# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of lib.sh and for scripts that source this file
# Functions for other releases and architectures of Debian than those of this machine. Source it after lib.sh.

# What Swift's toolchains need.
swift_packages=binutils,ca-certificates,g++,git,libcurl4-openssl-dev,libncurses-dev,libsqlite3-dev,libxml2-dev,tzdata,zlib1g-dev

# The processor that QEMU emulates: that of a Raspberry Pi 3. QEMU's default one also has pointer authentication, which
# Debian's libraries use in most functions, and whose emulation makes programs up to twenty times as slow.
export QEMU_CPU=cortex-a53

# debian_mirror LABEL: prints the mirror of this machine for Debian or Debian-Security.
debian_mirror() {
    local label=$1 site
    # shellcheck disable=SC2016 # expanded by apt-get
    site=$(apt-get indextargets --format '$(SITE)' 'Origin: Debian' "Label: $label" 2>/dev/null | head -n 1)
    printf '%s\n' "${site:-http://deb.debian.org/${label,,}}"
}

# debian_suite RELEASE: prints the name of a release.
debian_suite() {
    case $1 in
        12) printf 'bookworm\n' ;;
        13) printf 'trixie\n' ;;
        sid) printf 'sid\n' ;;
        *) usage_error "the release of Debian is 12, 13 or sid, not '$1'" ;;
    esac
}

# private_apt FOLDER SUITE ARCHITECTURE: creates a configuration of apt that does not touch that of this machine, sets
# APT_CONFIG, and downloads the lists of packages. Returns 1 if the mirror cannot be reached.
private_apt() {
    mkdir -p -- "$1"/etc/{apt.conf.d,preferences.d,sources.list.d} "$1/state/lists/partial" "$1/cache/archives/partial"
    touch "$1/state/status"
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$(debian_mirror Debian)" "$2" \
        >"$1/etc/sources.list"
    cat >"$1/conf" <<CONF
Dir::Etc "$1/etc"; Dir::State "$1/state"; Dir::State::status "$1/state/status"; Dir::Cache "$1/cache";
APT::Architecture "$3"; APT::Architectures { "$3"; }; APT::Install-Recommends "false"; APT::Sandbox::User "";
Acquire::Languages "none"; Acquire::Check-Valid-Until "false"; Acquire::Retries "2"; Acquire::http::Timeout "20";
CONF
    export APT_CONFIG=$1/conf
    apt-get --quiet --error-on=any update
}

# debian_folder RELEASE ARCHITECTURE [NAME]: prints the folder of a Debian system.
debian_folder() { printf '%s\n' "$scratch-debian/$1-$2${3:+-$3}"; }

# make_debian FOLDER RELEASE ARCHITECTURE [PACKAGES]: creates a folder with a Debian system that has these packages,
# separated by commas, and otherwise only the necessary ones. Does nothing if it exists.
make_debian() {
    local suite
    suite=$(debian_suite "$2")
    [[ ! -d $1 ]] || return 0
    printf 'Downloading Debian %s for %s\n' "$2" "$3" >&2
    mkdir -p -- "$(dirname -- "$1")"
    rm -rf --one-file-system -- "$1.new"
    run debootstrap --variant=minbase --arch="$3" ${4:+--include="$4"} \
        "$suite" "$1.new" "$(debian_mirror Debian)" >"$1.log" 2>&1 || fail "debootstrap failed: see $1.log"
    mv -- "$1.new" "$1"
    rm -- "$1.log"
}

# run_arm64_programs: lets the kernel run programs for arm64 with QEMU, as the package qemu-user-static does where systemd
# runs.
run_arm64_programs() {
    local types=/proc/sys/fs/binfmt_misc
    [[ $(dpkg --print-architecture) != arm64 ]] || return 0
    run install_packages qemu-user-static >&2
    [[ -e $types/register ]] || mount -t binfmt_misc binfmt_misc "$types" 2>/dev/null ||
        fail "the kernel has no binfmt_misc, so it cannot run programs for arm64"
    [[ ! -e $types/qemu-aarch64 ]] || return 0
    cat /usr/lib/binfmt.d/qemu-aarch64.conf >"$types/register" || fail "the kernel cannot run programs for arm64"
}

# copy_checkout FOLDER: copies this checkout into FOLDER/srv/lockstep, and keeps the build folders there.
copy_checkout() {
    flock --nonblock "$1.lock" true || fail "another command is running in $1"
    mkdir -p -- "$1/srv/lockstep"
    find "$1/srv/lockstep" -mindepth 1 -maxdepth 1 ! -name '.build*' -exec rm -rf -- {} +
    # Not the folder itself: tar fails if it changes, for example because a build begins.
    (cd -- "$root" && find . -mindepth 1 -maxdepth 1 ! -name '.build*' -print0 | tar --null --files-from=- --create --file -) |
        tar --directory "$1/srv/lockstep" --extract --file -
}

# enter FOLDER COMMAND...: runs a command in a folder with a Debian system, with this machine's Swift, recordings and
# network. Its mounts and processes end with it.
enter() {
    run unshare --mount --pid --fork --kill-child --propagation private -- \
        bash "$root/deploy/debian.sh" "$@"
}

# bind FOLDER PATH: shows a folder of this machine at PATH.
bind() {
    mkdir -p -- "$2"
    mount --rbind --make-rslave -- "$1" "$2"
    mount -o remount,bind,ro -- "$2"
}

# enter_here FOLDER COMMAND...: the part of `enter` that runs in namespaces of its own.
enter_here() {
    local folder=$1 path programs lock recordings=$root
    shift
    # Scripts in two process namespaces would take the files of the other one for abandoned.
    exec {lock}>"$folder.lock"
    flock --nonblock "$lock" || fail "another command is running in $folder"
    # Otherwise changes of /etc/resolv.conf and /dev would reach this machine.
    mount --bind -- "$folder" "$folder"
    mount -t proc proc "$folder/proc"
    mount --rbind --make-rslave /sys "$folder/sys"
    mount --rbind --make-rslave /dev "$folder/dev"
    mount -t tmpfs tmpfs "$folder/run"
    cp --dereference --remove-destination -- /etc/resolv.conf /etc/hosts "$folder/etc/"
    # The certificate authorities that this machine trusts.
    if path=/usr/local/share/ca-certificates && [[ -x $folder/usr/sbin/update-ca-certificates ]] &&
        ! diff --recursive --brief "$path" "$folder$path" >/dev/null; then
        cp --recursive -- "$path/." "$folder$path/"
        chroot "$folder" /usr/sbin/update-ca-certificates >/dev/null 2>&1
    fi
    programs=/usr/sbin:/usr/bin:/sbin:/bin
    # Debian's own compiler, if it is installed there.
    if [[ -x $folder/usr/libexec/swift/bin/swift ]]; then
        programs=/usr/libexec/swift/bin:$programs
    elif path=$(command -v swift); then
        path=$(realpath -- "$path")
        path=${path%/usr/bin/*}
        bind "${path:?}" "$folder$path"
        programs=$path/usr/bin:$programs
    fi
    # Folders that stand in for public addresses of packages.
    : >"$folder/etc/gitconfig"
    git config --file "$folder/etc/gitconfig" safe.directory '*'
    while IFS= read -r -d '' line; do
        git config --file "$folder/etc/gitconfig" --add "${line%%$'\n'*}" "${line#*$'\n'}"
        path=${line#url.}
        path=${path%.insteadof*}
        path=${path%/}
        [[ $path != /* || ! -d $path || -e $folder$path/. && -n $(ls -A "$folder$path") ]] || bind "$path" "$folder$path"
    done < <(git -C / config --null --get-regexp '^url\..*\.insteadof$')
    while [[ -n $recordings && ! -d $recordings/shared/data ]]; do recordings=${recordings%/*}; done
    [[ -z $recordings ]] || bind "$recordings/shared/data" "$folder/srv/shared/data"
    # Not by exec: bash collects the orphans of this process namespace.
    chroot "$folder" /usr/bin/env --ignore-environment HOME=/root USER=root LANG=C.UTF-8 TERM="${TERM:-dumb}" QEMU_CPU="$QEMU_CPU" \
        PATH="$programs" DEBIAN_FRONTEND=noninteractive "$@"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
    set -euo pipefail
    # shellcheck source-path=SCRIPTDIR
    source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
    enter_here "$@"
fi
