# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables are shared with the scripts that source this file
# Shared by the scripts that build, test or use packages. Source it after lib.sh.

# Build folder of the statically linked programs, which run without Swift installed. Different flags need another
# folder.
static_scratch=$scratch-static
programs=(lockstep-agent lockstep-collector lockstep lockstep-serve lockstep-gateway)
services=(agent collector serve gateway)

# Options with which two builds have the same bytes: debug information of C modules would contain random numbers, and the pass
# loop-unroll of Swift 6.3 orders values by their addresses.
reproducible=(-debug-info-format none -Xswiftc -Xllvm -Xswiftc -sil-disable-pass=loop-unroll)

# build_programs: builds the programs and strips them into $static_scratch/stripped.
build_programs() {
    local program stripped=$static_scratch/stripped
    for program in "${programs[@]}"; do
        swift build --package-path "$root" --scratch-path "$static_scratch" -c release --static-swift-stdlib \
            "${reproducible[@]}" --product "$program" >&2
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

# absolute_folder OPTION VALUE: checks a folder argument and sets $folder to its absolute path without a trailing slash.
absolute_folder() {
    [[ -n $2 && $2 != -* && $2 != *[[:space:]\|\&\\]* ]] ||
        usage_error "$1 takes a folder without spaces, '|', '&' or backslashes in its name, not '$2'"
    [[ $2 == /* ]] || set -- "$1" "$PWD/$2"
    folder=${2%/}
}

# release_notes VERSION: prints the section of docs/changelog.md of a version.
release_notes() {
    awk -v "heading=## $1" '$0 == heading { found = 1 } /^## / { shown = $0 == heading } shown; END { exit !found }' \
        "$root/docs/changelog.md" || fail "docs/changelog.md has no section '## $1'"
}

# source_archive FOLDER: packs the sources of the commit, with the same bytes each time, and a file with its checksum.
source_archive() {
    local version name
    version=$(sed -n 's/^## \([0-9][0-9.]*\)$/\1/p' "$root/docs/changelog.md" | head -n 1)
    [[ -n $version ]] || fail "docs/changelog.md has no version"
    name=lockstep-$version
    # gzip would write the time.
    git -C "$root" archive --format=tar --prefix="$name/" HEAD | gzip --no-name -9 >"$1/$name.tar.gz"
    (cd -- "$1" && sha256sum -- "$name.tar.gz" >"$name.tar.gz.sha256")
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
