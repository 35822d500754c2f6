# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# A broker's endpoint in a Bench: who reaches it, for how long, and what ends with it. The process
# behind it is a stand-in (programs/broker.c).
: "${e2e:?}" "${tmp:?}" "${server:?}"

# shellcheck source=tests/e2e/resolver.sh
. "$e2e/resolver.sh"
# shellcheck source=tests/e2e/containers.sh
. "$e2e/containers.sh"

secret=sk-e2e-0123456789abcdef
endpoint=127.98.109.1

# A gatekeeperd beside which the stand-in is; to be said in each shell.
ours() {
	export BENCHMON_GATEKEEPERD=$tmp/broker/gatekeeperd
}

setup() {
	mkdir "$tmp/broker"
	cp "$bin/"{gatekeeperd,benchmon-holder,benchmon-ask} "$tmp/broker"
	cp "$repo/build/e2e/broker" "$tmp/broker/benchmon-broker"
	printf 'up.test 5 A %s\n' "$server" >"$tmp/zone"
	resolver_up
	mkdir -m 755 /etc/benchmon/brokers
	mkdir -m 700 /etc/benchmon/credentials
	definition model
	credential model
	ours
	bm ls
	did
}

teardown() {
	unset BENCHMON_GATEKEEPERD
	mkdir -p "$state/profiles"
	touch "$state/seal.key"
	resolver_down
	rm -r "$tmp/broker"
}

definition() { # NAME
	printf '{"name":"%s","description":"for the test","upstream":{"host":"up.test"},
		"credential":{"header":"authorization","before":"Bearer "},
		"allow":[{"method":"GET","path":"/*"}],"headers":["accept"],
		"environment":{"MODEL_URL":"{url}/v1","MODEL_KEY":"none"},
		"limits":{"rate":60,"concurrent":4,"seconds":60},
		"verify":{"method":"GET","path":"/hello","status":200}}\n' "$1" \
		>"/etc/benchmon/brokers/$1.json"
}

credential() { # NAME
	(umask 077 && printf '%s\n' "$secret" >"/etc/benchmon/credentials/$1")
}

# Without curl, which the root file system has not.
asking='exec 3<>"/dev/tcp/${2-model.broker}/80" &&
	printf "GET %s HTTP/1.1\r\nHost: model.broker\r\n\r\n" "$1" >&3 &&
	while IFS= read -r line && [[ $line != $'"'\\r'"' ]]; do :; done <&3 && exec cat <&3'

asks() { # PATH [ADDRESS]: of e1; what is answered
	bm exec e1 -- timeout 20 bash -c "$asking" _ "$@"
}

# Leaves what it says on $fd.
streams() {
	exec {fd}< <(exec benchmon exec e1 -T -- bash -c "$asking" _ /stream 2>&1)
	line_from "$fd" line
	[[ $line == 'line '* ]] || fail "no stream: $line"
}

# Its client is told, and no more.
streams_end() {
	while read -rt 60 -u "$fd" line; do
		[[ $line == 'line '* ]] || break
	done
	[[ $line == *'onnection'* || $line == *'Permission denied'* ]] || fail "its client was not told: $line"
}

