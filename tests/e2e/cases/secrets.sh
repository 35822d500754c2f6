# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# Secrets: what is taken for one, and that no Bench ever has one and egress, whoever wrote what where.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${server:?}"

maps=/sys/fs/bpf/benchmon/maps

setup() {
	mkdir -p "$disk/p/sub"
	echo plain >"$disk/plain"
	echo token >"$disk/token"
	echo code >"$disk/p/main.c"
	echo A=1 >"$disk/p/.env"
	printf -- '-----BEGIN PRIVATE KEY-----\nAAAA\n' >"$disk/p/sub/server"
}

teardown() {
	rm -r "$disk"/{p,plain,token}
}

le() { # BYTES NUMBER: as bpftool takes it
	local i
	for ((i = 0; i < $1; i++)); do
		printf '0x%02x ' $(($2 >> 8 * i & 255))
	done
}

# By hand, past the daemon, into the table that decides about files.
put_grant() { # BENCH-ID OBJECT RIGHTS NUMBER
	# shellcheck disable=SC2046
	bpftool map update pinned $maps/grants key $(le 4 "$1") $(le 4 0) $(le 8 "$2") \
		value $(le 4 "$3") $(le 4 "$4") $(le 8 0)
}

put_destination() { # BENCH-ID PORT GRANT: of the server, TCP
	local IFS=. octets
	read -ra octets <<<"$server"
	IFS=' '
	# shellcheck disable=SC2046
	bpftool map update pinned $maps/destinations key $(le 4 "$1") \
		$(printf '0x%02x 0x%02x ' $(($2 >> 8)) $(($2 & 255))) 0x06 0x00 \
		$(le 10 0) 0xff 0xff "${octets[@]}" value $(le 4 "$3") $(le 4 0) $(le 8 0)
}

id_of() { # BENCH: into $id
	bm show "$1" --format json
	key id
	id=$value
}

object_of() { # BENCH: of its first file grant, into $object
	bm show "$1" --format json
	key object
	object=$value
}

rotated() {
	bm ledger rotate
	did
	rm /var/lib/benchmon/ledger-[0-9]*.jsonl
}

reads() { # BENCH PATH
	bm exec "$1" -- cat "$2"
}

connects() { # BENCH PORT
	bm exec "$1" -- bash -c "cat </dev/tcp/$server/$2"
}

denied_by() { # BENCH HOOK [COUNT]: it was, by never-both, so many times at least
	local count
	bm events --bench "$1" --format json
	count=$(grep -c "\"hook\":\"$2\",\"rule\":\"never-both\"" <<<"$out")
	((count >= ${3-1})) || fail "never-both of $2: $count events"
}

never_egress() { # BENCH
	bm grant "$1" net "$server:8080" --yes
	refused 125 "Bench $1 has, or had, a secret" 'for its life it never gets egress (rule: never-both)' \
		'make another Bench for it'
	bm grant "$1" listen 8000 --yes
	refused 125 'it never gets egress (rule: never-both)'
}

case_secret_first() {
	make_bench n1
	bm grant n1 file "$disk/token" --secret --yes
	did 'secret    yes: the Bench never gets egress, for its life' 'n1/1 granted'
	reads n1 /in/token
	did token
	never_egress n1
	printf -v last %s "$err"
	[[ $last == *'(n1/1)'* ]] || fail 'which grant it is'
	bm show n1
	did 'ever had   secret'
	bm revoke n1/1
	did 'n1/1 revoked'
	bm show n1 --format json
	did '"had":["secret"]'
	never_egress n1
	stop_daemon KILL
	never_egress n1
	bm ledger show --bench n1
	printed 'n1 ever secret'
	rotated
	stop_daemon
	never_egress n1
	bm destroy n1
	did
	make_bench n1
	bm show n1
	did 'ever had   none'
	bm grant n1 net "$server:8080" --yes
	did granted
	connects n1 8080
	did 'hello from 8080'
	bm destroy n1
	did
}

