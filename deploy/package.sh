# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables are shared with the scripts that source this file
# Shared by deploy/install, deploy/uninstall and deploy/deb: which file is installed where. Source it after lib.sh.

# Build folder of the statically linked programs, which run without Swift installed. Different flags need another
# folder.
static_scratch=$scratch-static
programs=(lockstep-agent lockstep-collector lockstep lockstep-serve lockstep-gateway)
services=(agent collector serve gateway)

# build_programs: builds the programs and strips them into $static_scratch/stripped.
build_programs() {
    local program stripped=$static_scratch/stripped
    for program in "${programs[@]}"; do
        swift build --package-path "$root" --scratch-path "$static_scratch" -c release --static-swift-stdlib \
            --product "$program" >&2
    done
    mkdir -p -- "$stripped"
    for program in "${programs[@]}"; do
        strip -o "$stripped/$program" -- "$static_scratch/release/$program"
    done
}

# use_programs DIR: checks that DIR holds every program.
use_programs() {
    local program
    for program in "${programs[@]}"; do
        [[ -f $1/$program && -x $1/$program ]] || fail "$1/$program is missing: build the programs first"
    done
}

# lay_out PART DESTDIR BIN UNITS UDEV: copies the files of a part (agent, collector, serve, gateway or tools) into
# DESTDIR: the program into BIN, the systemd unit into UNITS, the udev rules into UDEV, and pages into share/lockstep
# beside BIN, and the completion of bash into share/bash-completion. The commands `lockstep up` and `lockstep certs` use the
# configurations of a broker, so that they are installed, too.
# Settings are copied by lay_out_settings.
lay_out() {
    local part=$1 destination=$2 bin=$3 units=$4 udev=$5 program=lockstep-$1
    [[ $part != tools ]] || program=lockstep
    install -D -m 755 -- "$binaries/$program" "$destination$bin/$program"
    lay_out_completion "$program" "$destination${bin%/*}/share/bash-completion/completions"
    if [[ $part == tools ]]; then
        local file
        for file in development.conf production.conf production.acl; do
            install -D -m 644 -- "$root/broker-config/$file" "$destination${bin%/*}/share/lockstep/broker/$file"
        done
        return 0
    fi
    install -d -m 755 -- "$destination$units"
    sed "s|=/usr/bin/|=$bin/|" "$root/deploy/systemd/lockstep-$part.service" >"$destination$units/lockstep-$part.service"
    chmod 644 -- "$destination$units/lockstep-$part.service"
    [[ $part != agent ]] ||
        install -D -m 644 -- "$root/deploy/systemd/60-lockstep-iio.rules" "$destination$udev/60-lockstep-iio.rules"
    [[ $part != serve ]] || lay_out_shared "$destination${bin%/*}/share/lockstep"
    [[ $part != gateway ]] || lay_out_page LockstepGateway "$destination${bin%/*}/share/lockstep/join"
}

# lay_out_completion PROGRAM FOLDER: lets the program write its rules for the completion of bash. Without them, everything
# else works.
lay_out_completion() {
    local rules
    rules=$("$binaries/$1" --generate-completion-script bash) || return 0
    install -d -m 755 -- "$2"
    printf '%s\n' "$rules" >"$2/$1"
    chmod 644 -- "$2/$1"
}

# lay_out_page MODULE FOLDER: copies the page of a module.
lay_out_page() {
    local file page=$root/Sources/$1/Page
    # Files of an older version must not stay.
    rm -rf -- "$2"
    [[ -d $page ]] || return 0
    while IFS= read -r file; do
        install -D -m 644 -- "$page/$file" "$2/$file"
    done < <(cd -- "$page" && find -L . -type f -printf '%P\n')
}

# lay_out_shared FOLDER: copies the page of lockstep-serve and the files for Prometheus and Grafana.
lay_out_shared() {
    local file
    lay_out_page LockstepServe "$1/page"
    for file in alerts.yaml dashboard.json; do
        install -D -m 644 -- "$root/deploy/monitoring/$file" "$1/monitoring/$file"
    done
}

# lay_out_settings PART DESTDIR: copies the example settings unless settings exist.
lay_out_settings() {
    local file=$2/etc/lockstep/$1.yaml
    install -d -m 755 -- "$2/etc/lockstep"
    [[ -e $file ]] || install -m 640 -- "$root/deploy/settings/$1.yaml" "$file"
}

# absolute_folder OPTION VALUE: checks a folder argument and sets $folder to its absolute path without a trailing slash.
absolute_folder() {
    [[ -n $2 && $2 != -* && $2 != *[[:space:]\|\&\\]* ]] ||
        usage_error "$1 takes a folder without spaces, '|', '&' or backslashes in its name, not '$2'"
    [[ $2 == /* ]] || set -- "$1" "$PWD/$2"
    folder=${2%/}
}

# has_systemd: whether systemd is running. In a chroot or container it may be installed but not running.
has_systemd() { [[ -d /run/systemd/system ]]; }

# make_user NAME: creates a system user without login, and a group of the same name.
make_user() {
    getent group "$1" >/dev/null || groupadd --system "$1"
    getent passwd "$1" >/dev/null ||
        useradd --system --gid "$1" --no-create-home --home-dir "/var/lib/$1" --shell /usr/sbin/nologin "$1"
}

# remove_user NAME: removes the user and its group.
remove_user() {
    if getent passwd "$1" >/dev/null; then userdel "$1"; fi
    if getent group "$1" >/dev/null; then groupdel "$1"; fi
}

# make_store_group: creates the group of the collector, whose members may read its store. lockstep-serve needs it, also on
# a machine without a collector.
make_store_group() { getent group lockstep-collector >/dev/null || groupadd --system lockstep-collector; }

# make_iio_group: creates the group that may read sensors, and applies the udev rules to the sensors present.
make_iio_group() {
    getent group iio >/dev/null || groupadd --system iio
    if has_systemd && command -v udevadm >/dev/null; then
        udevadm control --reload 2>/dev/null || true
        udevadm trigger --subsystem-match=iio --action=change 2>/dev/null || true
    fi
}

# remove_if_empty FOLDER: removes the folder if it exists and is empty.
remove_if_empty() { [[ ! -d $1 ]] || rmdir --ignore-fail-on-non-empty -- "$1"; }

# release_notes VERSION: prints the section of docs/changelog.md of a version, whose Debian revision is ignored.
release_notes() {
    awk -v "heading=## ${1%%-*}" '$0 == heading { found = 1 } /^## / { shown = $0 == heading } shown; END { exit !found }' \
        "$root/docs/changelog.md" || fail "docs/changelog.md has no section '## ${1%%-*}'"
}

# make_repository FOLDER: makes the folder of packages a repository of apt, which can be copied to any web server, with
# checksums of all files. Its time is SOURCE_DATE_EPOCH.
make_repository() {
    (
        cd -- "$1" || exit
        rm -f -- Packages Packages.gz Release SHA256SUMS
        apt-ftparchive packages . >Packages
        gzip --keep --no-name -9 Packages
        apt-ftparchive -o APT::FTPArchive::Release::Origin=Lockstep -o APT::FTPArchive::Release::Label=Lockstep \
            -o "APT::FTPArchive::Release::Date=$(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")" \
            release . >../Release.$$
        mv -- ../Release.$$ Release
        sha256sum -- * >"../SHA256SUMS.$$"
        mv -- "../SHA256SUMS.$$" SHA256SUMS
    )
}
