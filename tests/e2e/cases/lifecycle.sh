# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# A Bench from its making to its end, and what a payload is given.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${server:?}"

setup() {
	mkdir -p "$disk/src"
	echo hello >"$disk/src/file"
	install -m 755 /bin/true "$disk/src/prog"
	make_bench e1
}

teardown() {
	bm destroy e1
	did 'e1 destroyed, denied in it: '
	rm -rf "$disk/src"
}

inside() { # COMMAND...: in e1
	bm exec e1 -- "$@"
}

case_names() {
	local name long=abcdefghijklmnopqrstuvwxyz-012345
	for name in B1 1b '' -x b_1 a/b .. b1. "${long}" $'b\n1' 'b 1' ü1; do
		bm create -- "$name"
		refused 2 "cannot name a Bench: 1 to 32 of a-z, 0-9 and '-', a letter first" \
			'see `benchmon help create`'
	done
	bm create e1
	refused 125 'there is a Bench e1 already (rule: bench-name); take another name'
	for name in show destroy detach; do
		bm "$name" nobody
		refused 125 'there is no Bench "nobody"; see `benchmon ls`'
	done
	bm exec nobody -- true
	refused 125 'there is no Bench "nobody"; see `benchmon ls`'
	# The longest there may be; and nothing in its root file system: the holder comes with benchmon.
	mkdir "$disk/empty"
	bm create "${long%?}" --rootfs "$disk/empty"
	did "${long%?}"
	bm ls
	did "${long%?}  ready  created"
	narrow
	bm exec "${long%?}" -- sh
	refused 127 'sh: No such file or directory (rule: exec)'
	bm destroy "${long%?}"
	did "${long%?} destroyed, denied in it: 0"
	same '' "$(ls -A "$disk/empty")" 'what was left in the root file system'
	rmdir "$disk/empty"
}

case_no_rootfs() {
	unset BENCHMON_ROOTFS
	bm create e2
	refused 125 'no root filesystem to make a Bench of' 'give --image or --rootfs DIR, or set BENCHMON_ROOTFS'
	bm create e2 --rootfs "$tmp/nowhere"
	refused 125 "--rootfs $tmp/nowhere: No such file or directory"
	bm create e2 --rootfs "$disk/src/file"
	refused 125 "--rootfs $disk/src/file: Not a directory"
	# The host's own tree here is an overlay, which cannot be idmapped; or has mounts below.
	bm create e2 --rootfs /usr/share
	refused 125 'the root file system is part of an overlay and not all of it (rule: image)' \
		'copy it to ext4, xfs or btrfs'
	bm create e2 --rootfs /
	refused 125 'the root directory is never granted (rule: object-kind)'
	mkdir -p "$disk/mounted/below"
	mount -t tmpfs e2e "$disk/mounted/below"
	bm create e2 --rootfs "$disk/mounted"
	refused 125 "$disk/mounted/below is mounted below it; what that covers would show" \
		'(rule: no-submounts)'
	umount "$disk/mounted/below"
	rm -r "$disk/mounted"
}

case_shown() {
	bm ls
	did 'NAME  STATE  ORIGIN   GRANTS  DENIED  CREATED' 'e1    ready  created       0 '
	narrow
	bm
	did 'e1    ready  created'
	bm show e1
	did 'name       e1' 'state      ready' 'origin     created' 'cgroup     /benchmon/e1' \
		'grants     none'
	narrow
	bm ls --format names
	same e1 "$out"
}

case_exit_codes() {
	inside true
	did
	inside sh -c 'exit 7'
	ended 7
	inside sh -c 'exit 255'
	ended 255
	inside sh -c 'kill -TERM $$'
	ended 143
	inside sh -c 'kill -KILL $$'
	ended 137
	inside /etc/passwd
	refused 126 '/etc/passwd: Permission denied (rule: exec); `benchmon events` has the reason'
	inside /etc
	refused 126 '/etc: Permission denied (rule: exec)'
	inside no-such-program
	refused 127 'no-such-program: No such file or directory (rule: exec)' \
		'see what is in its root file system'
	inside /etc/passwd/x
	refused 127 '/etc/passwd/x: Not a directory (rule: exec)'
	bm exec e1
	refused 2 'exec: something is missing; it is `benchmon exec BENCH -- CMD [ARG...]`'
	bm exec e1 --
	refused 2 'exec: something is missing'
	bm exec e1 --tty --no-tty -- true
	refused 2 '--tty and --no-tty at once'
}