case_egress_first() {
	make_bench n2
	bm grant n2 net "$server:8080" --yes
	did granted
	bm grant n2 file "$disk/token" --secret --yes
	refused 125 'Bench n2 has, or had, egress (n2/1): for its life it never gets a secret (rule: never-both)'
	bm revoke n2/1
	did 'n2/1 revoked'
	stop_daemon KILL
	bm grant n2 file "$disk/token" --secret --yes
	refused 125 'Bench n2 has, or had, egress: for its life it never gets a secret (rule: never-both)'
	bm grant n2 file "$disk/plain" --yes
	did 'n2/2 granted'
	bm destroy n2
	did
}

# Both were shown before either was confirmed.
case_in_flight() {
	make_bench n3
	py secrets in_flight n3 "$disk/token" "$server:8080" secret
	bm destroy n3
	did
	make_bench n3
	py secrets in_flight n3 "$disk/token" "$server:8080" net
	bm destroy n3
	did
}

# A secret by hand where there is egress: an entry that the daemon never heard of, and one that it made.
case_hand_secret() {
	local id object
	make_bench n4
	bm grant n4 file "$disk/plain" --yes
	did granted
	bm grant n4 net "$server:8080" --yes
	did granted
	reads n4 /in/plain
	did plain
	id_of n4
	object_of n4
	put_grant "$id" "$object" $((1 | 8)) 1
	reads n4 /in/plain
	ended 1
	[[ $err == *'Permission denied'* ]] || fail 'not denied'
	denied_by n4 file_open
	connects n4 8080
	did 'hello from 8080'
	# The ledger has it as no secret: a restart takes it for foreign.
	stop_daemon
	bm show n4
	did 'state      ready'
	[[ $out != *'n4/1'* ]] || fail 'it stays'
	bm destroy n4
	did
}

# A destination by hand where there is a secret: at connect, and at the packet.
case_hand_egress() {
	local id
	make_bench n5
	bm grant n5 file "$disk/token" --secret --yes
	did granted
	reads n5 /in/token
	did token
	id_of n5
	put_destination "$id" 8080 9
	connects n5 8080
	ended 1
	[[ $err == *'Operation not permitted'* ]] || fail 'not denied'
	denied_by n5 connect4
	init_of n5
	nsenter -t "$value" -n ip link add e2edummy type dummy
	nsenter -t "$value" -n ip address add 203.0.113.1/24 dev e2edummy
	nsenter -t "$value" -n ip link set e2edummy up
	nsenter -t "$value" -n ip route add default dev e2edummy
	nsenter -t "$value" -n nft delete table inet benchmon
	rm "/sys/fs/bpf/benchmon/benches/$id/connect4"
	bm exec n5 -- timeout 3 bash -c "cat </dev/tcp/$server/8080"
	[[ $code -ne 0 ]] || fail 'it connected'
	denied_by n5 egress
	bm destroy n5
	did
}

# Nobody has claimed anything: whoever comes first gets it, and the other never does.
case_hand_both() {
	local id object word
	make_bench n6
	bm grant n6 file "$disk/plain" --yes
	did granted
	id_of n6
	object_of n6
	put_destination "$id" 8080 9
	put_grant "$id" "$object" $((1 | 8)) 1
	bm exec n6 -- bash -c '
		exec 2>/dev/null
		( : </in/plain && echo secret ) &
		( : </dev/tcp/'"$server"'/8080 && echo egress; [[ $? -eq 0 ]] ) &
		wait'
	word=$(bm_ever "$id")
	case $word in
	1) denied_by n6 connect4 ;;
	2) denied_by n6 file_open ;;
	*) fail "both, or neither: $word" ;;
	esac
	# And whoever writes that word has neither.
	bm_ever "$id" 3
	reads n6 /in/plain
	ended 1
	denied_by n6 file_open $((word == 2 ? 2 : 1))
	connects n6 8080
	ended 1
	denied_by n6 connect4 $((word == 1 ? 2 : 1))
	bm destroy n6
	did
}

# What stands in the kernel of what a Bench ever had: read, or written.
bm_ever() { # BENCH-ID [NUMBER]
	python secrets ever "$@"
	[[ $code -eq 0 ]] || fail 'no word'
	echo "$out"
}

