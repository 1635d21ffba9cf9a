# shellcheck shell=bash
# shellcheck disable=SC2154 # 'folder' and 'days' are set by the script that sources this file
# Shared by deploy/certs and deploy/device-add: creates certificates with openssl. Source it after lib.sh.
#
# Uses $folder, which holds ca.pem and ca.key, and $days, the validity of new certificates.

# Certificates that expire within this many seconds (30 days) are renewed.
renewal=2592000

# run_openssl ARGUMENT...: runs openssl and shows its messages only if it fails.
run_openssl() {
    local messages
    messages=$(openssl "$@" 2>&1 >/dev/null </dev/null) || fail "openssl $1 failed: $messages"
}

# absolute PATH: prints the absolute path; the file need not exist.
absolute() { realpath --canonicalize-missing -- "$1"; }

# make_authority: creates ca.pem and ca.key unless they exist.
make_authority() {
    if [[ -e $folder/ca.pem ]]; then
        openssl x509 -in "$folder/ca.pem" -noout -checkend "$renewal" >/dev/null 2>&1 ||
            fail "$folder/ca.pem is not a certificate or expires within 30 days: start again in another folder, and" \
                "give every program the new ca.pem"
        return
    fi
    [[ ! -e $folder/ca.key ]] ||
        fail "$folder has ca.key but no ca.pem: restore ca.pem, or start again in another folder"
    (
        umask 077
        run_openssl ecparam -name prime256v1 -genkey -noout -out "$folder/ca.key.new"
    )
    run_openssl req -x509 -new -key "$folder/ca.key.new" -sha256 -days 3650 -subj "/CN=Lockstep authority" \
        -addext 'basicConstraints=critical,CA:TRUE,pathlen:0' -addext 'keyUsage=critical,keyCertSign,cRLSign' \
        -out "$folder/ca.pem.new"
    mv -- "$folder/ca.key.new" "$folder/ca.key"
    mv -- "$folder/ca.pem.new" "$folder/ca.pem"
    printf 'made   %s\n' "$folder/ca.pem"
}

# issue PATH NAME USE [ALTERNATIVES]: creates PATH.pem and PATH.key, signed by the authority; keeps valid ones.
# NAME is the user name at the broker, USE is serverAuth or clientAuth, ALTERNATIVES are names such as
# DNS:broker.example,IP:10.0.0.1.
issue() {
    local path=$1 name=$2 use=$3 alternatives=${4:-}
    # The limit of an X.509 common name.
    ((${#name} <= 64)) || fail "'$name' has ${#name} characters, but the name in a certificate can have at most 64:" \
        "choose a shorter name, or use --password"
    if is_valid "$path" "$name" "$alternatives"; then
        printf 'kept   %s\n' "$path.pem"
        return
    fi
    [[ -r $folder/ca.key ]] ||
        fail "cannot read $folder/ca.key, the authority's key, which has to sign $path.pem"
    (
        umask 077
        run_openssl ecparam -name prime256v1 -genkey -noout -out "$path.key.new"
    )
    # openssl separates the parts of a subject with slashes: escape those in the name.
    run_openssl req -new -key "$path.key.new" -sha256 -subj "/CN=${name//\//\\/}" -out "$path.request"
    {
        printf 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=%s\n' "$use"
        [[ -z $alternatives ]] || printf 'subjectAltName=%s\n' "$alternatives"
    } >"$path.extensions"
    run_openssl x509 -req -in "$path.request" -CA "$folder/ca.pem" -CAkey "$folder/ca.key" \
        -set_serial "0x$(openssl rand -hex 16)" -sha256 -days "$days" -extfile "$path.extensions" -out "$path.pem.new"
    mv -- "$path.key.new" "$path.key"
    mv -- "$path.pem.new" "$path.pem"
    rm -f -- "$path.request" "$path.extensions"
    printf 'made   %s, valid for %s days\n' "$path.pem" "$days"
}

# make_client_id FILE: creates a secret that becomes part of a client id, unless the file exists.
make_client_id() {
    if [[ -s $1 ]]; then
        printf 'kept   %s\n' "$1"
        return
    fi
    (umask 077 && openssl rand -hex 16 >"$1.new")
    mv -- "$1.new" "$1"
    printf 'made   %s\n' "$1"
}

# is_valid PATH NAME ALTERNATIVES: whether certificate and key exist, match each other, are signed by the authority,
# carry these names, and do not expire soon.
is_valid() {
    local path=$1 name=$2 wanted=$3 found
    [[ -r $path.pem && -r $path.key ]] || return 1
    openssl x509 -in "$path.pem" -noout -checkend "$renewal" >/dev/null 2>&1 || return 1
    openssl verify -CAfile "$folder/ca.pem" "$path.pem" >/dev/null 2>&1 || return 1
    [[ $(openssl x509 -in "$path.pem" -noout -pubkey 2>/dev/null) == \
        "$(openssl pkey -in "$path.key" -pubout 2>/dev/null)" ]] || return 1
    found=$(openssl x509 -in "$path.pem" -noout -subject -nameopt multiline 2>/dev/null |
        sed -n 's/^ *commonName *= //p')
    [[ $found == "$name" ]] || return 1
    found=$(openssl x509 -in "$path.pem" -noout -ext subjectAltName 2>/dev/null |
        sed -n 's/IP Address:/IP:/g; s/, /,/g; s/^ *\(\(DNS\|IP\):.*\)/\1/p')
    [[ $found == "$wanted" ]]
}