case_environment() {
	export SECRET=1 WANTED='a b'
	bm exec e1 -e X=1=2 -e WANTED -C /usr/lib -- env
	did X=1=2 "WANTED=a b" HOME=/root PATH=/usr/local/sbin:
	[[ $out != *SECRET* ]] || fail 'the caller'\''s environment came along'
	bm exec e1 -C /nowhere -- true
	refused 125 'the working directory: No such file or directory (rule: cwd)' \
		'give a directory of the Bench'
	bm exec e1 -e =x -- true
	refused 2 "'=x': a variable without a name; write it as NAME=VALUE"
}

case_streams() {
	local big=$tmp/big
	head -c 1048576 /dev/urandom >"$big"
	benchmon exec e1 -- cat <"$big" >"$tmp/copy" || fail 'cat failed'
	cmp "$big" "$tmp/copy" || fail 'a megabyte did not come back as it went'
	benchmon exec e1 -- sh -c 'cat >/work/big; cat /work/big >&2; rm /work/big' <"$big" \
		2>"$tmp/copy" || fail 'cat failed'
	cmp "$big" "$tmp/copy" || fail 'stderr lost something'
	# Through pipes, whose other end goes before all was written.
	same 100 "$(benchmon exec e1 -- head -c 1000000 /dev/zero | head -c 100 | wc -c)"
	benchmon exec e1 -- sh -c 'cat; echo end' <&- >"$tmp/copy" || fail 'failed without a stdin'
	slurp "$tmp/copy" out
	same end "$out"
	rm "$big" "$tmp/copy"
}

case_terminal() {
	# Whose number it is in the host's devpts, and whose session.
	# shellcheck disable=SC2016
	local script='test -t 0 && test -t 1 && test -t 2 && stat -Lc %t:%T /proc/self/fd/0 &&
		exec 3<>/dev/tty && ps_tty=$(cut -d " " -f 7 /proc/self/stat) && test "$ps_tty" != 0'
	bm exec -t e1 -- sh -c "$script"
	ended 0
	[[ $out == 88:* ]] || fail 'no pty'
	py terminal '' benchmon exec e1 -- sh -c "$script"
	[[ $out =~ caller\ (88:[0-9a-f]+).*(88:[0-9a-f]+) ]] || fail 'no two ptys'
	[[ ${BASH_REMATCH[1]} != "${BASH_REMATCH[2]}" ]] || fail 'it holds the terminal of the caller'
	# With --no-tty it gets pipes even so.
	py terminal '' benchmon exec -T e1 -- sh -c 'test -t 0 || test -t 1 || test -t 2 || echo pipes'
	printed pipes
}

case_own_files() {
	inside sh -c 'echo mine >/work/x && echo mine >/x && echo mine >/etc/x && mkdir /usr/lib/x &&
		cp /bin/true /work/true && /work/true && cp /bin/true /dev/shm/ && ! /dev/shm/true'
	ended 0
	[[ ! -e $BENCHMON_ROOTFS/x && ! -e $BENCHMON_ROOTFS/etc/x ]] || fail 'the rootfs was written to'
	make_bench e2
	bm exec e2 -- sh -c 'ls -A /work; cat /x /etc/x; ls -d /usr/lib/x'
	[[ $out == '' && $err == *'/x: No such file'*'/etc/x: No such file'* ]] ||
		fail 'another Bench sees it'
	bm exec e2 -- sh -c 'echo mine >/x'
	bm destroy e2
	did
	make_bench e2
	bm exec e2 -- cat /x
	ended 1
	bm destroy e2
	did
	inside cat /work/x /x /etc/x
	did $'mine\nmine\nmine'
}

