# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# A port of a Bench that somebody may connect to: who, for how long, and what ends with it.
: "${e2e:?}" "${tmp:?}" "${server:?}"

# shellcheck source=tests/e2e/containers.sh
. "$e2e/containers.sh"

# What listens in the Bench, and greets.
greets='use IO::Socket::INET; $| = 1;
my $s = IO::Socket::INET->new(Listen => 8, LocalPort => 8080, ReusePort => 1) or die "$!\n";
print "ready\n";
while (my $c = $s->accept) { print $c "hello\n"; close $c }'

# What accepts one, says so when something lies in it, and then reads and writes at each word.
holds='use IO::Socket::INET; use Socket; $| = 1; $SIG{PIPE} = "IGNORE";
my $s = IO::Socket::INET->new(Listen => 8, LocalPort => 8080, ReuseAddr => 1) or die "$!\n";
print "ready\n";
my ($c, $b) = $s->accept;
recv $c, $b, 1, MSG_PEEK;
print "queued\n";
while (<STDIN>) {
	my $n = sysread $c, $b, 4;
	my $got = defined $n ? "read $n" : "read: $!";
	$n = syswrite $c, "more\n";
	print "$got, ", (defined $n ? "wrote $n" : "write: $!"), "\n";
}'

listening() { # PERL: in e1, until its standard input ends
	rm -f "$tmp/words"
	mkfifo "$tmp/words"
	exec {words}<>"$tmp/words"
	exec {said}< <(exec benchmon exec e1 -T -- perl -e "$1" <"$tmp/words" 2>&1)
	job=$!
	line_from "$said" out
	same ready "$out"
}

# The same, of which nobody is told when it ends: it outlives the daemon.
listening_alone() { # PERL
	local root
	init_of e1
	root=/proc/$value/root/work
	bm exec e1 -- mkfifo /work/words /work/said
	did
	exec {words}<>"$root/words" {said}<>"$root/said"
	bm exec e1 -- sh -c 'setsid perl -e "$0" </work/words >/work/said 2>&1 &' "$1"
	did
	line_from "$said" out
	same ready "$out"
}

quiet() { # its end
	exec {words}>&- {said}<&-
	kill "$job" 2>/dev/null || :
	soon gone "$job"
	rm "$tmp/words"
}

granted() { # OPTION...: port 8080 of e1; leaves where it is in $at
	bm grant e1 listen 8080 --yes "$@"
	did 'listen grant for e1:' '  port      8080/tcp' '  egress    yes: data can leave to them' \
		' granted: listen 8080/tcp'
	narrow
	[[ $out =~ 'reached at '([0-9.]+)':8080' ]] || fail 'it does not say where'
	at=${BASH_REMATCH[1]}
}

hears() {
	capture timeout 10 bash -c "cat </dev/tcp/$at/8080"
	same hello "$out" 'what it says'
}

hears_nothing() { # PORT [COMMAND...]
	capture timeout 2 "${@:2}" bash -c "cat </dev/tcp/$at/$1"
	[[ $code -ne 0 && $out == '' ]] || fail "port $1 is not closed"
}

past() { # SECONDS since 1970
	((EPOCHSECONDS > $1))
}

over() {
	bm destroy e1
	did 'e1 destroyed'
	[[ ! -e /proc/sys/net/ipv4/conf/bm$id ]] || fail 'its link stays'
}

begin() {
	make_bench e1
	bm show e1 --format json
	key id
	id=$value
}

