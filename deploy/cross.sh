# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of lib.sh, package.sh and the scripts that source this file
# Builds the programs for arm64 on amd64, with the Swift of Debian's package swiftlang. Source it after debian.sh.
#
# The compiler runs in a folder with Debian sid. Swift's modules for arm64 are in the arm64 package of the same version,
# and the C libraries in a folder with the arm64 Debian of the release. Together they are a Swift SDK, whose parts are hard
# links into the folder of the compiler.

# make_sdk COMPILER SYSTEM RELEASE: creates the Swift SDK $sdk in the folder COMPILER, with the libraries of SYSTEM.
make_sdk() {
    local compiler=$1 system=$2 release=$3 bundle=/srv/sdk/lockstep.artifactbundle part link
    sdk=debian-$release-arm64
    sysroot=$bundle/$sdk/sysroot
    unpack_swift_modules "$compiler" "$compiler$bundle/swift"
    rm -rf -- "${compiler:?}$bundle/$sdk"
    mkdir -p -- "$compiler$sysroot/usr/share"
    for part in lib include share/pkgconfig; do
        cp --archive --link -- "$system/usr/$part" "$compiler$sysroot/usr/$part"
    done
    ln -s usr/lib "$compiler$sysroot/lib"
    # Absolute links would lead out of the folder.
    while IFS= read -r link; do
        ln -sfn -- "$(realpath --canonicalize-missing --relative-to="$(dirname -- "$link")" \
            "$compiler$sysroot$(readlink -- "$link")")" "$link"
    done < <(find "$compiler$sysroot/usr" -type l -lname '/*')
    # Where the linker searches for the start of Swift programs.
    for part in swift swift_static clang; do ln -s "../../../../swift/$part" "$compiler$sysroot/usr/lib/$part"; done
    printf '{"schemaVersion": "1.0", "swiftCompiler": {"extraCLIOptions": ["-use-ld=lld"]}}\n' \
        >"$compiler$bundle/$sdk/toolset.json"
    cat >"$compiler$bundle/$sdk/swift-sdk.json" <<JSON
{"schemaVersion": "4.0", "targetTriples": {"aarch64-unknown-linux-gnu": {
    "sdkRootPath": "sysroot", "toolsetPaths": ["toolset.json"],
    "swiftResourcesPath": "../swift/swift", "swiftStaticResourcesPath": "../swift/swift_static"}}}
JSON
    cat >"$compiler$bundle/info.json" <<JSON
{"schemaVersion": "1.0", "artifacts": {"$sdk": {
    "type": "swiftSDK", "version": "1.0.0", "variants": [{"path": "$sdk"}]}}}
JSON
}

# unpack_swift_modules COMPILER FOLDER: unpacks Swift's modules and libraries for arm64, of the version of the compiler.
unpack_swift_modules() {
    local version archive parts=$2.new
    version=$(dpkg-query --admindir="$1/var/lib/dpkg" -W -f='${Version}' swiftlang)
    [[ $(cat -- "$2/version" 2>/dev/null) != "$version" ]] || return 0
    printf 'Downloading Swift %s for arm64\n' "$version" >&2
    rm -rf -- "$2" "$parts"
    mkdir -p -- "$parts"
    (
        cd -- "$run_folder" || exit
        { private_apt "$run_folder/apt" sid arm64 && apt-get download "swiftlang=$version" "libswiftlang=$version"; } \
            >"$run_folder/apt.log" 2>&1 || { cat -- "$run_folder/apt.log" >&2 && fail "cannot download swiftlang $version: remove $1"; }
    )
    for archive in "$run_folder"/*swiftlang_*.deb; do
        # One pattern for the folders clang, swift and swift_static: tar fails if a package has none of a pattern.
        dpkg --fsys-tarfile "$archive" | tar --extract --directory "$parts" --strip-components=5 --wildcards \
            './usr/libexec/swift/lib/[cs][lw][ai]*'
    done
    rm -- "$run_folder"/*swiftlang_*.deb
    rm -rf -- "$parts"/swift/{host,embedded,migrator,pm} "$parts/swift_static/embedded"
    printf '%s\n' "$version" >"$parts/version"
    mv -- "$parts" "$2"
}

# cross_swift COMPILER ARGUMENT...: builds with the SDK of make_sdk.
cross_swift() {
    local compiler=$1
    shift
    enter "$compiler" env ${LOCKSTEP_PURE_TESTS_ONLY:+LOCKSTEP_PURE_TESTS_ONLY=1} PKG_CONFIG_SYSROOT_DIR="$sysroot" \
        PKG_CONFIG_PATH="$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig:$sysroot/usr/share/pkgconfig" \
        swift build --package-path /srv/lockstep --swift-sdks-path /srv/sdk --swift-sdk "$sdk" -c release "$@" >&2
}

# cross_build COMPILER RELEASE: builds the programs, and strips them into $built.
cross_build() {
    local compiler=$1 scratch=/srv/lockstep/.build-arm64-$2 program options=()
    built=$compiler$scratch/stripped
    mkdir -p -- "$built"
    if [[ $2 == 12 ]]; then
        enter "$compiler" clang --target=aarch64-linux-gnu --sysroot="$sysroot" -O2 -Wall -Werror \
            -c /srv/lockstep/deploy/debian/glibc-2.36.c -o "$scratch/glibc-2.36.o"
        options=(-Xlinker "$scratch/glibc-2.36.o")
    fi
    for program in "${programs[@]}"; do
        cross_swift "$compiler" --scratch-path "$scratch" --static-swift-stdlib "${reproducible[@]}" --product "$program" \
            "${options[@]}"
        enter "$compiler" llvm-objcopy --strip-all "$scratch/release/$program" "$scratch/stripped/$program"
    done
}

# cross_tests COMPILER FOLDER: builds the tests without I/O, and copies them with Swift's libraries into FOLDER.
cross_tests() {
    local compiler=$1 scratch=/srv/lockstep/.build-arm64-tests libraries=/srv/sdk/lockstep.artifactbundle/swift/swift/linux
    # Debian's package lacks this library, and the tests do not use it.
    enter "$compiler" llvm-ar qc "$libraries/lib_Testing_Foundation.a"
    LOCKSTEP_PURE_TESTS_ONLY=1 cross_swift "$compiler" --scratch-path "$scratch" --build-tests -Xswiftc -enable-testing
    mkdir -p -- "$2"
    cp -- "$compiler$scratch"/release/*.xctest "$compiler$libraries"/*.so "$2/"
}