case_recognized() {
	make_bench n7
	bm grant n7 file "$disk/p/.env" --yes
	refused 125 "$disk/p/.env looks like a secret: settings, usually with credentials (rule: secret)" \
		'grant it with --secret; the Bench then never gets egress'
	bm grant n7 file "$disk/p/sub/server" --yes
	refused 125 'looks like a secret: a private key (rule: secret)'
	bm grant n7 file "$disk/p" --yes
	refused 125 'in p there are 2 that look like a secret' \
		'--except .env (settings, usually with credentials)' \
		'--except sub/server (a private key)' '--except-secrets, or grant it with --secret'
	bm grant n7 file "$disk/p:/in/one" --except .env --yes
	refused 125 'there is 1 that looks like a secret: --except sub/server'
	# Left readable it is one all the same.
	bm grant n7 file "$disk/p:/in/one" --except .env:ro --except sub/server --yes
	refused 125 'there is 1 that looks like a secret: --except .env'
	bm grant n7 file "$disk/p:/in/one" --except .env --except sub/server --yes
	did granted
	bm revoke n7 --all
	did revoked
	bm grant n7 file "$disk/p" --except-secrets --yes
	did granted 'except' '.env' 'sub/server'
	reads n7 /in/p/main.c
	did code
	reads n7 /in/p/.env
	ended 1
	reads n7 /in/p/sub/server
	ended 1
	bm grant n7 net "$server:8080" --yes
	did granted
	bm destroy n7
	did
	bm run --in "$disk/p" --yes -- cat /in/p/main.c
	refused 125 'in p there are 2 that look like a secret'
	capture benchmon run --in "$disk/p" --except-secrets --yes -- cat /in/p/.env </dev/null
	ended 1
}

# Somebody holds the search up (fanotify answers when it likes): the others are served meanwhile.
case_searched() {
	mkdir -p "$disk/s"
	echo slow >"$disk/s/file"
	make_bench s1
	py secrets searched s1 "$disk/s"
	bm destroy s1
	did
	make_bench s1
	py secrets destroyed s1 "$disk/s"
	rm -r "$disk/s"
}

# What was asked for may be one too: who confirms it says so.
case_asked() {
	local id
	echo wish >"$disk/wish"
	make_bench a1
	bm request a1 file "$disk/wish"
	[[ $out =~ ^(a1/r[0-9]+)\ awaits\ an\ operator ]] || fail 'it awaits nobody'
	id=${BASH_REMATCH[1]}
	mkdir -p /etc/benchmon
	echo '{"name":"secrets","patterns":[{"path":"wish","why":"so it was said"}],"marks":[]}' \
		>/etc/benchmon/secrets.json
	bm confirm "$id" --yes
	refused 125 'looks like a secret: so it was said (rule: secret)' 'grant it with --secret'
	bm confirm "$id" --secret --yes
	did 'secret    yes: the Bench never gets egress, for its life' granted
	rm /etc/benchmon/secrets.json
	bm request a1 file "$disk/p"
	[[ $out =~ ^(a1/r[0-9]+)\ awaits\ an\ operator ]] || fail 'it awaits nobody'
	id=${BASH_REMATCH[1]}
	bm confirm "$id" --except-secrets --yes
	did 'except' '.env' granted
	bm destroy a1
	did
	for number in $(benchmon carrier ls --format json </dev/null | jq '.items[].carrier'); do
		bm carrier clear "$number"
		did cleared
	done
	rm "$disk/wish"
}

case_own_list() {
	make_bench n8
	mkdir -p /etc/benchmon
	echo '{"name":"secrets","patterns":[{"path":"plain","why":"so it was said"}],"marks":[]}' \
		>/etc/benchmon/secrets.json
	bm grant n8 file "$disk/plain" --yes
	refused 125 'looks like a secret: so it was said (rule: secret)'
	echo '{' >/etc/benchmon/secrets.json
	bm grant n8 file "$disk/plain" --yes
	[[ $code -eq 125 && $err == *secrets.json* ]] || fail 'a broken list grants'
	rm /etc/benchmon/secrets.json
	bm grant n8 file "$disk/plain" --yes
	did granted
	bm destroy n8
	did
}

may_carry() { # BENCH PATH: it is refused as a carrier
	bm grant "$1" file "$2" --yes
	refused 125 "$2 may carry a secret: it was, or lies in, what " '(rule: no-relay)' \
		'grant it with --secret, or `benchmon carrier clear '
}

