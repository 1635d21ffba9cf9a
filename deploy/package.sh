# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # what is set here is used there, and the other way round
# What deploy/install, deploy/uninstall and deploy/deb share: which file goes where. Source it after lib.sh.

# The programs, linked so that a machine without Swift runs them, are built in a folder of their own: the flags differ.
static_scratch=$scratch-static
programs=(lockstep-agent lockstep-collector lockstep)
services=(agent collector)

# build_programs: builds them, without symbols, into $static_scratch/stripped.
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

# use_programs DIR: takes the programs in DIR instead of building; each has to be there.
use_programs() {
    local program
    for program in "${programs[@]}"; do
        [[ -f $1/$program && -x $1/$program ]] || fail "$1/$program is missing: build the programs first"
    done
}

# lay_out PART DESTDIR BIN UNITS UDEV: puts the files of a part (agent, collector or tools) into DESTDIR: its program
# into BIN, its unit into UNITS, its udev rules into UDEV. Settings are not among them: see lay_out_settings.
lay_out() {
    local part=$1 destination=$2 bin=$3 units=$4 udev=$5 program=lockstep-$1
    [[ $part != tools ]] || program=lockstep
    install -D -m 755 -- "$binaries/$program" "$destination$bin/$program"
    [[ $part != tools ]] || return 0
    install -d -m 755 -- "$destination$units"
    sed "s|=/usr/bin/|=$bin/|" "$root/deploy/systemd/lockstep-$part.service" >"$destination$units/lockstep-$part.service"
    chmod 644 -- "$destination$units/lockstep-$part.service"
    [[ $part != agent ]] ||
        install -D -m 644 -- "$root/deploy/systemd/60-lockstep-iio.rules" "$destination$udev/60-lockstep-iio.rules"
}

# lay_out_settings PART DESTDIR: the example settings, where there are none yet.
lay_out_settings() {
    local file=$2/etc/lockstep/$1.yaml
    install -d -m 755 -- "$2/etc/lockstep"
    [[ -e $file ]] || install -m 640 -- "$root/deploy/settings/$1.yaml" "$file"
}

# absolute_folder OPTION VALUE: checks an argument; leaves it, without a slash at its end, in $folder.
absolute_folder() {
    [[ -n $2 && $2 != -* && $2 != *[[:space:]\|\&\\]* ]] ||
        usage_error "$1 takes a folder, without spaces and the like in its name, not '$2'"
    [[ $2 == /* ]] || set -- "$1" "$PWD/$2"
    folder=${2%/}
}

# Whether systemd runs this machine: in a chroot or container it may be installed and not run.
has_systemd() { [[ -d /run/systemd/system ]]; }

# make_user NAME: a user of the system who can't log in, and a group of the same name.
make_user() {
    getent passwd "$1" >/dev/null ||
        useradd --system --user-group --no-create-home --home-dir "/var/lib/$1" --shell /usr/sbin/nologin "$1"
}

# remove_user NAME: and its group.
remove_user() {
    if getent passwd "$1" >/dev/null; then userdel "$1"; fi
    if getent group "$1" >/dev/null; then groupdel "$1"; fi
}

# make_iio_group: the group that may read sensors, and the rules that say so, applied to the sensors there are.
make_iio_group() {
    getent group iio >/dev/null || groupadd --system iio
    if has_systemd && command -v udevadm >/dev/null; then
        udevadm control --reload 2>/dev/null || true
        udevadm trigger --subsystem-match=iio --action=change 2>/dev/null || true
    fi
}

# remove_if_empty FOLDER
remove_if_empty() { [[ ! -d $1 ]] || rmdir --ignore-fail-on-non-empty -- "$1"; }
