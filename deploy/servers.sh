# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables are shared with the script that sources this file
# Functions that start the servers of a cluster on this machine: ZooKeeper, ClickHouse and NATS. Source stage.sh first.

taken= # the ports of the following arrays, which free_ports sets
keeper_ports=() keeper_peer_ports=() keeper_vote_ports=()
replica_ports=() replica_native_ports=() replica_peer_ports=()
node_ports=() node_lease_ports=() node_route_ports=()
lease_ports=()

# free_ports NAME COUNT: sets the array NAME to free ports that are not in $taken, and adds them to it.
free_ports() {
    local -n found=$1
    found=()
    while ((${#found[@]} < $2)); do
        free_port
        [[ " $taken " != *" $port "* ]] || continue
        taken+=" $port"
        found+=("$port")
    done
}

# start_keeper NUMBER: starts one of the three ZooKeeper servers.
start_keeper() {
    local folder=$dir/keeper-$1 index
    mkdir -p -- "$folder"
    printf '%d\n' "$1" >"$folder/myid"
    {
        printf 'tickTime=500\ninitLimit=20\nsyncLimit=10\nautopurge.purgeInterval=1\nadmin.enableServer=false\n'
        printf 'dataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\n' "$folder" "${keeper_ports[$1]}"
        for index in 0 1 2; do
            printf 'server.%d=127.0.0.1:%s:%s\n' "$index" "${keeper_peer_ports[index]}" "${keeper_vote_ports[index]}"
        done
    } >"$folder/zoo.cfg"
    start "keeper-$1" java -Xmx256m -XX:+UseSerialGC -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar \
        org.apache.zookeeper.server.quorum.QuorumPeerMain "$folder/zoo.cfg"
}

# start_replica NUMBER: starts one of the two ClickHouse servers, with a small cache.
start_replica() {
    local folder=$dir/clickhouse/$1 keeper
    mkdir -p -- "$folder"
    cat >"$folder/config.xml" <<XML
<yandex>
    <logger><level>warning</level><console>1</console></logger>
    <listen_host>127.0.0.1</listen_host>
    <http_port>${replica_ports[$1]}</http_port>
    <tcp_port>${replica_native_ports[$1]}</tcp_port>
    <interserver_http_port>${replica_peer_ports[$1]}</interserver_http_port>
    <interserver_http_host>127.0.0.1</interserver_http_host>
    <zookeeper>
$(for keeper in "${keeper_ports[@]}"; do printf '        <node><host>127.0.0.1</host><port>%s</port></node>\n' "$keeper"; done)
        <session_timeout_ms>6000</session_timeout_ms>
    </zookeeper>
    <macros><replica>$1</replica></macros>
    <path>$folder/data/</path>
    <tmp_path>$folder/tmp/</tmp_path>
    <mark_cache_size>67108864</mark_cache_size>
    <users_config>$folder/users.xml</users_config>
    <default_profile>default</default_profile>
    <default_database>default</default_database>
</yandex>
XML
    cat >"$folder/users.xml" <<'XML'
<yandex>
    <profiles><default/></profiles>
    <quotas><default/></quotas>
    <users>
        <default>
            <password></password><networks><ip>127.0.0.1</ip></networks>
            <profile>default</profile><quota>default</quota>
        </default>
    </users>
</yandex>
XML
    start "replica-$1" clickhouse-server --config-file="$folder/config.xml"
}

# has_keeper NUMBER: whether a ClickHouse server has a session with a keeper.
has_keeper() {
    curl --silent --fail --max-time 10 --output /dev/null "http://127.0.0.1:${replica_ports[$1]}/" \
        --data-binary "SELECT count() FROM system.zookeeper WHERE path = '/'"
}

# write_nodes: creates certificates, and the configuration of three nodes of NATS, with the ports and folders of this run.
# One certificate serves all devices, whose simulator also reads the health of collectors, and the reader may read the
# reports of the collectors of a cluster.
write_nodes() {
    local number home peer rules=()
    "$bin/lockstep" certs broker --certs "$dir/secure" --host localhost >"$temporary/certs.log" 2>&1 ||
        { cat -- "$temporary/certs.log" >&2 && fail "the certificates cannot be created"; }
    "$bin/lockstep" certs device arm-left --certs "$dir/secure" --group lab >"$temporary/certs.log" 2>&1 ||
        { cat -- "$temporary/certs.log" >&2 && fail "the certificate of the devices cannot be created"; }
    for peer in 0 1 2; do rules+=(-e "s|nats-$((peer + 1)):6222|localhost:${node_route_ports[peer]}|g"); done
    for number in 0 1 2; do
        home=$dir/node-$((number + 1))
        mkdir -p -- "$home"
        for file in common.conf "node-$((number + 1)).conf"; do
            # shellcheck disable=SC2016 # the names of topics
            sed -e "s|/etc/nats/lockstep|$dir/secure|g" -e "s|/var/lib/nats/lockstep|$home/messages|g" \
                -e "s|127.0.0.1:4222|127.0.0.1:${node_lease_ports[number]}|" \
                -e "s|\"0.0.0.0:8883\"|\"127.0.0.1:${node_ports[number]}\"|" \
                -e "s|\"0.0.0.0:6222\"|\"127.0.0.1:${node_route_ports[number]}\"|" \
                -e 's|"lockstep\.lab\.arm-left\.ack"|&, "lockstep.*.$collector.*"|' \
                -e 's|lockstep\.lab\.arm-left\.|lockstep.*.*.|g' \
                -e '/user: "CN=reader"/,/subscribe:/s|subscribe: \[|&"lockstep-collectors.local.member", "lockstep-collectors.local.member.>", |' \
                "${rules[@]}" -- "$root/broker-config/nats/$file" >"$home/$file"
        done
    done
}

# start_lease_server: starts one NATS server for the leases on $lease_port.
start_lease_server() {
    start leases nats-server --addr 127.0.0.1 --port "$lease_port" --jetstream --store_dir "$dir/lease-server"
}

# start_node NUMBER: starts one of the three NATS servers.
start_node() { start "nats-$1" nats-server -c "$dir/node-$(($1 + 1))/node-$(($1 + 1)).conf"; }

# node_addresses SCHEME PORT...: prints the addresses of the nodes, separated by commas.
node_addresses() {
    local scheme=$1 text='' number
    shift
    for number; do text+=${text:+,}$scheme://localhost:$number; done
    printf '%s\n' "$text"
}