# What a Bench with a secret could write, is one for any other: itself, in it, above it, by another name.
case_relay() {
	mkdir -p "$disk/r/share/sub" "$disk/r/again"
	echo x >"$disk/r/file"
	ln "$disk/r/file" "$disk/r/link"
	mount --bind "$disk/r/share" "$disk/r/again"
	make_bench r1
	make_bench r2
	bm carrier ls
	did
	bm grant r1 file "$disk/token" --secret --yes
	did granted
	bm grant r1 file "$disk/r/share:rw" --yes
	did granted
	bm grant r1 file "$disk/r/file:rw" --yes
	did granted
	may_carry r2 "$disk/r/share"
	may_carry r2 "$disk/r/share/sub"
	may_carry r2 "$disk/r/file"
	may_carry r2 "$disk/r/link"
	may_carry r2 "$disk/r/again"
	umount "$disk/r/again"
	bm grant r2 file "$disk/r" --yes
	refused 125 'that look like a secret' '--except share (a carrier: see `benchmon carrier ls`)' \
		'--except link (a carrier'
	bm grant r1 file "$disk/r/file:/in/file" --yes
	refused 125 'grants this object already'
	bm destroy r1
	did
	may_carry r2 "$disk/r/share"
	stop_daemon KILL
	may_carry r2 "$disk/r/share/sub"
	rotated
	stop_daemon
	may_carry r2 "$disk/r/link"
	# As a secret it is granted, and then there is no egress.
	bm grant r2 file "$disk/r/share" --secret --yes
	did granted
	bm grant r2 net "$server:8080" --yes
	refused 125 'it never gets egress (rule: never-both)'
	bm carrier ls --format json
	did "\"source\":\"$disk/r/share\""
	number=$(jq ".items[] | select(.source == \"$disk/r/share\") | .carrier" "$tmp/out")
	bm carrier clear "$number"
	refused 125 "carrier $number is granted to Bench r2, which has, or had, a secret (rule: no-relay)" \
		'revoke r2/1 first'
	bm destroy r2
	did
	bm carrier clear "$number"
	did "carrier $number cleared: $disk/r/share"
	bm ledger show
	printed "carrier-clear carrier $number"
	make_bench r2
	bm grant r2 file "$disk/r/share" --yes
	did granted
	may_carry r2 "$disk/r/file"
	bm destroy r2
	did
	bm carrier ls --format json
	highest=$(jq '[.items[].carrier] | max' "$tmp/out")
	bm carrier clear "$highest"
	did cleared
	# A number is never another's, also where the ledger no longer tells of it.
	rotated
	stop_daemon
	make_bench r3
	bm grant r3 file "$disk/token" --secret --yes
	did granted
	bm grant r3 file "$disk/r/again:rw" --yes
	did granted
	bm carrier ls --format json
	(($(jq '[.items[].carrier] | max' "$tmp/out") > highest)) || fail 'a number is used again'
	bm destroy r3
	did
	rm -r "$disk/r"
}

# Others hold it already: with egress it is refused, without they never get any.
case_relay_live() {
	mkdir -p "$disk/l/sub"
	make_bench l1
	make_bench l2
	bm grant l1 file "$disk/l:rw" --yes
	did granted
	bm grant l2 file "$disk/l/sub" --yes
	did granted
	bm grant l2 net "$server:8080" --yes
	did granted
	bm grant l1 file "$disk/token" --secret --yes
	ended 125
	[[ $err == *"$disk/l, which Bench l1 could write a secret to, can be read by Bench l2 (l2/1)"* ]] ||
		fail 'not as a relay'
	reads l1 /in/token
	ended 1
	bm destroy l2
	did
	make_bench l2
	bm grant l2 file "$disk/l/sub" --yes
	did granted
	bm grant l1 file "$disk/token" --secret --yes
	did granted
	bm grant l2 net "$server:8080" --yes
	refused 125 'Bench l2 has, or had, a secret: for its life it never gets egress (rule: never-both)'
	id_of l2
	put_destination "$id" 8080 9
	connects l2 8080
	ended 1
	denied_by l2 connect4
	bm destroy l2
	did
	bm destroy l1
	did
	rm -r "$disk/l"
}
