#!/usr/bin/env bash
# Ties the processes and the temporary folder of a deploy script to the lifetime of the script. lib.sh sources this file.
#
# begin_run sets $run_folder. When the script ends, also after SIGINT, SIGTERM, SIGHUP or SIGPIPE, the processes that it
# started are stopped and the folder is removed. After SIGKILL of the script, a watcher does the same; if the watcher is
# killed as well, the next script that calls begin_run does.
#
# A process belongs to a run if its environment has DEPLOY_RUN=$run_folder, or if it has $run_folder/owner open. Children
# inherit both. The first one also covers processes that closed their files, the second one subshells of the script.

# run_members FOLDER: prints the ids of the processes of a run, except for the calling one. Call it in a subshell.
run_members() {
    local id
    # Its own children must not count as members.
    unset DEPLOY_RUN
    [[ -z ${run_mark-} ]] || exec {run_mark}<&-
    {
        grep --files-with-matches --null-data --line-regexp --fixed-strings "DEPLOY_RUN=$1" /proc/[0-9]*/environ || true
        find /proc/[0-9]*/fd -maxdepth 1 -lname "$1/owner" || true
    } 2>/dev/null | cut -d / -f 3 | sort -u | while read -r id; do
        [[ $id == "$$" ]] || printf '%s\n' "$id"
    done
}

# stop_run FOLDER SECONDS: sends SIGTERM to the processes of a run, and SIGKILL to those that remain after SECONDS.
stop_run() {
    local id members signal=TERM deadline=$((SECONDS + $2))
    # A process in uninterruptible sleep cannot be killed: give up after ten more seconds.
    while ((SECONDS < deadline + 10)) && mapfile -t members < <(run_members "$1") && ((${#members[@]})); do
        ((SECONDS < deadline)) || signal=KILL
        # Subshells of the script are not asked: they would go on with their next command.
        for id in "${members[@]}"; do
            if is_subshell "$id"; then kill -KILL "$id"; else kill "-$signal" "$id"; fi 2>/dev/null || true
        done
        sleep 0.1
    done
}

# is_subshell ID: whether a process is a subshell of this script, with the same command line.
is_subshell() { cmp --silent "/proc/$1/cmdline" "/proc/$$/cmdline"; }

# process_stat ID FIELD: prints a field of /proc/ID/stat, counted from 1.
process_stat() {
    local line fields
    { line=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
    # Field 2 is the name in brackets, which may contain spaces.
    read -ra fields <<<"${line##*) }"
    printf '%s\n' "${fields[$2 - 3]}"
}

# process_start ID: prints the start of a process, in clock ticks since boot. It tells processes with the same id apart.
process_start() { process_stat "$1" 22; }

# is_abandoned FOLDER: whether the script of a run has ended. Its parent may not have noticed yet (state Z).
is_abandoned() {
    local id start
    [[ -O $1 && -r $1/owner ]] && read -r id start <"$1/owner" &&
        [[ $(process_start "$id") != "$start" || $(process_stat "$id" 3) == Z ]]
}

# discard_run FOLDER SECONDS: stops the processes of a run and removes its folder.
discard_run() {
    stop_run "$1" "$2"
    rm -rf --one-file-system -- "$1"
}

# begin_run NAME: creates $run_folder and sets the traps. At the end, before_end is called first if the script defines it.
begin_run() {
    local folder
    for folder in "${TMPDIR:-/tmp}"/lockstep-*.??????; do
        if is_abandoned "$folder"; then discard_run "$folder" 0; fi
    done
    run_folder=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-$1.XXXXXX")
    printf '%s %s\n' "$$" "$(process_start "$$")" >"$run_folder/owner"
    # A session of its own: signals for the script's process group must not reach the watcher.
    env --unset=DEPLOY_RUN setsid setpriv --pdeathsig TERM \
        bash "${BASH_SOURCE[0]}" "$run_folder" "$$" </dev/null >/dev/null 2>&1 &
    run_watcher=$!
    disown "$run_watcher"
    # Inherited by all children.
    exec {run_mark}<"$run_folder/owner"
    export DEPLOY_RUN=$run_folder
    trap end_run EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 141' PIPE
    trap 'exit 143' TERM
}

# end_run: the exit trap of begin_run.
end_run() {
    local code=$?
    trap '' INT TERM HUP PIPE
    trap - EXIT
    set +e
    if declare -F before_end >/dev/null; then before_end; fi
    discard_run "$run_folder" 8
    # See unpack_package.
    [[ -z ${unpacking-} ]] || rm -rf -- "$unpacking"
    kill -KILL "$run_watcher" 2>/dev/null
    exit "$code"
}

# run COMMAND...: runs a command that may take long. Unlike a foreground command, it does not delay traps.
run() {
    "$@" &
    wait "$!"
}

# watch_run FOLDER ID: waits until the script with this id, the parent of this process, has ended, and discards its run.
watch_run() {
    local folder=$1
    # The kernel sends SIGTERM when the parent ends. Not by returning to a loop: a trap does not interrupt `read`.
    trap 'discard_run "$folder" 0; exit' TERM
    trap '' HUP INT
    mkfifo "$folder/watcher"
    exec {idle}<>"$folder/watcher"
    # The parent may have ended before the kernel was asked for the signal.
    while [[ $(process_stat "$$" 4) == "$2" ]]; do read -rt 60 -u "$idle" || true; done
    discard_run "$folder" 0
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then watch_run "$@"; fi
