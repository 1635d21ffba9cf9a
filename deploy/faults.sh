# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables are shared with the script that sources this file
# What happens to the programs of deploy/cluster, which sources this file and has the functions that start them.

# expect_progress: fails unless samples are stored.
expect_progress() {
    local before
    ((${#simulators[@]})) || return 0
    until_true 60 has_rows 0 || give_up "no samples are stored" one
    before=$(rows 60) || give_up "ClickHouse does not answer" replica-0
    until_true 90 has_rows "$before" || give_up "no more samples are stored" one
}

# kill_in_turn: kills or stops one program of each kind, and starts it again.
kill_in_turn() {
    local broker_name=${broker_names[-1]}
    wait_for 10
    expect_progress
    kill_hard two
    report "collector two: killed with SIGKILL"
    wait_for 26
    expect_progress
    restart two
    report "collector two: started again"
    wait_for 34
    kill_hard replica-0
    report "ClickHouse replica 0: killed with SIGKILL; nothing is acknowledged until it is back"
    wait_for 40
    restart replica-0
    report "ClickHouse replica 0: started again"
    wait_for 50
    expect_progress
    kill_hard keeper-1
    report "keeper 1: killed with SIGKILL"
    wait_for 58
    expect_progress
    restart keeper-1
    report "keeper 1: started again"
    wait_for 64
    kill_hard "$broker_name"
    report "$broker_name: killed with SIGKILL"
    wait_for 66
    # The other nodes continue without it.
    if [[ $brokers == nats ]]; then expect_progress; fi
    restart "$broker_name"
    report "$broker_name: started again"
    wait_for 77
    expect_progress
    stop 20 three || give_up "collector three failed to stop" three
    report "collector three: stopped with SIGTERM"
    kill_hard page
    report "page: killed with SIGKILL"
    wait_for 87
    restart three
    restart page
    report "collector three and page: started again"
    wait_for 100
}

# restart_refused: starts collectors again that have ended with an error, as systemd does: at its start, a collector refuses
# a replica without a keeper.
restart_refused() {
    local name code
    for name in "${collectors[@]}"; do
        ! is_alive "$name" || continue
        code=0
        reap "$name" || code=$?
        ((code == 1)) || give_up "collector $name ended with $code" "$name"
        report "collector $name: started again after an error"
        restart "$name"
    done
}

# are_collectors_running: whether no collector has ended for a second; starts those again that have.
are_collectors_running() {
    local name
    restart_refused
    pause 1000
    for name in "${collectors[@]}"; do is_alive "$name" || return 1; done
}

# kill_at_random: kills programs in random order. In a third of the cases, another one is killed before the first is
# started again.
kill_at_random() {
    local names=("${collectors[@]}" "${broker_names[@]}" "${lease_names[@]}" keeper-0 keeper-1 keeper-2 "${replicas[@]/#/replica-}")
    local count=0 round name down
    report "killing programs $kills times in random order: --seed $seed"
    RANDOM=$seed
    while ((count < kills)); do
        expect_progress
        for ((round = 0; round < 6 && count < kills; round++)); do
            down=()
            while ((count < kills && ${#down[@]} < 2)); do
                name=${names[RANDOM % ${#names[@]}]}
                [[ " ${down[*]} " != *" $name "* ]] || continue
                kill_hard "$name"
                down+=("$name")
                count=$((count + 1))
                report "kill $count of $kills: $name"
                pause $((100 + RANDOM % 4000))
                ((RANDOM % 3 == 0)) || break
            done
            for name in "${down[@]}"; do restart "$name"; done
            pause $((RANDOM % 3000))
            restart_refused
            check_alive
        done
    done
    until_true 60 are_collectors_running || give_up "a collector does not start" one
    expect_progress
}

# replace_programs: replaces the programs of an earlier version one after the other.
replace_programs() {
    local name
    wait_for 10
    expect_progress
    programs=$bin
    for name in "${collectors[@]}"; do
        stop 30 "$name" || give_up "collector $name failed to stop" "$name"
        restart "$name"
        report "collector $name: replaced"
        expect_progress
        pause 10000 # so that it has claimed shares before the next one is stopped
        check_alive
    done
    stop 15 page || give_up "the page failed to stop" page
    restart page
    report "page: replaced"
    for name in "${groups[@]}"; do
        stop 15 "agent-$name" || give_up "the agent of the group $name failed to stop" "agent-$name"
        start_agent "$name"
        report "agent of the group $name: replaced"
    done
    expect_progress
    wait_for 100
}
