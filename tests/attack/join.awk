# The verdicts on the walls of one or more kernels, as one table: attack, shape, and for each kernel
# what came of it. awk -f join.awk kernel=6.1 LOG kernel=6.12 LOG
# Its last line is a summary. What one kernel has and another has not is said, and counts as failed.
{ sub(/\r$/, "") }
FNR == 1 && !(kernel in known) { known[kernel] = ++kernels; name[kernels] = kernel }
$1 == "ok" && $2 == "walls" { verdict($3, rest()) }
$1 == "FAILED" && $2 == "walls" { failed[$3] = 1; put($3, "-", "FAILED: " rest()) }

function rest(    line) {
	line = $0
	sub(/^[^ ]+ +[^ ]+ +[^ ]+ +/, "", line)
	return line
}

# "attack@6.12" is one for kernels from that on.
function newer(attack, kernel,    want, have) {
	if (split(attack, want, "@") < 2)
		return 0
	split(want[2], want, ".")
	split(kernel, have, ".")
	return have[1] + 0 < want[1] + 0 || (have[1] == want[1] && have[2] + 0 < want[2] + 0)
}

# One part for each shape, split by "; ".
function verdict(attack, text,    parts, count, i, shape) {
	count = split(text, parts, /; /)
	for (i = 1; i <= count; i++) {
		if (!match(parts[i], /^(rootless|rootful|privileged) /))
			continue
		shape = substr(parts[i], 1, RLENGTH - 1)
		parts[i] = substr(parts[i], RLENGTH + 1)
		sub(/ -$/, "", parts[i])
		put(attack, shape, parts[i])
	}
}

function put(attack, shape, text,    row) {
	row = attack "|" shape
	if (!(row in seen)) {
		seen[row] = 1
		order[++rows] = row
	}
	cell[row, kernel] = text
}

function count_cell(text) {
	if (text == "" || text ~ /^FAILED/)
		bad++
	else if (text == "allowed")
		allowed++
	else if (text ~ /by the kernel itself$/)
		own++
	else
		recorded++
}

END {
	printf "%-20s %-10s", "attack", "shape"
	for (k = 1; k <= kernels; k++)
		printf " %-40s", name[k]
	print ""
	for (i = 1; i <= rows; i++) {
		split(order[i], part, "|")
		printf "%-20s %-10s", part[1], part[2]
		for (k = 1; k <= kernels; k++) {
			text = cell[order[i], name[k]]
			if (text == "" && (newer(part[1], name[k]) || (part[2] != "-" && part[1] in failed)))
				text = "-"
			else
				count_cell(text)
			printf " %-40s", text == "" ? "did not run" : text
		}
		print ""
	}
	printf "walls on %d kernels: %d denied and recorded, %d refused by the kernel itself, " \
		"%d allowed as they must be, %d failed\n", kernels, recorded, own, allowed, bad
	exit bad > 0 || recorded == 0
}
