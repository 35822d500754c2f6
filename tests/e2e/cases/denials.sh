# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# The record is complete: each denial is told, or counted as suppressed, exactly (I8).
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${server:?}"

quiet=(q1 q2)
[[ -z ${E2E_FULL-} ]] || quiet=(q1 q2 q3 q4 q5 q6 q7 q8 q9 q10)

flooder() { # BENCH
	make_bench "$1"
	init_of "$1"
	cp "$repo/build/e2e/flood" "/proc/$value/root/work/flood"
}

case_flood() {
	local bench
	for bench in f1 "${quiet[@]}"; do
		flooder "$bench"
	done
	py denials flood "${E2E_FULL:+10}${E2E_FULL:-2}0000" "$server" "${quiet[@]}"
	echo "$out"
	for bench in f1 "${quiet[@]}"; do
		bm destroy "$bench"
		did
	done
}

# While nobody reads them, the events of others leave room for one more's.
case_full() {
	local bench
	for bench in q1 f1 f2 f3; do
		flooder "$bench"
	done
	py denials full "$server" q1 f1 f2 f3
	echo "$out"
	for bench in q1 f1 f2 f3; do
		bm destroy "$bench"
		did
	done
}

case_resumes() {
	flooder r1
	py denials resume "${E2E_FULL:+20}6000" "$server"
	echo "$out"
	bm destroy r1
	did
}

first_uses() { # GRANT: into $count, how many its stream tells of
	bm events --bench u1 --since 0 --format json
	did
	count=$(grep -c "\"type\":\"first-use\",\"grant\":\"$1\"" <<<"$out") || :
}

used() { # GRANT WORDS...: one of it is told of, and it has the words
	first_uses "$1"
	same 1 "$count" "first uses of $1"
	out=$(grep "\"type\":\"first-use\",\"grant\":\"$1\"" <<<"$out")
	shift
	printed "$@"
}

unused() { # GRANT
	first_uses "$1"
	same 0 "$count" "first uses of $1"
}

listens='my $s = IO::Socket::INET->new(Listen => 8, LocalPort => 8080) or die "$!\n";
open(my $f, ">", "/work/listens"); close $f;
while (my $c = $s->accept) { print $c "heard\n"; close $c }'

# Asked for, the first use of each grant is an event like others: once, numbered, whatever is made of it.
case_first_uses() {
	mkdir -p "$disk"/used/{read,made,link,hidden}
	echo hello | tee "$disk"/used/{read,made,hidden}/file >/dev/null
	make_bench u1 --first-uses
	bm show u1
	did 'events     the first use of each grant'
	for dest in read made link; do
		bm grant u1 file "$disk/used/$dest:/in/$dest:rw" --yes
		did granted
	done
	bm grant u1 net "$server:8080" --yes
	did granted
	bm grant u1 listen 8080 --yes
	did granted
	[[ $out =~ 'reached at '([0-9.]+)':8080' ]] || fail 'it does not say where'
	at=${BASH_REMATCH[1]}
	bm exec u1 -- sh -c 'setsid perl -MIO::Socket::INET -e "$0" </dev/null >/dev/null 2>&1 &
		until [ -e /work/listens ]; do :; done' "$listens"
	did
	# To look what is there is no use of it.
	bm exec u1 -- stat /in/read/file
	did
	for id in 1 2 3 4 5; do
		unused "u1/$id"
	done
	for _ in 1 2; do
		bm exec u1 -- cat /in/read/file
		did hello
		bm exec u1 -- sh -c 'mkdir /in/made/dir && rmdir /in/made/dir && exec 3</in/link'
		did
		bm exec u1 -- bash -c "cat </dev/tcp/$server/8080"
		capture timeout 60 bash -c "cat </dev/tcp/$at/8080"
		same heard "$out" 'what listens'
	done
	used u1/1 '"verdict":"allow","hook":"file_open","rule":"none"' '"comm":"cat"' '"wanted":"r"' \
		'"inside":"/in/read' "\"host\":\"$disk/used" '"grant":"u1/1"'
	used u1/2 '"hook":"mkdir"' '"wanted":"w"'
	used u1/3 '"hook":"file_open"'
	used u1/4 '"hook":"connect4"' "\"destination\":\"$server:8080/tcp\"" '"comm":"bash"'
	used u1/5 '"hook":"ingress"' '"destination":"'
	bm events --bench u1 --since 0
	did "ALLOW connect4 $server:8080/tcp" ': the first use of u1/4'
	bm events --bench u1 --since 0 --format ocsf
	did '"class_uid":4001' '"action_id":1' '"type":"first-use","grant":"u1/4"'
	py denials exact u1
	# Another grant is used anew, and so it is of what was granted before; a new daemon knows what was told.
	bm revoke u1/1
	did
	bm grant u1 file "$disk/used/read:/in/again" --yes
	did granted
	stop_daemon
	bm exec u1 -- cat /in/again/file /in/made/file
	did hello
	used u1/6 '"hook":"file_open"'
	used u1/1
	used u1/2
	py denials exact u1
	# Nobody else asked.
	make_bench u2
	bm grant u2 file "$disk/used/read:/in/used" --yes
	did granted
	bm exec u2 -- cat /in/used/file
	did hello
	bm events --bench u2 --since 0 --format json
	did
	[[ $out != *first-use* ]] || fail 'it was not asked for'
	bm destroy u2
	did
	# A flood of denials does not hide it: what found no room is told of at the next use.
	init_of u1
	cp "$repo/build/e2e/flood" "/proc/$value/root/work/flood"
	bm grant u1 file "$disk/used/hidden:/in/hidden" --yes
	did granted
	bm exec u1 -- sh -c "/work/flood 6000 0 $server 8081 && cat /in/hidden/file; for i in 1 2 3 4 5 6; do
		sleep 1; cat /in/hidden/file; done"
	did 'refused: 6000' hello
	used u1/7 '"hook":"file_open"'
	py denials exact u1
	bm destroy u1
	did
	rm -r "$disk/used"
}

