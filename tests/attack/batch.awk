# The lines of the table that have something to do at `stage`, as `payload batch` wants them.
BEGIN { FS = "[ \t]*\\|[ \t]*" }
/^[ \t]*(#|$)/ || $1 != group || newer($2) { next }
{ emit("d", $3); emit("c", $6 ~ / =$/ ? control_of($6, $3) : $6) }

function control_of(control, probe) {
	sub(/^[^ ]+/, "", probe)
	sub(/ =$/, "", control)
	return control probe
}

# walled and rooted stand for several stages.
function here(name) {
	return name == stage || (name == "walled" && stage ~ /^(rootless|rootful|privileged)$/) ||
		(name == "rooted" && stage ~ /^(rootful|privileged)$/)
}

function emit(kind, what,    name, first) {
	gsub(/ +/, " ", what)
	first = what
	sub(/ .*/, "", first)
	if (!here(first))
		return
	while (match(what, /@[A-Z0-9]+@/)) {
		name = substr(what, RSTART + 1, RLENGTH - 2)
		if (!(name in ENVIRON)) {
			print "attack: the table needs @" name "@" > "/dev/stderr"
			exit 1
		}
		what = substr(what, 1, RSTART - 1) ENVIRON[name] substr(what, RSTART + RLENGTH)
	}
	sub(/ +$/, "", what)
	print kind NR (first == stage ? "" : stage) substr(what, length(first) + 1)
}

# CASE@VERSION: the kernel has it since then.
function newer(name,    want, have) {
	if (split(name, want, "@") < 2)
		return 0
	split(want[2], want, ".")
	split(ENVIRON["KERNEL"], have, ".")
	return have[1] + 0 < want[1] + 0 || (have[1] == want[1] && have[2] + 0 < want[2] + 0)
}
