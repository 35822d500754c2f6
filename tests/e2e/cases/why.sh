# shellcheck shell=bash disable=SC2034,SC2154
# What `benchmon why` says is what happens, and saying it changes nothing.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${server:?}"

setup() {
	mkdir -p "$disk/why/below"
	echo hello | tee "$disk/why/file" >"$disk/why/below/file"
	echo secret >"$disk/why/left"
	cp /bin/true "$disk/why/prog"
	make_bench w1
	bm grant w1 file "$disk/why:/in/ro" --yes
	did 'w1/1 granted'
	cp -r "$disk/why" "$disk/why-rw"
	bm grant w1 file "$disk/why-rw:/in/rw:rw" --except left --yes
	did 'w1/2 granted'
}

teardown() {
	bm destroy w1
	did
	rm -r "$disk"/why "$disk"/why-rw
}

inside() { # COMMAND...: whether it works in w1
	capture benchmon exec w1 -T -- "$@" </dev/null
}

# Asks, and does what was asked about: both must say the same. Without a command: what it says alone.
agree() { # allow|deny PATH RIGHTS [COMMAND...]
	local verdict=$1 path=$2 rights=$3 wanted=0
	[[ $verdict == allow ]] || wanted=1
	if (($# > 3)); then
		inside "${@:4}"
		[[ $verdict == allow && $code -eq 0 || $verdict == deny && $code -ne 0 ]] ||
			fail "it is not so: $verdict"
	fi
	bm why w1 file "$path" "$rights" --format json
	ended "$wanted"
	printed "\"verdict\":\"$verdict\"" "\"target\":\"$path\"" "\"rights\":\"$rights\""
}

case_files() {
	agree allow /in/ro/file r cat /in/ro/file
	printed '"grant":"w1/1"' '{"layer":"mount","verdict":"allow"' '{"layer":"bpf","verdict":"allow"'
	agree deny /in/ro/file w sh -c 'echo >>/in/ro/file'
	printed '"layer":"mount","rule":"read-only"' '{"layer":"bpf","verdict":"deny","rule":"rights"' \
		"\"hint\":\"benchmon revoke w1/1 && benchmon grant w1 file $disk/why:/in/ro:rw\""
	agree deny /in/ro/prog x /in/ro/prog
	printed '"layer":"mount","rule":"exec-refused"' '{"layer":"bpf","verdict":"deny","rule":"noexec"' \
		'"remedy":"copy it to /work'
	agree allow /in/ro r ls /in/ro
	agree allow /in/rw w mkdir /in/rw/made
	agree allow /in/rw/file rw sh -c 'echo >>/in/rw/file'
	agree deny /in/rw/left r cat /in/rw/left
	printed '"rule":"excepted"' '"grant":"w1/2"' '"layer":"bpf"'
	agree allow /in/rw/below/file r cat /in/rw/below/../below/file
	agree allow /bin/true x /bin/true
	printed "it is the Bench's own"
	agree deny /etc/passwd x /etc/passwd
	printed '"layer":"mode","rule":"exec-refused"'
	agree allow /work w sh -c 'echo >/work/made'
	agree allow /work/made w sh -c 'echo >/work/made'
	agree allow /dev/null rw sh -c 'echo >/dev/null'
	inside ln -s /in/rw/left /work/link
	did
	agree deny /work/link r cat /work/link
	printed '"path":"/in/rw/left"'
}

# The layers by themselves: without the mount's flags, the programs alone say no, and are believed.
case_layers() {
	init=$(pid_of w1)
	"$repo/build/attack/payload" remount "$init" /in/ro ''
	agree deny /in/ro/file w sh -c 'echo >>/in/ro/file'
	printed '{"layer":"mount","verdict":"allow"' '"layer":"bpf","rule":"rights"'
	agree deny /in/ro/prog x /in/ro/prog
	printed '{"layer":"mount","verdict":"allow"' '"layer":"bpf","rule":"noexec"'
	"$repo/build/attack/payload" remount "$init" /in/ro 'ro,noexec'
	# What root of the host mounts there by hand is no grant's.
	mkdir "$disk/by-hand"
	echo x >"$disk/by-hand/f"
	"$repo/build/attack/payload" mountin "$init" "$disk/by-hand" /mnt
	agree deny /mnt/f r cat /mnt/f
	printed '"rule":"no-grant"' "\"hint\":\"benchmon grant w1 file $disk/by-hand/f:ro\""
	nsenter -t "$init" -m umount /mnt
	rm -r "$disk/by-hand"
}

case_proc() {
	agree allow /proc/1/status r
	agree deny /proc/sys/kernel/core_pattern w sh -c 'echo x >/proc/sys/kernel/core_pattern'
	printed '"layer":"mount","rule":"read-only"'
	agree deny /proc/sysrq-trigger w sh -c 'echo h >/proc/sysrq-trigger'
	agree allow /proc/cpuinfo r cat /proc/cpuinfo
	agree deny /proc/zoneinfo r cat /proc/zoneinfo
	printed '"rule":"tells-of-host"'
	bm why w1 file /proc/self/status r
	ended 1
	printed absent
}

# A Bench finds nothing by it that it could not open, and the host's names lead nowhere.
case_absent() {
	bm why w1 file /no/such r
	ended 1
	printed 'absent' '/no/such' 'nothing of that name is in the Bench'
	[[ $out != *type* ]] || fail 'it guesses'
	bm why w1 file "$disk/why/file" r --format json
	ended 1
	printed '"verdict":"absent"'
	inside ln -s "$disk/why/file" /work/out
	did
	bm why w1 file /work/out r --format json
	ended 1
	printed '"verdict":"absent"'
	bm why w1 file /proc/1/root/etc/passwd r
	refused 125 'links that are no path' 'ask about the path'
	bm why w1 file etc/passwd r
	refused 125 'begins at its root'
}

case_revoked() {
	mkdir "$disk/short"
	echo x >"$disk/short/f"
	bm grant w1 file "$disk/short:/in/short" --yes
	did granted
	[[ $out =~ w1/[0-9]+ ]]
	grant=${BASH_REMATCH[0]}
	agree allow /in/short/f r cat /in/short/f
	bm revoke "$grant"
	did
	inside cat /in/short/f
	ended 1
	bm why w1 file /in/short/f r --format json
	ended 1
	printed '"verdict":"absent"'
	rm -r "$disk/short"
}

reaches() { # allow|deny WHERE PORT
	local wanted=0
	[[ $1 == allow ]] || wanted=1
	inside bash -c "exec 3<>/dev/tcp/$2/$3"
	[[ $code -eq $wanted ]] || fail "connecting is not $1"
	bm why w1 net "$2:$3" --format json
	ended "$wanted"
	printed "\"verdict\":\"$1\""
}

case_net() {
	init=$(pid_of w1)
	reaches deny "$server" 8081
	printed '"layer":"bpf","rule":"not-sealed","hook":"connect4"' \
		"\"hint\":\"benchmon grant w1 net $server:8081\""
	bm grant w1 net "$server:8081" --yes
	did granted
	[[ $out =~ w1/[0-9]+ ]]
	grant=${BASH_REMATCH[0]}
	reaches allow "$server" 8081
	printed '"grant":"w1/' '{"layer":"bpf","verdict":"allow"' '{"layer":"nft","verdict":"allow"' \
		'{"layer":"link","verdict":"allow"'
	bm why w1 net "$server:8081/udp" --format json
	ended 1
	# nft as it is: what was taken out of it by hand, at either end.
	in_net nft delete element inet benchmon sealed4 "{ $server . tcp . 8081 }"
	bm why w1 net "$server:8081" --format json
	ended 1
	printed '"layer":"nft","rule":"not-sealed"' '{"layer":"bpf","verdict":"allow"'
	in_net nft add element inet benchmon sealed4 "{ $server . tcp . 8081 }"
	bm why w1 net "$server:8081"
	did allowed 'a grant of the Bench has it'
	in_net nft delete table inet benchmon
	bm why w1 net "$server:8081" --format json
	printed '{"layer":"nft","verdict":"missing"}'
	bm revoke "$grant"
	bm why w1 net "$server:8081" --format json
	ended 1
	printed '"rule":"not-sealed"'
}

pid_of() { # BENCH
	init_of "$1"
	echo "$value"
}

in_net() { # COMMAND...
	nsenter -t "$init" -n -- "$@"
}

case_names() {
	bm why w1 net localhost:7 --format json
	did "it is the Bench's own loopback"
	bm why w1 net 127.0.0.1:7
	did allowed
	bm why w1 net nobody.example:443
	ended 1
	printed 'no sealed set' 'benchmon grant w1 net nobody.example:443'
	bm why w1 net model.broker:80
	ended 1
	printed 'benchmon grant w1 broker model'
	bm why w1 net 'x y:80'
	ended 125
	bm why w1 net nonsense
	ended 125
}

case_last() {
	make_bench w2
	bm why w2 last
	did 'nothing'
	benchmon exec w2 -T -- bash -c "cat </dev/tcp/$server/8080" 2>/dev/null || :
	bm why w2 last
	ended 1
	printed "$server:8080/tcp" 'in no sealed set' 'not-sealed' connect4 \
		"type       benchmon grant w2 net $server:8080"
	in_columns
	bm why w2 last --format json
	ended 1
	printed '"hook":"connect4"' '"rule":"not-sealed"' '"event":{"schema":"benchmon/1"'
	bm destroy w2
	did
	bm why w2 last
	refused 125 'there is no Bench'
}

# But for commands, which are to be pasted as they stand.
in_columns() {
	out=$(grep -v '^type  ' <<<"$out" || :)
	narrow
}

counters() { # all that is counted of it, what it had, its events, and what is attached
	bm show w1 --format json
	[[ $out =~ \"denied\":[0-9]+,\"lost\":[0-9]+ ]] && echo "${BASH_REMATCH[0]}"
	[[ $out =~ \"had\":[^]]*] ]] && echo "${BASH_REMATCH[0]}"
	benchmon events --bench w1 --since 0
	ls /sys/fs/bpf/benchmon/*
	cat /var/lib/benchmon/ledger.jsonl
}

case_changes_nothing() {
	local before after
	before=$(counters)
	bm why w1 file /in/ro/file w
	ended 1
	in_columns
	bm why w1 file /in/rw/left r
	ended 1
	bm why w1 file /in/ro/prog x
	ended 1
	bm why w1 net "$server:9"
	ended 1
	in_columns
	bm why w1 file /in/ro/file r
	did allowed
	in_columns
	after=$(counters)
	same "$before" "$after" 'what is counted'
	[[ $(bpftool map dump name asked) != *'"answered": 1'* ]] || fail 'an answer is left'
	bm doctor
	printed ' file_fcntl'
}

# A frozen Bench can be asked about, and one that has ended can't.
case_states() {
	make_bench w3
	bm freeze w3
	did
	bm why w3 file /etc/passwd r
	did allowed
	bm thaw w3
	did
	init_of w3
	kill -KILL "$value"
	soon gone "$value"
	bm why w3 file /etc/passwd r
	refused 125 'w3'
	bm destroy w3
	[[ $code -eq 0 || $err == *'no Bench'* ]] || fail 'it does not end'
}

case_usage() {
	bm why
	ended 2
	bm why w1 file /x
	refused 2 'a path and the right'
	bm why w1 file /x q
	refused 2 'the right is r, w or x'
	bm why w1 nothing
	refused 2 'ask about a file, net, or last'
	bm why w1 last more
	refused 2 'nothing more'
}