broker_of() { # its pid, into $broker
	local path comm
	broker=
	for path in /proc/[0-9]*; do
		read -r comm <"$path/comm" || continue
		[[ $comm != benchmon-broker ]] || broker=${path#/proc/}
	done 2>/dev/null
	[[ -n $broker ]]
}

no_broker() {
	! broker_of
}

runs() {
	bm show e1 --format json
	[[ $out == *'"runs":true'* ]]
}

case_granted() {
	ours
	make_bench e1
	asks /hello "$endpoint"
	[[ $code -ne 0 && $err == *'not permitted'* ]] || fail 'it is there before it is granted'
	bm grant e1 broker model --yes
	did 'broker grant for e1:' '  broker    model: for the test' '  upstream  up.test:443' \
		"  pinned    $server" '  calls     GET /*' '60 calls a minute' \
		'  with      /etc/benchmon/credentials/model' "  at        http://model.broker, $endpoint:80" \
		'  env       MODEL_URL=http://model.broker/v1' 'e1/1 granted: broker model'
	narrow
	asks /hello
	did "hello from $server"
	asks /nothing
	did no
	bm exec e1 -- sh -c 'echo $MODEL_URL $MODEL_KEY; . /etc/benchmon.env; echo $MODEL_URL'
	did 'http://model.broker/v1 none' $'\nhttp://model.broker/v1'
	# Nothing else has come with it: no other port there, no way to its upstream, no name.
	bm exec e1 -- bash -c "cat </dev/tcp/$endpoint/81"
	[[ $code -ne 0 && $err == *'not permitted'* ]] || fail 'another port of it is open'
	bm exec e1 -- bash -c "cat </dev/tcp/127.98.109.2/80"
	[[ $code -ne 0 && $err == *'not permitted'* ]] || fail 'another of these addresses is open'
	bm exec e1 -- bash -c "cat </dev/tcp/$server/443"
	[[ $code -ne 0 && $err == *'not permitted'* ]] || fail 'its upstream is open'
	bm exec e1 -- bash -c 'cat </dev/tcp/up.test/443'
	[[ $code -ne 0 ]] || fail 'a name is resolved'
	init_of e1
	same '' "$(nsenter -t "$value" -n ip route)" 'its routes'
	# Each call is on record.
	bm events --bench e1
	did 'e1/1  CALL GET /hello 200 of model' 'CALL GET /nothing 404 of model, 0 out, 3 back, 1 ms (refused: broker-path)'
	bm show e1
	did 'ever had   broker' 'broker' 'at http://model.broker' 'calls 2, refused 1, bytes 0 out and 28 back'
	grep -q '"event":"grant","id":"e1/1","kind":"broker",.*"broker":"model"' "$state/ledger.jsonl" ||
		fail 'not in the ledger'
	bm grant e1 broker model --yes
	refused 125 'e1/1 grants broker model already (rule: one-grant)'
	bm broker ls
	did 'model' 'up.test:443' 'with /etc/benchmon/credentials/model'
	bm broker verify model
	did "model: answered 200 from $server in 1 ms"
	bm revoke e1/1
	did 'e1/1 revoked'
	no_broker || fail 'its process is left'
	asks /hello "$endpoint"
	[[ $code -ne 0 && $err == *'not permitted'* ]] || fail 'it is there after it was revoked'
	bm exec e1 -- cat /etc/hosts /etc/benchmon.env
	[[ $out != *broker* ]] || fail 'its name is left'
	bm destroy e1
	did
	bm receipt e1 --format json
	printed '"kind":"broker"' '"calls":{"count":2,"refused":1,"bytes_in":0,"bytes_out":28}'
}

# In the midst of an answer: the client hears of it at once, and reads nothing that had come before.
case_revoked_midstream() {
	local fd line
	ours
	make_bench e1
	bm grant e1 broker model --yes
	did
	streams
	bm revoke e1/1
	did 'e1/1 revoked'
	streams_end
	no_broker || fail 'its process is left'
	bm destroy e1
	did
}

# Its end closes the endpoint, and it comes back by itself; each time on record.
case_crash() {
	local before
	ours
	make_bench e1
	bm grant e1 broker model --yes
	did
	broker_of || fail 'it does not run'
	before=$broker
	asks /crash
	same '' "$out" 'what it still says'
	soon gone "$before"
	soon runs
	asks /hello
	did "hello from $server"
	broker_of
	[[ $broker != "$before" ]] || fail 'it is the same'
	grep -q '"event":"broker","grant":1,"what":"ended","why":"it ended with status 7"' \
		"$state/ledger.jsonl" || fail 'the ledger does not say so'
	grep -q '"event":"broker","grant":1,"what":"started"' "$state/ledger.jsonl" || fail 'nor that it is back'
	# While it is away nobody gets its address.
	kill -KILL "$broker"
	bm exec e1 -- perl -MIO::Socket::INET -e '
		my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.98.109.1", LocalPort => 80,
			ReuseAddr => 0);
		print $s ? "mine\n" : "taken\n"'
	did taken
	soon runs
	bm destroy e1
	did
	no_broker || fail 'its process is left'
}

