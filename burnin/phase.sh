# Runs the probes of a phase on the node, in one command: POSIX sh (dash, busybox
# ash), needs /proc. Every probe is bounded in time and in what it prints, and is told
# as soon as it ended:
#
#   #rackproof-phase BOOT-ID CLOCK UPTIME
#   begin NAME UPTIME
#   end NAME STATUS BEGAN ENDED OUT ERR    and behind it OUT + ERR bytes, raw, and a newline
#   done
#
# STATUS is the exit status, timeout, or cut where it printed more than LIMIT bytes.
# Lengths come first, so a probe may print whatever it likes. Uptime is the clock: it
# does not jump.
#
# arguments, on stdin where they are too long: WORKERS LIMIT BOOT-ID, then for each
# probe NAME LANE SECONDS AFTER-HANG COMMAND. Nothing runs in another boot. Those of one
# lane stand together and run one after the other; once one has hung, the next get
# AFTER-HANG seconds each.
[ $# -gt 0 ] || eval "set -- $(cat)"
set -uC
umask 077
workers=$1 limit=$2 expected=$3
shift 3

read -r boot </proc/sys/kernel/random/boot_id || boot=-
read -r up _ </proc/uptime
echo "#rackproof-phase $boot $(date -u +%Y-%m-%dT%H:%M:%SZ) $up"
[ "${boot#-}" = "$expected" ] || exit 0

# guarded DIR: a phase that was killed has its guards for some seconds more, and what
# they have to end stands in its folder.
guarded() {
	for old_guard in "$1"/guard.*; do
		{ read -r pid <"$old_guard"; } 2>/dev/null && [ -d "/proc/$pid" ] && return
	done
	return 1
}

# What probes print is kept in memory where that can be: no disk that is measured is
# written. What a phase left behind that was killed goes first.
dir=
for root in /dev/shm /run /tmp /var/tmp; do
	for old in "$root"/rackproof-phase.*; do
		if [ -O "$old" ] && [ ! -d "/proc/${old##*.}" ] && ! guarded "$old"; then rm -rf "$old"; fi
	done
	dir=$root/rackproof-phase.$$
	{ mkdir "$dir" && echo >"$dir/try"; } 2>/dev/null && break
	dir=
done
[ -n "$dir" ] || {
	echo "no folder can be written: /dev/shm, /run, /tmp and /var/tmp are full or read-only" >&2
	exit 1
}
trap 'rm -rf "$dir"' EXIT
trap 'exit 143' HUP INT TERM PIPE

# A file that reaches the limit ends who writes it. The unit is 512 bytes, in some shells 1024.
blocks=$((limit / 512 + 1))
# shellcheck disable=SC3045 # -f is in every sh there is
(ulimit -f $blocks) 2>/dev/null && ulimit -f $blocks

alone= # a session of its own, so that a probe can be ended with all that it started
command -v setsid >/dev/null 2>&1 && alone=setsid

# end_group PID: does not wait, for what hangs in the kernel ends when that lets it.
end_group() { { kill -s KILL -- "-$1" || kill -s KILL "$1"; } 2>/dev/null; }

# The guard of a worker ($1) wakes it when the time of its probe ("$2/now.$1": pid and
# uptime) is over, and ends that probe when the worker is gone. It is no child of what
# it guards, for who ends the phase ends that with all its children. It says who it is
# once nothing ends it with them, and the worker waits for that.
guard='
echo $$
exec >/dev/null
while sleep 1; do
	{ read -r pid until <"$2/now.$1" && read -r up _ </proc/uptime; } 2>/dev/null || pid=
	if ! kill -s 0 "$1" 2>/dev/null; then
		for _ in 1 2 3 4 5; do # a probe may just begin
			{ read -r pid until <"$2/now.$1" && kill -s KILL -- "-$pid"; } 2>/dev/null
			sleep 1
		done
		exit
	fi
	[ -z "$pid" ] || [ "${up%.*}" -lt "$until" ] || kill -s USR1 "$1"
done'

# A probe says itself who it is before it begins, so that none runs of which the guard
# does not know. Its words are UNTIL FILE COMMAND.
own='echo "$$ $1" >|"$2"; exec /bin/sh -c "$3"'

# run NAME SECONDS COMMAND
run() {
	read -r from _ </proc/uptime
	echo "begin $1 $from"
	late= until=$((${from%.*} + $2 + 1))
	$alone /bin/sh -c "$own" rackproof "$until" "$dir/now.$me" "$3" </dev/null >"$dir/$1.out" 2>"$dir/$1.err" &
	pid=$!
	while :; do
		wait $pid
		status=$?
		[ -n "$late" ] || break
		read -r up _ </proc/uptime
		if [ "${up%.*}" -ge $until ]; then
			status=timeout hung=1
			end_group $pid
			break
		fi
		late= # it came for the one before
		[ $status -gt 128 ] || break
	done
	: >|"$dir/now.$me"
	read -r to _ </proc/uptime
	echo "end $1 $status $from $to"
}

# work NAME LANE SECONDS AFTER-HANG COMMAND …: runs the lanes that no other worker has
# taken.
work() {
	read -r me _ </proc/self/stat
	trap late=1 USR1
	: >"$dir/now.$me"
	guarding=$($alone /bin/sh -c "$guard" rackproof "$me" "$dir" </dev/null 2>/dev/null &)
	echo "$guarding" >"$dir/guard.$me"
	lane='' mine='' hung=
	while [ $# -gt 0 ]; do
		if [ "$2" != "$lane" ]; then
			lane=$2 hung='' mine=
			{ true >"$dir/lane.$lane"; } 2>/dev/null && mine=1
		fi
		seconds=$3
		[ -z "$hung" ] || seconds=$4
		[ -z "$mine" ] || run "$1" "$seconds" "$5"
		shift 5
	done
	end_group $guarding
}

# tell NAME STATUS BEGAN ENDED: lengths are read once, for what hangs may go on writing.
tell() {
	wc -c "$dir/$1.out" "$dir/$1.err" | {
		read -r out _ && read -r err _
		status=$2
		if [ "$out" -gt "$limit" ] || [ "$err" -gt "$limit" ]; then status=cut; fi
		[ "$out" -le "$limit" ] || out=$limit
		[ "$err" -le "$limit" ] || err=$limit
		echo "end $1 $status $3 $4 $out $err"
		[ "$out" -eq 0 ] || head -c "$out" "$dir/$1.out"
		[ "$err" -eq 0 ] || head -c "$err" "$dir/$1.err"
		echo
	}
	: >|"$dir/$1.out" >|"$dir/$1.err"
}

{
	while [ "$workers" -gt 0 ]; do
		work "$@" &
		workers=$((workers - 1))
	done
	wait
} | while read -r what name rest; do
	case $what in
	# shellcheck disable=SC2086 # three words
	end) tell "$name" $rest ;;
	*) echo "$what $name $rest" ;;
	esac
done
echo "done"
