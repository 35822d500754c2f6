# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# Where the calls of a broker end: at its limits, at what is not taken, at who is not its upstream, and
# with its credential.
: "${e2e:?}" "${repo:?}" "${tmp:?}" "${server:?}"

# shellcheck source=tests/e2e/upstream.sh
. "$e2e/upstream.sh"

megabytes=$((${E2E_FULL:-0} ? 64 : 4))

undefine() { # NAME...
	local name
	for name; do
		rm "/etc/benchmon/brokers/$name.json" "/etc/benchmon/credentials/$name"
	done
}

recorded() { # WORDS
	grep -qF "$1" /var/log/benchmon/gatekeeperd.log
}

# With sockets that hold little, so that it does not take more to fill them.
case_pressure() {
	local small='cd /proc/sys/net/ipv4; echo 4096 32768 65536 | tee tcp_rmem >tcp_wmem'
	init_of u1
	nsenter -t "$value" -n sh -c "$small"
	ip netns exec e2e-world sh -c "$small"
	inside u1 pressure "$megabytes"
	did
	same $'waited\nsame\nwaited\nsame' "$out"
	events u1 "CALL POST /v1/taken 200 of model, $((megabytes << 20)) out" \
		"CALL GET /v1/source 200 of model, 0 out, $((megabytes << 20)) back"
}

# Who can't prove to be the upstream is not asked.
case_certificates() {
	local name before
	define_broker other 444 '{}'
	define_broker stranger 445 '{}'
	define_broker expired 446 '{}'
	make_bench e1 --rootfs "$tmp/mnt"
	for name in other stranger expired; do
		bm grant e1 broker "$name" --yes
		did granted
	done
	before=$(wc -l <"$up/asked")
	bm exec e1 -- timeout 120 bash -c 'for name in other stranger expired; do
		curl -sS --max-time 60 -w "%{http_code}\n" "http://$name.broker/v1/plain"; done'
	did
	same 3 "$(grep -c '}502$' <<<"$out")" 'how many were refused'
	same 3 "$(grep -o '"rule":"broker-upstream"' <<<"$out" | wc -l)" 'how many say why'
	same "$before" "$(wc -l <"$up/asked")" 'what was asked there'
	events e1 'e1/1  CALL GET /v1/plain 502 of other' '502 of stranger' '502 of expired'
	bm broker verify expired
	[[ $code -eq 125 && $err == *'TLS with model.test'* ]] || fail 'an old certificate is verified'
	bm destroy e1
	did
	undefine other stranger expired
}

# Each by a broker of its own; what is over them is refused, and nothing else ends.
case_limits() {
	define_broker few 443 '{"requests":2}'
	define_broker rate 443 '{"rate":2}'
	define_broker bytes 443 '{"bytes":1000}'
	define_broker slow 443 '{"concurrent":1,"seconds":3}'
	make_bench e1 --rootfs "$tmp/mnt"
	local name
	for name in few rate bytes slow; do
		bm grant e1 broker "$name" --yes
		did granted
	done
	bm exec e1 -- timeout 120 bash -c '
		curl="curl -sS --max-time 60" code="-o /dev/null -w %{http_code}_"
		for name in few rate; do
			for i in 1 2 3; do $curl $code "http://$name.broker/v1/plain"; done; echo "$name"
		done
		$curl -D - "http://rate.broker/v1/plain" | tr -d "\r" | grep -i "^retry-after"
		for i in 1 2 3; do $curl $code -d "$(printf %400s)" "http://bytes.broker/v1/plain"; done; echo bytes
		exec {first}< <($curl -N http://slow.broker/v1/endless)
		read -r line <&$first; echo "$line"; $curl $code http://slow.broker/v1/plain; cat <&$first >/dev/null
		$curl -w "_%{http_code}\n" http://slow.broker/v1/hang'
	[[ $out == *$'200_200_429_few\n200_200_429_rate\n'[Rr]'etry-'[Aa]'fter: '[1-9]*$'\n200_429_429_bytes\ndata: more\n429_'* ]] ||
		fail 'not the limits'
	[[ $out == *'"rule":"broker-time"'*_504 ]] || fail 'not the time'
	events e1 'e1/1  CALL GET /v1/plain 429 of few' '429 of rate' '429 of bytes' '429 of slow' \
		'CALL GET /v1/endless 200 of slow' 'CALL GET /v1/hang 504 of slow' '(refused: broker-limit)' '(cut: broker-time)'
	bm destroy e1
	did
	undefine few rate bytes slow
	# What still hangs there is let go.
	bm exec u1 -- curl -sS -d '' "http://model.broker/v1/go"
	did
}

# What is in the file counts from the next start on.
case_changed() {
	local broker before
	one_broker model
	bm exec e1 -- curl -sS http://model.broker/v1/plain
	did plain
	echo sk-e2e-another-0123456789 >/etc/benchmon/credentials/model
	bm exec e1 -- curl -sS http://model.broker/v1/plain
	did plain
	same 0 "$(asked_by 'Bearer sk-e2e-another-0123456789')" 'calls with the new one'
	kill -KILL "$broker"
	soon gone "$broker"
	soon runs
	bm exec e1 -- curl -sS http://model.broker/v1/plain
	did plain
	same 1 "$(asked_by 'Bearer sk-e2e-another-0123456789')" 'calls with the new one'
	# One that others could read is none.
	chmod 644 /etc/benchmon/credentials/model
	newest
	kill -KILL "$broker"
	soon recorded 'has mode 0644, not 0600'
	bm exec e1 -- timeout 20 curl -sS -m 1 http://model.broker/v1/plain
	[[ $code -ne 0 ]] || fail 'it goes on without one'
	bm destroy e1
	did
	define_broker model 443 '{"rate":6000,"concurrent":8,"seconds":300}'
}