# Whatever was told in this topic is as the schema says.
case_schema() {
	py schema /var/log/benchmon/events.jsonl "$repo/userspace/audit/event.schema.json"
	[[ $(</var/log/benchmon/events.jsonl) == *'"type":"suppressed"'*'"verdict":"deny"'* ]] ||
		fail 'it has nothing in it'
}

# Whoever moves the file away has what was in it; what is not stored any more is said to be missing.
case_stored() {
	local log=/var/log/benchmon/events.jsonl newest
	make_bench s1
	bm exec s1 -- bash -c "cat </dev/tcp/$server/8081"
	ended 1
	bm events --bench s1 --since 0
	did "DENY connect4 $server:8081/tcp"
	stop_daemon KILL
	bm events --bench s1 --since 0 --format json
	did "\"destination\":\"$server:8081/tcp\""
	key_of_last seq
	newest=$value
	bm events --bench s1 --since "$newest"
	did
	same '' "$out" 'what is behind the last'
	mv "$log" "$tmp/old"
	daemon_pid
	kill -HUP "$daemon"
	soon test -e "$log"
	[[ $(head -n 1 "$log") == *'"type":"begin"'* ]] || fail 'a file does not say what was before it'
	bm exec s1 -- true
	did
	stop_daemon KILL
	bm events --bench s1 --since 0 --format json
	did "\"type\":\"lost\",\"bench\":\"s1\",\"count\":$newest}" "\"seq\":$((newest + 1)),"
	py jsonlines "$log"
	bm destroy s1
	did
	rm "$tmp/old"
}

key_of_last() { # KEY
	out=${out##*$'\n'}
	key "$1"
}

# Whose doing it was, as the host and the Bench see it; and the same for those who collect events.
case_told() {
	local metrics=/var/log/benchmon/benchmon.prom
	make_bench t1
	bm exec t1 -- bash -c "cat </dev/tcp/$server/8081"
	ended 1
	bm events --bench t1 --since 0 --format json
	did '"comm":"bash"'
	[[ $out =~ '"comm":"bash","inside":'[1-9][0-9]*',"exe":"/'[a-z/]*'bash","parent":{"pid":'[1-9] ]] ||
		fail 'not whose doing it was'
	bm events --bench t1 --since 0 --format ocsf
	did '"category_uid":4,"class_uid":4001,"activity_id":1,"type_uid":400101,' \
		"\"ip\":\"$server\",\"port\":8081" '"status_code":"EPERM"'
	bm events --bench t1 --since 0 --format compact
	did "DENY connect4 $server:8081/tcp by bash["
	# A start writes them at once.
	stop_daemon
	rm -f "$metrics"
	bm ls
	did t1
	soon test -e "$metrics"
	same 600 "$(stat -c %a "$metrics")" 'its mode'
	grep -qE '^benchmon_denials_total\{bench="t1",hook="connect4"\} [1-9]' "$metrics" || fail "$(<"$metrics")"
	grep -qx 'benchmon_benches{state="ready"} 1' "$metrics" || fail "$(<"$metrics")"
	grep -qx 'benchmon_events_suppressed_total{bench="t1"} 0' "$metrics" || fail "$(<"$metrics")"
	mkdir "$disk/told"
	echo hello >"$disk/told/hidden"
	bm grant t1 file "$disk/told:/in/told" --except hidden --yes
	did granted
	bm exec t1 -- cat /in/told/hidden
	ended 1
	bm events --bench t1 --since 0 --format json
	printed '"rule":"excepted"' '"inside":"/in/told/hidden"' "\"host\":\"$disk/told/hidden\""
	bm destroy t1
	did
	rm -r "$disk/told"
}