# The daemon's end is the broker's, also by SIGKILL; the next one starts it again.
case_daemon() {
	local before
	ours
	make_bench e1
	bm grant e1 broker model --yes
	did
	asks /hello
	did
	broker_of
	before=$broker
	daemon_pid
	kill -KILL "$daemon"
	soon gone "$before"
	soon runs
	asks /hello
	did "hello from $server"
	bm show e1
	did 'and some that nobody counted'
	stop_daemon
	no_broker || fail 'it outlives the daemon'
	soon runs
	asks /hello
	did "hello from $server"
	bm ledger rotate
	did
	rm /var/lib/benchmon/ledger-[0-9]*.jsonl
	stop_daemon
	soon runs
	# Another definition is not what was granted.
	stop_daemon
	sed -i 's/"rate":60/"rate":600/' /etc/benchmon/brokers/model.json
	bm show e1
	did 'closed: its process has ended'
	asks /hello
	[[ $code -ne 0 ]] || fail 'it runs by another definition'
	definition model
	bm destroy e1
	did
}

# From inside, and what only an operator says of it.
case_asked() {
	local id
	ours
	make_bench e1
	bm exec e1 -- /run/benchmon/benchmon request broker model --why 'to think'
	[[ $out =~ ^(e1/r[0-9]+)\ awaits\ an\ operator ]] || fail 'it awaits nobody'
	id=${BASH_REMATCH[1]}
	bm pending
	did "$id" 'broker' '"model"' 'to think'
	bm confirm "$id" --limit concurrent=1 --yes
	did 'upstream  up.test:443' '60 calls a minute, 1 at once' granted
	asks /hello
	did "hello from $server"
	bm destroy e1
	did
}

# Narrower for one grant, and what is gone of it stays gone.
case_limits() {
	ours
	make_bench e1
	bm grant e1 broker model --limit requests --yes
	ended 2
	bm grant e1 broker model --limit rate=1 --limit rate=2 --yes
	ended 2
	bm grant e1 broker model --limit calls=1 --yes
	refused 2 "--limit: 'calls=1' is not WHAT=N, of which WHAT is requests, bytes, rate, concurrent or seconds"
	bm grant e1 broker model --limit concurrent=65 --yes
	refused 125 'the grant: limits: concurrent: not in 1 to 64 (rule: broker-definition)'
	bm grant e1 broker model --limit requests=160 --limit bytes=1M --limit rate=600 --yes
	did '160 calls in all, 1048576 bytes in all, 60 calls a minute, 4 at once, 60 s a call' granted
	for _ in {1..12}; do
		asks /hello
		did
	done
	# Eleven are a sixteenth, and one more: the ledger has them before there are twice as many.
	grep -q '"what":"counted","calls":{"count":11,' "$state/ledger.jsonl" || fail 'the ledger does not say so'
	stop_daemon KILL
	soon runs
	asks /used
	did "used $((11 + 11 + 4))"
	broker_of
	kill -KILL "$broker"
	soon gone "$broker"
	soon runs
	asks /used
	did "used $((11 + 11 + 4 + 1 + 4))"
	bm show e1 --format json
	did '"lost_calls":19'
	bm destroy e1
	did
}

# By the clock alone, when nobody is there to take it back.
case_expiry() {
	local fd line
	ours
	make_bench e1
	bm grant e1 broker model --for 3s --yes
	did 'by itself, 3 s'
	streams
	streams_end
	soon no_broker
	bm show e1
	did 'grants     none'
	bm destroy e1
	did
}

