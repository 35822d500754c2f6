# shellcheck shell=bash disable=SC2034,SC2154
# What grows with the number of Benches and grants, and what is said where a bound is met. How long
# things take is measured by tests/e2e/scale.
: "${e2e:?}" "${disk:?}" "${tmp:?}"

gone=/var/lib/benchmon/benches/.gone

setup() {
	mkdir "$disk/many" && (cd "$disk/many" && touch f{1..20})
}

teardown() {
	rm -r "$disk/many"
}

aside() { # there is something that waits to be removed
	compgen -G "$gone/*" >/dev/null
}

cleared() {
	[[ ! -e $gone ]]
}

# Made by a Bench, and removed while the daemon goes on.
many_files() {
	bm exec e1 -- sh -c 'cd /work && seq 1 100 >names && for d in $(seq 1 40); do
		mkdir $d && (cd $d && touch $(cat ../names)) || exit 1; done'
	did
}

case_removal_goes_on() {
	make_bench e1
	many_files
	bm destroy e1
	did
	aside || fail 'it waited until all was removed'
	# The name is free, and the directory another's.
	make_bench e1
	bm destroy e1
	did
	soon cleared
}

case_removal_goes_on_after_a_crash() {
	make_bench e1
	many_files
	bm destroy e1
	did
	stop_daemon KILL
	aside || fail 'nothing is left to be removed'
	bm ls
	did
	soon cleared
}

host_mounts() {
	local line
	mounts=0
	while read -r line; do
		mounts=$((mounts + 1))
	done </proc/1/mountinfo
}

# Whoever lists the host's mounts meets one more for a Bench, however much is granted.
case_pins_apart() {
	local before i
	make_bench e1
	host_mounts
	before=$mounts
	for i in {1..20}; do
		bm grant e1 file "$disk/many/f$i" --yes
		did granted
	done
	host_mounts
	same $((before + 1)) "$mounts" 'mounts of the host'
	# And they are found again.
	stop_daemon KILL
	bm ls
	did 'e1    ready'
	bm exec e1 -- cat /in/f20
	did
	bm revoke e1 --all
	did
	host_mounts
	same "$before" "$mounts" 'mounts of the host'
	bm destroy e1
	did
}

with() { # SYSCTL VALUE COMMAND...: and back
	local was
	was=$(<"/proc/sys/$1")
	echo "$2" >"/proc/sys/$1"
	"${@:3}"
	echo "$was" >"/proc/sys/$1"
}

# Said by what it is, and nothing of the grant is left.
bound_is_met() { # SYSCTL RULE WORDS...
	make_bench e1
	with "$1" 1 bm grant e1 file "$disk/many/f1" --yes
	printed 'appears   /in/f1'
	[[ $code -eq 125 && $err == *"rule: $2"* && $err == *"${1/\//.}"* ]] || fail 'not by that bound'
	bm show e1 --format json
	key grant_count
	same 0 "$value" 'how many grants it has'
	bm grant e1 file "$disk/many/f1" --yes
	did granted
	bm exec e1 -- cat /in/f1
	did
	bm destroy e1
	did
}

case_bound_on_mounts() {
	bound_is_met fs/mount-max mounts
}

case_bound_on_user_namespaces() {
	bound_is_met user/max_user_namespaces user-namespaces
}

# As many as it has open, those that are kept for the work, and a few for its clients.
case_bound_on_descriptors() {
	local open
	make_bench e1
	daemon_pid || fail 'not exactly one gatekeeperd'
	open=("/proc/$daemon/fd/"*)
	stop_daemon
	(
		ulimit -n $((${#open[@]} + 64 + 10))
		benchmon ls >/dev/null
	)
	bm create e2
	refused 125 'too few descriptors are left for another Bench' 'rule: limits' LimitNOFILE
	bm ls
	did 'e1    ready'
	bm destroy e1
	did
	stop_daemon
	make_bench e2
	bm destroy e2
	did
}
