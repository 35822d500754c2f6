# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# Another build's programs take the place of those in the kernel while Benches run; and what is pinned is
# not believed by its name.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${server:?}" "${repo:?}"

setup() {
	mkdir -p "$disk/src" "$disk/held"
	echo hello >"$disk/src/file"
	echo held >"$disk/held/file"
}

teardown() {
	rm -r "$disk/src" "$disk/held"
}

# What only the programs deny: the file is for everybody to read, and the Bench's table of nftables is
# gone. Says how often it tried, was let in by mistake, and was kept from what it is granted; until
# /work/stop, and again until /work/end.
hammer='use Socket; use Fcntl; $| = 1; my ($b, $x);
my $no = pack_sockaddr_in(8081, inet_aton("198.51.100.10"));
sysopen(my $h, "/in/held/file", O_RDONLY) or die; open $b, ">", "/work/begun";
until (-e "/work/revoked") { select undef, undef, undef, 0.01 }
open $b, ">", "/work/goes";
for my $until ("/work/stop", "/work/end") { my ($n, $open, $connect, $held, $lost) = (0) x 5;
until (-e $until) { $n++; my ($f, $s);
$open++ if open $f, "<", "/proc/modules";
socket $s, PF_INET, SOCK_STREAM, 0; $connect++ if connect $s, $no;
$held++ if sysseek($h, 0, 0) and sysread $h, $x, 1;
$lost++ unless open $f, "<", "/in/src/file";
open $b, ">", "/work/open" if $open && $connect && $held; }
print "tried $n let-in $open $connect $held lost $lost\n"; }'

# Or it says why not.
begun() {
	[[ ! -s $inside/said ]] || fail "the hammer: $(<"$inside/said")"
	[[ -e $inside/begun ]]
}

bench_up() {
	make_bench u1
	bm grant u1 file "$disk/src" --yes
	did
	bm grant u1 file "$disk/held" --yes
	did
	bm grant u1 net "$server:8080" --yes
	did
	init_of u1
	init=$value
	inside=/proc/$init/root/work
	key id
	id=$value
	bm exec u1 -- sh -c "setsid setsid perl -e '$hammer' </dev/null >/work/said 2>&1 &"
	did
	soon begun
	# Its fd stays, and what meets it does.
	bm revoke u1/2
	did
	: >"$inside/revoked"
	soon test -e "$inside/goes"
}

# The programs that are pinned now, by their ids.
programs() {
	py pins "$1"
}

stopped() {
	stop_daemon
	nsenter -t "$init" -n nft delete table inet benchmon
	nft delete table inet "benchmon_bm$id"
}

replaced_by() { # PROGRAM VERSION: with the Bench at work
	stopped
	BENCHMON_GATEKEEPERD=$1 bm ls
	did u1
	bm version
	did "$2"
}

# With none of the programs the same is let in everywhere: it can fail.
unenforced() {
	stopped
	rm -r /sys/fs/bpf/benchmon/{links,benches}
	soon test -e "$inside/open"
	: >"$inside/end"
	soon grep -q '^tried [1-9][0-9]* let-in [1-9][0-9]* [1-9][0-9]* [1-9][0-9]* ' "$inside/said"
	bm ls
	ended 125
	capture gatekeeperd --unload --force </dev/null
	same 0 "$code" 'the exit code of --unload --force'
	bm ls
	did 'no Benches'
}

case_replaced() {
	local inside init id value
	bench_up
	programs "$tmp/pins.1"
	replaced_by "$repo/build/other/bin/gatekeeperd" '-other'
	programs "$tmp/pins.2"
	py pins "$tmp/pins.1" "$tmp/pins.2"
	bm show u1
	did 'ready' '/in/src' "$server:8080"
	# A second start with the same changes nothing.
	replaced_by "$repo/build/other/bin/gatekeeperd" '-other'
	programs "$tmp/pins.3"
	same '' "$(diff "$tmp/pins.2" "$tmp/pins.3")"
	# And back: the older one is another build too.
	replaced_by "$bin/gatekeeperd" 'gatekeeperd'
	[[ $out != *-other* ]] || fail 'the other one answers'
	programs "$tmp/pins.4"
	py pins "$tmp/pins.2" "$tmp/pins.4"
	: >"$inside/stop"
	soon grep -q tried "$inside/said"
	slurp "$inside/said" out
	echo "took $out"
	[[ $out =~ ^'tried '([0-9]+)' let-in 0 0 0 lost 0'$ && ${BASH_REMATCH[1]} -gt 200 ]] ||
		fail 'it was let in, kept out, or did not try'
	unenforced
	rm "$tmp"/pins.?
}

case_tampered() {
	make_bench t1
	py tamper t1
	printf '%s\n' "$out" | sed 's/^/took /'
	bm destroy t1
	did
}

# What is missing is loaded anew, and the Benches that were of it are ended.
case_unloaded() {
	make_bench t1
	bm grant t1 net "$server:8080" --yes
	did
	stop_daemon
	rm "/sys/fs/bpf/benchmon/maps/known"
	bm ls
	refused 125 'maps/known is missing'
	capture gatekeeperd --unload --force </dev/null
	[[ $code -eq 0 ]] || fail 'not unloaded'
	bm ls
	did 'no Benches'
}
