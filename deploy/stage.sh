# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables are shared with lib.sh and the scripts that source this file
# Functions of the scripts that run a whole system and break it: start, watch and stop programs, and report what happens.
# Source lib.sh first.

# ---- Begin and end -----------------------------------------------------------------------------------------------------

# begin_stage NAME KEEP: creates $temporary, and sets $dir, the folder of stores and logs: KEEP, or $temporary if KEEP is
# empty.
begin_stage() {
    local file
    keep=$2
    if [[ -n $keep ]]; then
        mkdir -p -- "$keep" || fail "cannot create the folder '$keep'"
        keep=$(cd -- "$keep" && pwd -P)
        [[ -w $keep ]] || fail "cannot write to the folder '$keep'"
        for file in "$keep"/*.db "$keep"/*.outbox "$keep"/clickhouse "$keep"/keeper-*; do
            [[ ! -e $file ]] || fail "'$keep' already contains ${file##*/}: choose another folder with --keep"
        done
    fi
    begin_run "$1"
    temporary=$run_folder
    dir=${keep:-$temporary}
    mkfifo "$temporary/idle"
    exec {idle}<>"$temporary/idle"
    set_now
    begin=$now
    # The programs must not use the settings of the calling user.
    for variable in "${!LOCKSTEP_@}"; do unset "$variable"; done
}

# Stops the programs before the exit; lifetime.sh stops whatever remains.
# shellcheck disable=SC2317 # called by the exit trap
before_end() {
    local name deadline now
    set_now
    deadline=$((now + 8000))
    for name in "${!pids[@]}"; do signal_all TERM "$name"; done
    for name in "${!pids[@]}"; do
        while is_alive "$name" && set_now && ((now < deadline)); do pause 50; done
        kill_hard "$name"
    done
    if [[ -n $keep ]]; then printf 'Store, outboxes and logs are in %s\n' "$keep" 2>/dev/null; fi
}

# ---- Time and output ---------------------------------------------------------------------------------------------------

# set_now: sets $now to the milliseconds since 1970. Not by a command substitution, because bash may miss a SIGINT that
# arrives while a child of the script ends.
set_now() {
    now=${EPOCHREALTIME/[.,]/}
    now=${now%???}
}

# pause MILLISECONDS: waits without a child process, so that a signal is handled at once.
pause() {
    local text
    printf -v text '%d.%03d' $(($1 / 1000)) $(($1 % 1000))
    read -rt "$text" -u "$idle" || true
}

bold='' dim='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
    bold=$'\e[1m' dim=$'\e[36m' plain=$'\e[0m'
fi

# line STYLE MARK TEXT: prints a line with the elapsed time.
line() {
    local elapsed now
    set_now
    elapsed=$((now - begin))
    printf '%5d.%d s %s%s %s%s\n' $((elapsed / 1000)) $((elapsed % 1000 / 100)) "$1" "$2" "$3" "$plain"
}

# Reports an action of this script, or a state that the collector published.
report() { line "$bold" '*' "$1"; }
report_state() { line "$dim" ' ' "$1"; }

# show_log NAME: prints the end of a program's output.
show_log() {
    [[ -s $dir/$1.log ]] || return 0
    printf -- '---- end of %s.log\n' "$1" >&2
    tail -n 15 -- "$dir/$1.log" >&2
}

# give_up TEXT NAME: fails with the end of a program's output.
give_up() {
    show_log "$2"
    fail "$1"
}

# until_true SECONDS COMMAND...: waits until the command succeeds. Returns 1 after SECONDS.
until_true() {
    local deadline now
    set_now
    deadline=$((now + $1 * 1000))
    shift
    until "$@"; do
        set_now
        ((now < deadline)) || return 1
        pause 200
    done
}

# ---- Processes ---------------------------------------------------------------------------------------------------------

declare -A pids=() # ids of the running processes, by name

# start NAME COMMAND...: starts a program in its own process group, so that ^C reaches only this script. Its output goes
# to NAME.log.
start() {
    local name=$1
    shift
    setsid "$@" </dev/null >>"$dir/$name.log" 2>&1 {idle}>&- &
    pids[$name]=$!
}

# signal_all SIGNAL NAME: signals a program and its children.
signal_all() { kill "-$1" -- "-${pids[$2]}" 2>/dev/null || kill "-$1" "${pids[$2]}" 2>/dev/null || true; }

is_alive() { kill -0 "${pids[$1]}" 2>/dev/null; }

# reap NAME: waits until a program has ended, without a job message of bash. Returns the exit code of the program.
reap() {
    local pid=${pids[$1]}
    unset "pids[$1]"
    { wait "$pid"; } 2>/dev/null
}

# kill_hard NAME: kills a program and its children with SIGKILL.
kill_hard() {
    signal_all KILL "$1"
    reap "$1" || true
}

