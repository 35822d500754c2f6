# shellcheck shell=bash disable=SC2034,SC2154
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