# What it is not granted to, and what it is not granted without.
case_refused() {
	local fd line
	ours
	make_bench e1
	bm grant e1 broker nothing --yes
	refused 125 'there is no broker "nothing" (rule: broker); see `benchmon broker ls`'
	definition other
	bm grant e1 broker other --yes
	refused 125 'broker other has no credential: /etc/benchmon/credentials/other is not there' \
		'(rule: broker-credential)'
	credential other
	chmod 644 /etc/benchmon/credentials/other
	bm grant e1 broker other --yes
	refused 125 '/etc/benchmon/credentials/other has mode 0644, not 0600' 'chmod 0600 it'
	chmod 600 /etc/benchmon/credentials/other
	chown 65534 /etc/benchmon/credentials/other
	bm grant e1 broker other --yes
	refused 125 'belongs to uid 65534, not to root'
	rm /etc/benchmon/credentials/other /etc/benchmon/brokers/other.json
	bm grant e1 broker model --upstream a.test --yes
	refused 125 'broker model has its upstream in its definition: up.test'
	# Somebody in there has the port.
	exec {fd}< <(exec benchmon exec e1 -T -- perl -MIO::Socket::INET -e '$| = 1;
		my $s = IO::Socket::INET->new(Listen => 1, LocalPort => 80) or die "$!\n";
		print "ready\n"; sleep 600' 2>&1)
	line_from "$fd" line
	same ready "$line"
	bm grant e1 broker model --yes
	[[ $code -eq 125 && $err == *"$endpoint:80/tcp is where the broker is to listen, and a socket of the Bench has it (rule: broker-endpoint)"* ]] ||
		fail 'it is not said who has the port'
	no_broker || fail 'a process is left'
	bm destroy e1
	did
	[[ $(grep -c '"kind":"broker"' "$state/ledger.jsonl") -gt 0 ]] || fail 'nothing is recorded'
}

case_shared() {
	ours
	bundle c1 plain '.linux.namespaces |= map(select(.type != "network"))' /busybox sleep infinity
	created c1
	bm attach s1 c1
	did 's1 attached'
	started c1
	bm grant s1 broker model --yes
	refused 125 'Bench s1 shares its network: whoever else is in it would have the broker too' '(rule: shared)'
	no_broker || fail 'a process is left'
	bm detach s1
	did
	removed c1
	rmdir /sys/fs/cgroup/e2e
}

# In memory, in files and in /proc of all that the Bench can look at. The pattern is none of it itself.
searches='my $p = qr/sk-e2e-[0]123456789abcdef/; my $found = 0;
for my $dir (glob "/proc/[0-9]*") {
	for my $name (qw(environ cmdline comm)) {
		open my $f, "<", "$dir/$name" or next; local $/; my $text = <$f> // "";
		$found++, print "$dir/$name\n" if $text =~ $p;
	}
	next if $dir eq "/proc/$$";
	open my $maps, "<", "$dir/maps" or next;
	open my $mem, "<", "$dir/mem" or next;
	while (<$maps>) {
		/^([0-9a-f]+)-([0-9a-f]+) r/ or next;
		my ($from, $to) = (hex $1, hex $2); next if $to - $from > 1 << 26;
		sysseek $mem, $from, 0 or next; sysread $mem, my $text, $to - $from or next;
		$found++, print "$dir/mem\n" if $text =~ $p;
	}
}
print "looked\n"; exit $found'

# The Bench against the endpoint, the process behind it and what that holds.
case_attacked() {
	ours
	make_bench e1 --allow-userns
	bm grant e1 broker model --yes
	did
	broker_of
	asks /hello
	did
	# Nobody takes its place, by whichever way ports are shared.
	bm exec e1 -- perl -MSocket -e '
		for my $address ("127.98.109.1", "0.0.0.0") {
			socket my $s, PF_INET, SOCK_STREAM, 0 or die;
			setsockopt $s, SOL_SOCKET, $_, 1 for SO_REUSEADDR, 15;
			my $ok = bind($s, pack_sockaddr_in(80, inet_aton($address))) && listen($s, 1);
			print $ok ? "$address taken\n" : "$address: $!\n";
		}'
	did '127.98.109.1: Address already in use' '0.0.0.0: Address already in use'
	# Another listener in the range is no endpoint, and is not reached.
	bm exec e1 -- perl -MSocket -e '
		socket my $s, PF_INET, SOCK_STREAM, 0 or die;
		bind $s, pack_sockaddr_in(80, inet_aton("127.98.109.7")) or die; listen $s, 1 or die;
		socket my $c, PF_INET, SOCK_STREAM, 0 or die;
		print connect($c, pack_sockaddr_in(80, inet_aton("127.98.109.7"))) ? "there\n" : "$!\n"'
	did 'Operation not permitted'
	# Nor by UDP, nor as IPv6 writes it, at another port.
	bm exec e1 -- perl -MSocket=:all -e '
		socket my $u, PF_INET, SOCK_DGRAM, 0 or die;
		print send($u, "x", 0, pack_sockaddr_in(80, inet_aton("127.98.109.1"))) ? "sent\n" : "$!\n";
		socket my $c, PF_INET6, SOCK_STREAM, 0 or die;
		print connect($c, pack_sockaddr_in6(81, inet_pton(AF_INET6, "::ffff:127.98.109.1"))) ? "there\n" : "$!\n"'
	same $'Operation not permitted\nOperation not permitted' "$out"
	# In a network that it makes itself there is none.
	bm exec e1 -- perl -MSocket -e '
		print syscall(272, 0x50000000) < 0 ? "$!\n" : "apart\n";
		socket my $c, PF_INET, SOCK_STREAM, 0 or die;
		print connect($c, pack_sockaddr_in(80, inet_aton("127.98.109.1"))) ? "there\n" : "not there\n"'
	same $'apart\nnot there' "$out" 'what a network of its own has'
	# The process is not there to be looked at, stopped or traced.
	bm exec e1 -- perl -e '
		print kill(9, $ARGV[0]) ? "killed\n" : "$!\n"; print -e "/proc/$ARGV[0]" ? "there\n" : "gone\n";
		print syscall(101, 16, $ARGV[0] + 0, 0, 0) < 0 ? "$!\n" : "traced\n"' "$broker"
	same $'No such process\ngone\nNo such process' "$out"
	[[ -e /proc/$broker ]] || fail 'it has ended'
	# What it holds is nowhere.
	bm exec e1 -- perl -e "$searches"
	did looked
	bm exec e1 -- grep -rlaE 'sk-e2e-[0]123456789abcdef' /etc /work /run /tmp /root /var
	[[ $code -ne 0 && -z $out ]] || fail 'it is in a file of the Bench'
	daemon_pid
	! grep -qaF "$secret" "/proc/$broker/"{environ,cmdline} "/proc/$daemon/"{environ,cmdline} ||
		fail 'it is in an argument or variable'
	! grep -rqF "$secret" /var/lib/benchmon /var/log/benchmon /run/benchmon || fail 'it is on record'
	[[ $(sed -n 's/^Uid:\t\([0-9]*\).*/\1/p' "/proc/$broker/status") -ge 1000 ]] || fail 'it is root'
	# Two Benches have one each, and neither the other's.
	make_bench e2
	bm exec e2 -- timeout 20 bash -c "$asking" _ /hello "$endpoint"
	[[ $code -ne 0 && $err == *'not permitted'* ]] || fail 'another Bench has it too'
	bm destroy e2
	did
	asks /hello
	did "hello from $server"
	bm destroy e1
	did
}

# A secret beside a broker, in either order: said apart, with what could leave; and no egress even so.
case_beside_secret() {
	ours
	echo token >"$disk/token"
	make_bench e1
	bm grant e1 file "$disk/token" --secret --yes
	did 'e1/1 granted'
	bm grant e1 broker model --yes
	ended 125
	[[ $err == *"Bench e1 has, or had, a secret (e1/1), which could leave to the broker's upstream (rule: never-both)"* &&
		$err == *'--with-secret'* ]] || fail 'not the refusal'
	bm grant e1 broker model --with-secret --yes
	did granted "leaves    by this could leave: e1/1 $disk/token"
	bm ledger show --bench e1
	printed 'ever secret'
	asks /hello
	did
	bm exec e1 -- cat /in/token
	did token
	bm grant e1 net "$server:8080" --yes
	refused 125 'it never gets egress (rule: never-both)'
	bm destroy e1
	did
	make_bench e1
	bm grant e1 broker model --yes
	did granted
	asks /hello
	did
	bm grant e1 file "$disk/token" --secret --yes
	refused 125 'has, or had, a broker (e1/1), to whose upstream the secret could leave (rule: never-both)'
	bm grant e1 file "$disk/token" --secret --with-secret --yes
	did granted 'leaves    by e1/1 broker what is in this could leave'
	asks /hello
	did
	bm exec e1 -- cat /in/token
	did token
	bm destroy e1
	did
	rm "$disk/token"
	for number in $(benchmon carrier ls --format json </dev/null | jq '.items[].carrier'); do
		bm carrier clear "$number"
		did cleared
	done
}