# stop SECONDS NAME...: sends SIGTERM, and SIGKILL to the programs that remain after SECONDS.
# Returns 1 if a program had to be killed or ended with an error.
stop() {
    local name code=0 deadline now
    set_now
    deadline=$((now + $1 * 1000))
    shift
    for name; do kill -TERM "${pids[$name]}" 2>/dev/null || true; done
    for name; do
        while is_alive "$name" && set_now && ((now < deadline)); do pause 50; done
        if is_alive "$name"; then
            report "$name did not stop after SIGTERM and was killed"
            kill_hard "$name"
            code=1
        elif ! reap "$name"; then
            code=1
        fi
    done
    return "$code"
}

# check_alive: fails if a program has ended that was not killed.
check_alive() {
    local name
    for name in "${!pids[@]}"; do
        is_alive "$name" || give_up "$name ended unexpectedly" "$name"
    done
}

# wait_for PERCENT: waits until this percentage of the run time has passed.
wait_for() {
    local left now
    while set_now && left=$((started + seconds * 10 * $1 - now)) && ((left > 0)); do
        check_alive
        pause $((left < 500 ? left : 500))
    done
}

# stay_here: waits until Ctrl-C. A second one ends the script at once.
stay_here() {
    local is_over=0
    trap 'is_over=1' INT
    report "the system stays running: press Ctrl-C to stop it and verify the samples"
    until ((is_over)); do
        check_alive
        pause 500
    done
    trap 'exit 130' INT
}

# ---- Build -------------------------------------------------------------------------------------------------------------

# show_build: shows the last step of the build: on a terminal at once, in a log at most every 15 seconds.
show_build() {
    local text step='' now
    # The file descriptor stays open, so this reads only what is new.
    while read -r text <&"$build_log"; do
        if [[ $text == \[* ]]; then step=$text; fi
    done
    [[ -n $step ]] || return 0
    if [[ -n $plain ]]; then
        printf '\r\e[K         %s%.100s%s' "$dim" "$step" "$plain"
    elif set_now && ((now - shown >= 15000)); then
        shown=$now
        printf '         %.100s\n' "$step"
    fi
}

# build_products PRODUCT...: builds programs, shows the progress, and sets $bin to their folder. A debug build takes half the
# time of a release build, and is fast enough to show what happens.
build_products() {
    local product
    printf 'Building (takes a few minutes the first time)\n'
    for product; do
        report "building $product"
        : >"$dir/build.log"
        exec {build_log}<"$dir/build.log"
        set_now
        shown=$now
        start build swift build --package-path "$root" --scratch-path "$scratch" --product "$product"
        while is_alive build; do
            pause 200
            show_build
        done
        [[ -z $plain ]] || printf '\r\e[K'
        reap build || { cat -- "$dir/build.log" >&2 && fail "the build failed"; }
        exec {build_log}<&-
    done
    bin=$(swift build --package-path "$root" --scratch-path "$scratch" --show-bin-path)
    rm -f -- "$dir/build.log"
}

# ---- Ports, brokers and outboxes ---------------------------------------------------------------------------------------

is_open() { (: <>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free_port: sets $port to a free port below the range that the kernel uses for outgoing connections.
free_port() {
    port=$((20000 + RANDOM % 12000))
    while is_open "$port"; do port=$((20000 + RANDOM % 12000)); done
}

# listens NAME: whether a program listens on $port or has ended.
listens() { ! is_alive "$1" || is_open "$port"; }

# on_free_port NAME COMMAND: runs COMMAND, which starts NAME on $port. Retries with another port if it was taken meanwhile.
on_free_port() {
    local tries
    for ((tries = 0; tries < 5; tries++)); do
        free_port
        "$2"
        if until_true 10 listens "$1" && is_alive "$1"; then return 0; fi
        kill_hard "$1"
    done
    give_up "$1 failed to start" "$1"
}

# start_broker: starts a broker with the development configuration, another port and another folder.
start_broker() {
    mkdir -p -- "$dir/broker"
    {
        sed -e '/^listener /d' -e '/^persistence_location /d' -- "$root/broker-config/development.conf"
        printf '# Settings of this run\nlistener %s 127.0.0.1\npersistence_location %s/\nuser %s\n' \
            "$port" "$dir/broker" "$(id -un)"
    } >"$dir/broker.conf"
    start broker mosquitto -c "$dir/broker.conf"
}

# outbox NAME SQL: queries an outbox.
outbox() { sqlite3 -readonly -cmd '.timeout 5000' "$dir/$1.outbox" "$2"; }

# has_no_backlog: whether all outboxes hold only batches of the last five seconds, which may still be in flight.
has_no_backlog() {
    local name now
    set_now
    for name in "${agents[@]}"; do
        (($(outbox "$name" "SELECT count(*) FROM batches WHERE newest < ${now}000 - 5000000"))) && return 1
    done
    return 0
}
