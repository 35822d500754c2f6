# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# What the daemon, its launcher and the holder have given up, and what their end means.
: "${e2e:?}" "${tmp:?}" "${repo:?}"

# By number.
capabilities=(CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP
	LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER
	SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE
	SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP
	MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF
	CHECKPOINT_RESTORE)

# The mask of the capabilities that the manual names in a column of its table.
manual_says() { # d|l
	local name marks number mask=0 rows=0
	while read -r name marks; do
		rows=$((rows + 1))
		[[ $marks == *"$1"* ]] || continue
		for number in "${!capabilities[@]}"; do
			[[ CAP_${capabilities[number]} != "$name" ]] || mask=$((mask | 1 << number))
		done
	done < <(sed -nE 's/^(CAP_[A-Z_]+);([dl ]+);.*/\1 \2/p' "$repo/build/man/gatekeeperd.8")
	((rows > 10)) || fail 'the manual has no table of capabilities'
	printf -v mask %016x "$mask"
	echo "$mask"
}

status_of() { # PID KEY
	sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"
}

shrunk() { # PID MASK
	local set
	for set in CapPrm CapEff CapBnd; do
		same "$2" "$(status_of "$1" $set)" "$set"
	done
	same 0000000000000000 "$(status_of "$1" CapInh)" CapInh
	same 0000000000000000 "$(status_of "$1" CapAmb)" CapAmb
	same 1 "$(status_of "$1" NoNewPrivs)" NoNewPrivs
	same "${3-2}" "$(status_of "$1" Seccomp)" Seccomp
}

# Into $launcher: the child of the daemon that executes for it.
launcher_pid() {
	local pid
	daemon_pid || return 1
	launcher=
	while read -rd ' ' pid; do
		[[ $(cat "/proc/$pid/comm") != benchmon-launch ]] || launcher=$pid
	done <"/proc/$daemon/task/$daemon/children"
	[[ -n $launcher ]]
}

case_daemon() {
	daemon_pid || fail 'not exactly one gatekeeperd'
	shrunk "$daemon" "$(manual_says d)"
	# As it is after it has been at work, too.
	make_bench e1
	bm exec e1 -- true
	did
	shrunk "$daemon" "$(manual_says d)"
	bm destroy e1
	did
	# A control: the shell that looks has given up nothing of it.
	[[ $(status_of $$ CapEff) != "$(manual_says d)" ]] || fail 'nothing was given up'
}

case_launcher() {
	local fds
	launcher_pid || fail 'no launcher'
	# Its filter is crun's alone (tests/unit/test_shrink.c): a payload would inherit it.
	shrunk "$launcher" "$(manual_says l)" 0
	# Its socket, and what every process has.
	fds=("/proc/$launcher/fd/"*)
	same '0 1 2 3' "${fds[*]##*/}" 'what it has open'
}

case_launcher_killed() {
	local old
	make_bench e1
	launcher_pid || fail 'no launcher'
	old=$daemon
	kill -KILL "$launcher"
	soon gone "$old"
	bm exec e1 -- echo again
	did again
	launcher_pid || fail 'no launcher'
	[[ $daemon -ne $old ]] || fail 'it is the same daemon'
	bm destroy e1
	did
}

# A process in e1 that stays, started by one that has gone. Its pid outside is $marker.
marker_up() {
	local pid
	bm exec e1 -- sh -c 'setsid sleep infinity </dev/null >/dev/null 2>&1 &'
	did
	marker=
	while read -r pid; do
		[[ $(cat "/proc/$pid/comm") != sleep ]] || marker=$pid
	done </sys/fs/cgroup/benchmon/e1/cgroup.procs
	[[ -n $marker ]] || fail 'no process stays in e1'
}

case_holder() {
	local name look='for name in exe cwd root fd/0 ns/mnt; do readlink /proc/$1/$name; done
		cat /proc/$1/environ /proc/$1/maps | tr "\0" "\n"; ls /proc/$1/map_files | head -n 1'
	make_bench e1
	init_of e1
	# Of its user namespace: to kill what another user of the Bench runs.
	same 0000000000000020 "$(status_of "$value" CapEff)" CapEff
	same 0000000000000020 "$(status_of "$value" CapPrm)" CapPrm
	same 1 "$(status_of "$value" NoNewPrivs)" NoNewPrivs
	same 2 "$(status_of "$value" Seccomp)" Seccomp
	bm exec e1 -- sh -c "$look" sh 1
	same '' "$out" 'what is seen of the holder'
	# A control: of itself a process sees all of it.
	bm exec e1 -- sh -c "$look" sh self
	printed /bin/ mnt: PATH=
	bm destroy e1
	did
}

# Whether they are refused or not: none ends the holder, or goes on from it to the marker.
case_holder_signals() {
	local holder marker
	make_bench e1
	init_of e1
	holder=$value
	marker_up
	bm exec e1 -- sh -c 'n=1; while [ $n -le 64 ]; do kill -$n 1; n=$((n + 1)); done'
	bm exec e1 -- true
	did
	[[ -e /proc/$marker ]] || fail 'the holder passed a signal on that came from inside'
	init_of e1
	same "$holder" "$value" 'the holder'
	same ready "$(benchmon ls | awk '$1 == "e1" { print $2 }')" 'the state of e1'
	# A control: from outside it does.
	kill -TERM "$holder"
	soon gone "$marker"
	[[ -e /proc/$holder ]] || fail 'it has ended'
	bm destroy e1
	did
}

busy() { # the holder, a shell and its sleep, the payload
	[[ $(wc -l </sys/fs/cgroup/benchmon/e2/cgroup.procs) -eq 4 ]]
}

empty() { # CGROUP
	[[ ! -e $1 ]] || grep -q '^populated 0$' "$1/cgroup.events"
}

has_ended() { # BENCH: by ls
	[[ $(benchmon ls | awk -v name="$1" '$1 == name { print $2 }') == ended ]]
}

case_holder_killed() {
	local client before
	make_bench e2
	before=$(grep -c '"event":"ended"' /var/lib/benchmon/ledger.jsonl) || :
	init_of e2
	bm exec e2 -- sh -c 'setsid setsid sh -c "trap \"\" TERM HUP INT; sleep infinity" </dev/null >/dev/null 2>&1 &'
	did
	benchmon exec e2 -- sleep infinity </dev/null >"$tmp/exec" 2>&1 &
	client=$!
	soon busy
	kill -KILL "$value"
	wait $client && fail 'the payload came to a good end'
	rm "$tmp/exec"
	soon empty /sys/fs/cgroup/benchmon/e2
	soon has_ended e2
	bm show e2
	did ended
	same $((before + 1)) "$(grep -c '"event":"ended"' /var/lib/benchmon/ledger.jsonl)" \
		'the number of ends in the ledger'
	grep '"event":"ended"' /var/lib/benchmon/ledger.jsonl | tail -n 1 | grep -q '"bench":"e2"' ||
		fail 'the ledger has another end'
	bm exec e2 -- true
	refused 125 'Bench e2 has ended'
	py ledger
	bm destroy e2
	did 'e2 destroyed'
	[[ ! -e /sys/fs/cgroup/benchmon/e2 ]] || fail 'its cgroup is still there'
}