case_reached() {
	local host
	begin
	granted
	listening "$greets"
	host=${at%.*}.$((${at##*.} - 1))
	hears
	hears_nothing 8081
	hears_nothing 8080 ip netns exec e2e-world
	bm show e1
	did '  e1/1    listen    8080/tcp' "                  from $host" \
		"                  reached at $at:8080"
	narrow
	bm show e1 --format json
	printed '"kind":"listen"' '"port":8080,"protocol":"tcp"' "\"from\":[\"$host\"]" "\"at\":\"$at:8080\""
	grep -q '"event":"grant".*"kind":"listen".*"from":\["'"$host"'"\]' /var/lib/benchmon/ledger.jsonl ||
		fail 'the ledger has it not'
	# Whatever the Bench binds to, it opens nothing.
	bm exec e1 -- perl -e 'use IO::Socket::INET; IO::Socket::INET->new(PeerAddr => $ARGV[0],
		PeerPort => 22, LocalPort => 8080, ReusePort => 1) or die "$!\n"' "$host"
	[[ $code -ne 0 && $err == *'Operation not permitted'* ]] || fail 'it connects'
	stop_daemon KILL
	hears
	bm show e1
	did 'state      ready' "reached at $at:8080"
	hears
	bm revoke e1/1
	did 'e1/1 revoked'
	hears_nothing 8080
	[[ ! -e /proc/sys/net/ipv4/conf/bm$id ]] || fail 'its link stays'
	granted
	hears
	quiet
	over
}

case_refused() {
	local way
	begin
	for way in 0 65536 -- -1 80/sctp http 080; do
		[[ $way != -- ]] || continue
		bm grant e1 listen --yes -- "$way"
		refused 2 "'$way'"
	done
	bm grant e1 listen 80 --yes --private
	refused 2 'grant: --private is not for listen, which takes PORT[/udp], --from and --for'
	bm grant e1 net "$server:80" --yes --from "$server"
	refused 2 'grant: --from is not for net, which takes'
	bm grant e1 listen 80 --yes --from "$server"
	refused 125 "$server is not this host, and from elsewhere nothing reaches a Bench's link (rule: listen)"
	for way in 0.0.0.0 224.0.0.1 ff02::1 127.0.0.1 10.0.0.0/8 fe80::1%eth0 example.test; do
		bm grant e1 listen 80 --yes --from "$way"
		refused 125 "$way" '(rule: a peer is one address)'
	done
	bm grant e1 listen 80 --yes --from 198.51.100.1 --from ::ffff:198.51.100.1
	refused 125 '198.51.100.1 is named twice'
	bm grant e1 listen 80 --yes --from 198.51.100.1
	did 'e1/1 granted'
	bm grant e1 listen 80 --yes --from 198.51.100.1
	refused 125 'e1/1 lets 198.51.100.1 connect to port 80 already (rule: one-grant)'
	bm grant e1 listen 80/udp --yes --from 198.51.100.1 --format json
	did '"id":"e1/2"' '"protocol":"udp"'
	bm revoke e1 --all
	did 'e1/1 revoked' 'e1/2 revoked'
	over
}

# Only those that are named; and a Bench with a way out as well.
case_peers() {
	begin
	bm grant e1 net "$server:8080" --yes
	did 'e1/1 granted'
	granted --from 198.51.100.1
	listening "$greets"
	hears_nothing 8080
	bm grant e1 listen 8080 --yes --from "$(host_of "$at")" --from 10.99.0.1
	did 'e1/3 granted'
	hears
	bm exec e1 -- bash -c "cat </dev/tcp/$server/8080"
	did 'hello from 8080'
	bm revoke e1/1
	did 'e1/1 revoked'
	hears
	bm exec e1 -- bash -c "cat </dev/tcp/$server/8080"
	[[ $code -ne 0 && $out == '' ]] || fail 'the way out stays open'
	bm revoke e1/3
	did 'e1/3 revoked'
	hears_nothing 8080
	quiet
	over
}

host_of() { # ADDRESS-OF-A-BENCH: that of the other end of its link
	echo "${1%.*}.$((${1##*.} - 1))"
}

# Who holds a connection, and what had come by it, when the grant is taken back.
case_taken_back() {
	begin
	granted
	listening "$holds"
	exec {connection}<>"/dev/tcp/$at/8080"
	echo 12345678 >&"$connection"
	line_from "$said" out
	same queued "$out"
	echo >&"$words"
	line_from "$said" out
	same 'read 4, wrote 5' "$out"
	line_from "$connection" out
	same more "$out"
	bm revoke e1/1
	did 'e1/1 revoked' '  connections ended: 1'
	echo >&"$words"
	line_from "$said" out
	[[ $out == 'read: Permission denied, write: '* ]] || fail "$out"
	if read -rt 60 -u "$connection" out; then
		fail "it hears $out"
	fi
	hears_nothing 8080
	exec {connection}>&-
	bm events --bench e1
	did 'recvmsg' "$(host_of "$at")"
	quiet
	over
}

# The same by its time, with nobody there to end it.
case_ended() {
	local end
	begin
	granted --for 40s
	end=$((EPOCHSECONDS + 40))
	listening_alone "$holds"
	exec {connection}<>"/dev/tcp/$at/8080"
	echo 12345678 >&"$connection"
	line_from "$said" out
	same queued "$out"
	stop_daemon KILL
	echo >&"$words"
	line_from "$said" out
	same 'read 4, wrote 5' "$out"
	line_from "$connection" out
	same more "$out"
	# Nobody is left who would say that it is over.
	soon past "$end"
	hears_nothing 8080
	echo >&"$words"
	line_from "$said" out
	[[ $out == 'read: Permission denied, '* ]] || fail "$out"
	if read -rt 2 -u "$connection" out; then
		fail "it hears $out"
	fi
	bm show e1
	did 'grants     none'
	exec {connection}>&-
	exec {words}>&- {said}<&-
	over
}

# With interfaces of its own it is known by its own address, and who comes has to be named.
case_interfaces() {
	begin
	init_of e1
	ip link add e2e-f0 type veth peer name f0 netns "$value"
	ip address add 192.0.2.1/24 dev e2e-f0
	ip address add 192.0.2.3/24 dev e2e-f0
	ip link set e2e-f0 up
	nsenter -t "$value" -n ip address add 192.0.2.2/24 dev f0
	nsenter -t "$value" -n ip link set f0 up
	bm grant e1 listen 8080 --yes
	refused 125 'Bench e1 has interfaces of its own' 'name who may connect: --from ADDRESS'
	bm grant e1 listen 8080 --yes --from 192.0.2.1
	did 'e1/1 granted: listen 8080/tcp' '  from    192.0.2.1'
	[[ $out != *reached* ]] || fail 'it says where, and cannot know'
	at=192.0.2.2
	listening "$greets"
	hears
	bm revoke e1/1
	did 'e1/1 revoked'
	hears_nothing 8080
	bm grant e1 listen 8080 --yes --from 192.0.2.3
	did 'e1/2 granted'
	hears_nothing 8080
	quiet
	over
	soon gone_link e2e-f0
}

gone_link() {
	[[ ! -e /sys/class/net/$1 ]]
}

# What has a port in a network of others has it from them.
case_shared() {
	bundle c1 plain '.linux.namespaces |= map(select(.type != "network"))' /busybox sleep infinity
	created c1
	bm attach s1 c1
	did 's1 attached'
	started c1
	bm grant s1 listen 8080 --yes --from "$server"
	refused 125 'Bench s1 shares its network' '(rule: shared); give its container a network namespace of its own'
	bm detach s1
	did
	removed c1
	rmdir /sys/fs/cgroup/e2e
}
