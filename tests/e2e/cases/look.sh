# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# What is for looking at: ls, show, top, a diagram; and what run says when it has ended.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${server:?}"

# Names, colours, sizes of the terminal, a daemon that goes: of one that says what it is told to.
case_screens() {
	py look fake
}

case_top() {
	make_bench v1
	py look top v1 "$server"
	bm grant v1 net "$server:8080" --yes
	did granted
	bm exec v1 -- bash -c "cat </dev/tcp/$server/8080"
	did
	bm top --once
	did BENCH v1
	narrow
	bm top --format json
	key egress_bytes
	# A connection that was opened, answered and closed is some packets, of 40 bytes at least.
	[[ $value -ge 120 && $value -le 4000 ]] || fail "$value bytes left it"
	bm show v1
	did 'egress     '
	stop_daemon
	rm -f /var/log/benchmon/benchmon.prom
	bm ls
	did v1
	soon test -e /var/log/benchmon/benchmon.prom
	grep -qx "benchmon_egress_bytes_total{bench=\"v1\"} $value" /var/log/benchmon/benchmon.prom ||
		fail "$(<"/var/log/benchmon/benchmon.prom")"
	bm destroy v1
	did
	# The next one begins anew.
	make_bench v2
	bm top --format json
	did '"name":"v2"' '"egress_bytes":0'
	bm destroy v2
	did
	bm top --once
	did 'no Benches'
}

case_mermaid() {
	mkdir "$disk/drawn"
	make_bench d1
	bm grant d1 file "$disk/drawn:/in/drawn" --yes
	did granted
	bm grant d1 net "$server:8080" --yes
	did granted
	bm exec d1 -- bash -c "cat </dev/tcp/$server/8081"
	ended 1
	bm exec d1 -- touch '/in/drawn/"]x'
	ended 1
	bm show d1 --format mermaid
	did 'flowchart LR' 'bench(("d1<br>ready"))' "g1[\"d1/1 file ro<br>$disk/drawn\"]" \
		'bench -->|"/in/drawn"| g1' "g2{{\"d1/2 net<br>$server:8080" 'bench --> g2' \
		"[\"$server:8081/tcp\"]:::denied" 'bench -.->|"1 x connect4<br>not-sealed"|'
	bm ls --format mermaid
	refused 2 'mermaid'
	bm destroy d1
	did
	rmdir "$disk/drawn"
}

# Of a run: lines, each an object, for a program; and the same for who reads.
case_status() {
	local lines
	capture benchmon run --json-status-fd 9 -- \
		bash -c "for i in 1 2 3; do (cat </dev/tcp/$server/8081); done; ls /proc/self/fd; exit 7" \
		9>"$tmp/status" </dev/null
	ended 7
	[[ $err == *"benchmon: denied in "*"     3x connect4 $server:8081/tcp (not-sealed)
        allow with: benchmon run --net $server:8081"* ]] || fail 'not what was denied, and what would allow it'
	[[ $out != *9* ]] || fail 'the payload has it'
	mapfile -t lines <"$tmp/status"
	same 3 "${#lines[@]}" 'lines of status'
	[[ ${lines[0]} =~ ^\{\"status\":\"created\",\"bench\":\"(b[0-9]+)\"\}$ ]] || fail "${lines[0]}"
	same "{\"status\":\"started\",\"bench\":\"${BASH_REMATCH[1]}\"}" "${lines[1]}" 'the second'
	[[ ${lines[2]} == *'"exit":7,"denied":3,"lost":0,"denials":[{"count":3,"event":{'*'"status":"ended"'* &&
		${lines[2]} == *"\"hint\":\"benchmon grant ${BASH_REMATCH[1]} net $server:8081\""* ]] || fail "${lines[2]}"
	# What does not come to start says why.
	capture benchmon run --json-status-fd 9 --in /nowhere -- true 9>"$tmp/status" </dev/null
	ended 125
	mapfile -t lines <"$tmp/status"
	[[ ${#lines[@]} -eq 2 && ${lines[0]} == *'"created"'* && ${lines[1]} == *'"error":{'*'"status":"failed"'* ]] ||
		fail "${lines[*]}"
	bm run --json-status-fd 77 -- true
	refused 2 '--json-status-fd: 77 is no descriptor to write to'
	capture benchmon run --json-status-fd 9 -- true 9</dev/null </dev/null
	refused 2 '--json-status-fd: 9 is no descriptor to write to'
	bm run --json-status-fd x -- true
	refused 2 '--json-status-fd'
	# Nobody reads there any more: it goes on.
	exec 9> >(:)
	wait $!
	capture benchmon run --json-status-fd 9 -- echo done </dev/null
	exec 9>&-
	ended 0
	same done "$out" 'what it says'
	rm "$tmp/status"
}
