# shellcheck shell=bash
# shellcheck disable=SC2154 # 'folder' and 'days' are of the script that sources this
# What deploy/certs and deploy/device-add share: certificates, made with openssl. Source it after lib.sh.
#
# Read here: $folder, where ca.pem and ca.key are, and $days, for how long a certificate is good.

# A certificate that ends within so many seconds (30 days) is made anew.
renewal=2592000

# run_openssl ARGUMENT...: openssl, heard only when it fails.
run_openssl() {
    local said
    said=$(openssl "$@" 2>&1 >/dev/null </dev/null) || fail "openssl $1 failed: $said"
}

# absolute PATH: the same, from the root of the file system; it need not exist.
absolute() { realpath --canonicalize-missing -- "$1"; }

# make_authority: ca.pem and ca.key, where there are none.
make_authority() {
    if [[ -e $folder/ca.pem ]]; then
        openssl x509 -in "$folder/ca.pem" -noout -checkend "$renewal" >/dev/null 2>&1 ||
            fail "$folder/ca.pem is no certificate, or ends within 30 days: begin anew in another folder, and give" \
                "every program the new ca.pem"
        return
    fi
    [[ ! -e $folder/ca.key ]] || fail "$folder has ca.key without ca.pem: put it back, or begin in another folder"
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

# issue PATH NAME USE [ALTERNATIVES]: PATH.pem and PATH.key, signed by the authority; kept if they are there and good.
# NAME is the user name at the broker; USE serverAuth or clientAuth; ALTERNATIVES such as DNS:broker.example,IP:10.0.0.1.
issue() {
    local path=$1 name=$2 use=$3 alternatives=${4:-}
    # X.509 has room for so much in a common name.
    ((${#name} <= 64)) || fail "'$name' has ${#name} characters, and a certificate's name at most 64: choose shorter" \
        "ones, or use --password"
    if is_good "$path" "$name" "$alternatives"; then
        printf 'kept   %s\n' "$path.pem"
        return
    fi
    [[ -r $folder/ca.key ]] || fail "$folder/ca.key is missing or can't be read: the authority's key signs $path.pem"
    (
        umask 077
        run_openssl ecparam -name prime256v1 -genkey -noout -out "$path.key.new"
    )
    # A slash in a name would end it, for openssl.
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
    printf 'made   %s, good for %s days\n' "$path.pem" "$days"
}

# is_good PATH NAME ALTERNATIVES: whether certificate and key are there, belong together and to the authority, say what
# they should, and go on for a while.
is_good() {
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