# What ls shows of a Bench's processes; in the Bench itself, its PID 1 and the one that looks.
members() {
	slurp /sys/fs/cgroup/benchmon/e1/cgroup.procs members
	read -ra members <<<"${members//$'\n'/ }"
}

alone() {
	members
	[[ ${#members[@]} -eq 1 ]]
}

case_init() {
	local pid
	init_of e1
	pid=$value
	slurp "/proc/$pid/comm" out
	same holder "$out" 'the init of a Bench'
	inside sh -c 'cat /proc/1/comm; tr "\0" " " </proc/1/cmdline'
	did holder /.benchmon/holder
	# It reaps what loses its parent, and no signal from inside ends it.
	inside sh -c '(exit 3) & (true) & kill -TERM 1; kill -KILL 1; kill -INT 1'
	soon alone
	same "$pid" "${members[0]}" 'the last process'
	inside sh -c 'set -- /proc/[0-9]*; echo $#'
	did 2
}

# Who hangs up on an exec ends it.
case_abandoned() {
	local fd
	mkfifo "$tmp/said"
	benchmon exec e1 -- sh -c 'echo up; exec sleep infinity' </dev/null >"$tmp/said" 2>&1 &
	exec {fd}<"$tmp/said"
	line_from "$fd" out
	same up "$out"
	members
	same 2 "${#members[@]}" 'the number of processes'
	kill -KILL $!
	wait $! || same 137 $?
	soon alone
	rm "$tmp/said"
}

populated() { # COUNT: e2, by $pids
	slurp /sys/fs/cgroup/benchmon/e2/cgroup.procs pids
	read -ra pids <<<"${pids//$'\n'/ }"
	[[ ${#pids[@]} -eq $1 ]]
}

case_limits() {
	local bad pid pids
	for bad in 0 abc 1.5G -1 12Q 99999999999999999999; do
		bm create e2 --memory "$bad"
		refused 2 "'$bad': "
	done
	bm create e2 --memory 1000
	refused 125 'the limit of memory is too low for anything to run (rule: limits); at least 1M'
	for bad in 0 abc -1 4194305; do
		bm create e2 --pids "$bad"
		refused 2 "--pids: '$bad' is not a number from 1 to 4194304"
	done
	make_bench e2 --memory 32M --pids 12
	slurp /sys/fs/cgroup/benchmon/e2/memory.max out
	same 33554432 "$out" memory.max
	slurp /sys/fs/cgroup/benchmon/e2/pids.max out
	same 12 "$out" pids.max
	bm exec e2 -- sh -c 'head -c 100M /dev/zero | tail >/dev/null'
	ended 137
	bm exec e2 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do sleep infinity & done'
	ended 2
	[[ $err == *'Cannot fork'* ]] || fail 'as many processes as it liked'
	bm ls
	did 'e2    ready'
	bm exec e2 -- sh -c 'kill -9 -1'
	soon populated 1
	# What has made itself a daemon ends with its Bench all the same.
	bm exec e2 -- sh -c 'setsid sh -c "trap : TERM HUP INT; exec sleep infinity" </dev/null \
		>/dev/null 2>&1 &'
	did
	soon populated 2
	bm destroy e2
	did 'e2 destroyed'
	for pid in "${pids[@]}"; do
		[[ ! -e /proc/$pid ]] || fail "process $pid outlived its Bench"
	done
}

case_run() {
	mkdir "$disk/out"
	bm run --in "$disk/src" --out "$disk/out" --out "$disk/made" --net "$server:8080" --yes -- \
		bash -c 'cat /in/src/file >/out/out/copy; echo made >/out/made/file
		cat </dev/tcp/'"$server"'/8080; /in/src/prog; echo x 2>&1 >/in/src/new
		echo x >/dev/tcp/'"$server"'/8081; exit 7'
	ended 7
	printed 'hello from 8080' 'Read-only file system'
	same hello "$(<"$disk/out/copy")"
	same made "$(<"$disk/made/file")"
	[[ ! -e $disk/src/new ]] || fail 'it wrote to what is read-only'
	[[ $err == *'benchmon: denied in b1: 2'* ]] || fail 'not two denials'
	[[ $err == *'1x exec x '*'/src/prog (exec-refused)'* ]] || fail 'no word of the program'
	[[ $err == *"1x connect4 $server:8081/tcp (not-sealed)"*"
        allow with: benchmon run --net $server:8081"* ]] || fail 'no word of how to allow it'
	same 0:0 "$(stat -c %u:%g "$disk/out/copy")" 'the owner of what came out'
	bm show b1
	refused 125 'there is no Bench "b1"'
	rm -r "$disk/out" "$disk/made"
}

case_run_refused() {
	bm run --out "$disk/made" -- true
	ended 125
	[[ $err == *'benchmon: there is no terminal to ask on (rule: confirmation); run it in a terminal, or confirm with --yes'* ]] ||
		fail 'no word of the terminal'
	[[ ! -e $disk/made ]] || fail 'the directory that it made for nothing is there'
	bm run --in "$disk/src" --out "$disk/src" --yes -- true
	ended 125
	[[ $err == *'grants this object already (rule: one-grant); revoke that first' ]] ||
		fail 'granted one object twice'
	bm run --yes -- no-such-program
	refused 127 'no-such-program: No such file or directory (rule: exec)'
	bm run --
	refused 2 'run: something is missing; it is `benchmon run -- CMD [ARG...]`'
}

case_run_kept() {
	bm run --keep -- sh -c 'echo kept >/work/x'
	ended 0
	[[ $err == 'benchmon: b1 is kept: `benchmon destroy b1` ends it' ]] || fail 'no word of keeping'
	bm exec b1 -- cat /work/x
	did kept
	bm destroy b1
	did
}

case_run_interrupted() {
	local signal fd
	mkfifo "$tmp/said"
	for signal in INT:130 TERM:143; do
		# A job of a script has SIGINT ignored, which benchmon would respect.
		env --default-signal=INT benchmon run --in "$disk/src" --yes -- sh -c 'echo up; exec sleep infinity' \
			</dev/null >"$tmp/said" 2>"$tmp/err" &
		exec {fd}<"$tmp/said"
		line_from "$fd" out
		same up "$out"
		kill "-${signal%:*}" $!
		code=0
		wait $! || code=$?
		same "${signal#*:}" "$code" "the exit code at SIG${signal%:*}"
		exec {fd}<&-
		bm ls --format names
		same e1 "$out"
	done
	rm "$tmp/said"
}

case_json() {
	local command
	: >"$tmp/json"
	collect() {
		bm "$@" --format json
		ended 0
		slurp "$tmp/out" out
		[[ -n $out ]] || fail 'no JSON'
		printf '%s\n' "$out" >>"$tmp/json"
	}
	collect create e2 --memory 64M
	collect ls
	collect
	collect grant e2 file "$disk/src" --yes
	collect grant e2 net "$server:8080" --yes
	collect show e2
	bm exec e2 -- bash -c 'echo >/dev/tcp/198.51.100.99/80'
	collect events --bench e2
	collect revoke e2/1
	collect revoke e2 --all
	collect destroy e2
	collect version
	collect help
	# Errors too, on stderr; and the report of run, whose stdout is the command's.
	for command in 'show nobody' 'create E' 'bogus' 'ls --bogus'; do
		# shellcheck disable=SC2086
		bm $command --format json
		[[ $code -ne 0 && -z $out ]] || fail 'it did not fail'
		printf '%s\n' "$err" >>"$tmp/json"
	done
	bm run --format json --in "$disk/src" --yes -- sh -c 'echo out; /in/src/prog; exit 3'
	ended 3
	same out "$out"
	# What the command itself had to say stands there too.
	printf '%s\n' "${err##*$'\n'}" >>"$tmp/json"
	py jsonlines "$tmp/json"
	rm "$tmp/json"
}

case_narrow() {
	local command
	for command in '' version help 'help run' 'help exec' 'help events' 'help create' \
		'help attach' 'help detach' 'help destroy' 'help ls' 'help show' 'help grant' \
		'help revoke' 'help doctor' 'help version'; do
		# shellcheck disable=SC2086
		bm $command
		did
		narrow
	done
}
