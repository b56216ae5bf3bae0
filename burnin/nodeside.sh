# rackproof's half on the node: POSIX sh, needs /proc, awk and setsid. It keeps long
# commands ("units") running when the connection is lost, and ends them when
# nobody has asked for a while. Everything is in one folder, removed at the end:
#
#   lock                 who works here; hard-linked to ../lock, one per node
#   side.sh              this file
#   beat until deadman   uptime of the last poll, of the end; seconds of patience
#   ended                why the units were ended: stop, dead-man, over; done when
#                        they had run their time
#   units/NAME/          cmd kind pid started exit out err
#   samples/PROBE        "<time> <length>\n<raw>\n" …
#
# usage: sh side.sh VERB ARG…   Uptime is the clock: it does not jump.
set -u
umask 077

uptime() { read -r up _ </proc/uptime && echo "${up%.*}"; }

# start_of PID: when the process started, in ticks since boot; nothing when it is
# gone. PID and start together name a process for ever.
start_of() {
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	# shellcheck disable=SC2086 # fields behind the name, which may hold anything
	set -- ${stat##*) }
	[ "$1" != Z ] && [ "$1" != X ] && echo "${20}"
}

# lead UNIT: the pid of its session leader, if that lives.
lead() {
	{ read -r pid start <"$1/pid"; } 2>/dev/null || return 1
	[ "$(start_of "$pid")" = "$start" ] && echo "$pid"
}

# members DIR: every live process of the sessions that units lead, whatever groups
# they made. A number that now belongs to a stranger is left out; as long as a
# member lives, the kernel gives the number of its session to nobody else.
members() {
	sids=' '
	for u in "$1"/units/*/; do
		{ read -r sid start <"${u}pid"; } 2>/dev/null || continue
		now=$(start_of "$sid")
		if [ -z "$now" ] || [ "$now" = "$start" ]; then sids="$sids$sid "; fi
	done
	[ "$sids" = ' ' ] && return 0
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v sids="$sids" '
		{ pid = $1; sub(/^.*\) /, "") }
		pid ~ /^[0-9]+$/ && $1 != "Z" && index(sids, " " $4 " ") { print pid }'
}

# signal DIR SIGNAL: to all members; fails when there are none.
signal() {
	pids=$(members "$1")
	[ -n "$pids" ] || return 1
	# shellcheck disable=SC2086
	kill "-$2" $pids 2>/dev/null
	return 0
}

# end_units DIR: asks, then kills; takes about two seconds and does not wait for
# what hangs in the kernel: then it fails.
end_units() {
	signal "$1" TERM || return 0
	sleep 1
	signal "$1" KILL || return 0
	sleep 0.3 2>/dev/null || sleep 1
	! signal "$1" 0
}

root_folder() {
	if [ -n "$1" ]; then
		echo "$1"
	elif [ "$(id -u)" = 0 ]; then
		echo /run/rackproof
	elif [ -n "${XDG_RUNTIME_DIR:-}" ] && [ -d "$XDG_RUNTIME_DIR" ]; then
		echo "$XDG_RUNTIME_DIR/rackproof"
	else
		echo "/tmp/rackproof-$(id -u)"
	fi
}

# silent DIR: seconds since the last poll.
silent() {
	beat=$(cat "$1/beat" 2>/dev/null) || beat=
	[ -n "$beat" ] && echo $(($(uptime) - beat)) || echo 999999
}

# holder ROOT: prints the lock, how long its owner is silent, and whether a unit
# still runs.
holder() {
	cat "$1/lock" 2>/dev/null
	key=$(sed -n 's/^key //p' "$1/lock" 2>/dev/null)
	echo "silent $(silent "$1/$key")"
	echo "patience $(cat "$1/$key/deadman" 2>/dev/null || echo 0)"
	signal "$1/$key" 0 && echo "busy yes"
	return 0
}

remove() { # ROOT KEY
	if [ -d "$1/$2" ] && [ ! -e "$1/$2/ended" ]; then echo stop >"$1/$2/ended"; fi
	end_units "$1/$2"
	if [ ! -d "$1/$2" ] || cmp -s "$1/$2/lock" "$1/lock"; then rm -f "$1/lock"; fi
	rm -rf "${1:?}/${2:?}"
	rmdir "$1" 2>/dev/null
	return 0
}

# acquire ROOT KEY OWNER RUN ATTEMPT DEADMAN; this file is in $SIDE.
acquire() {
	root=$(root_folder "$1") dir=$root/$2
	for t in setsid awk; do
		command -v $t >/dev/null || { echo "missing $t"; return 0; }
	done
	mkdir -p -m 700 "$root" || return 1
	if [ -L "$root" ] || [ ! -O "$root" ]; then
		echo "foreign $root"
		return 0
	fi
	old=$(sed -n 's/^key //p' "$root/lock" 2>/dev/null)
	if [ -n "$old" ] && [ "$old" != "$2" ]; then
		if [ "$(sed -n 's/^run //p' "$root/lock")" != "$4" ]; then
			echo held
			holder "$root"
			return 0
		fi
		remove "$root" "$old" # an earlier attempt of the same run
		mkdir -p -m 700 "$root"
	fi
	mkdir -p "$dir/units" "$dir/samples" || return 1
	printf '%s\n' "$SIDE" >"$dir/side.tmp" && mv "$dir/side.tmp" "$dir/side.sh"
	uptime >"$dir/beat"
	echo "$6" >"$dir/deadman"
	state=same
	if [ "$old" != "$2" ]; then
		new=$dir/lock.$$
		printf 'key %s\nowner %s\nrun %s\nattempt %s\nhost %s\nsince %s\nid %s\n' \
			"$2" "$3" "$4" "$5" "$(uname -n)" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
			"$(cat /proc/sys/kernel/random/uuid)" >"$new"
		if ln "$new" "$root/lock" 2>/dev/null; then
			state=new
			mv "$new" "$dir/lock"
		elif [ "$(sed -n 's/^key //p' "$root/lock" 2>/dev/null)" = "$2" ]; then
			rm -f "$new" # a call of ours whose client is gone was faster
		else
			rm -rf "$dir"
			echo held
			holder "$root"
			return 0
		fi
	fi
	echo "dir $dir"
	echo "state $state"
	sed -n '/^id /p' "$root/lock"
	if [ -e "$dir/ended" ]; then echo "ended $(cat "$dir/ended")"; fi
	lead "$dir/watch" >/dev/null || {
		mkdir -p "$dir/watch"
		setsid sh "$dir/side.sh" watch "$dir" </dev/null >/dev/null 2>&1 &
	}
	echo end
}

# loading DIR: whether a load has not come to its own end.
loading() {
	for u in "$1"/units/*/; do
		[ "$(cat "${u}kind" 2>/dev/null)" = load ] && [ ! -e "${u}exit" ] && return 0
	done
	return 1
}

# watch DIR: the dead-man timer. It also ends what runs past its time.
watch() {
	echo "$$ $(start_of $$)" >"$1/watch/pid"
	{ echo -1000 >/proc/$$/oom_score_adj; } 2>/dev/null
	while sleep 1; do
		[ -e "$1/lock" ] || exit 0
		[ -e "$1/ended" ] && continue
		why=
		[ "$(silent "$1")" -gt "$(cat "$1/deadman")" ] && why=dead-man
		until=$(cat "$1/until" 2>/dev/null) && [ "$(uptime)" -gt "$until" ] && why=over
		[ -n "$why" ] || continue
		loading "$1" || why=done # only the samplers are left: nothing was cut
		echo $why >"$1/ended"
		end_units "$1"
	done
}

# start DIR NAME KIND SECONDS LENGTH; its command line, LENGTH bytes, is on stdin. A
# unit that is there is not started again. Half a command line, of a client that
# went away while it sent, is never run. KIND is load, sample, or watch: that goes on until the loads are over.
start() {
	u=$1/units/$2 new=$1/units/.$2.$$
	cat >"$new"
	if [ "$(wc -c <"$new")" -ne "$5" ]; then
		rm -f "$new"
		echo short
		return 0
	fi
	if ! mkdir "$u" 2>/dev/null; then
		rm -f "$new"
		echo exists
		return 0
	fi
	mv "$new" "$u/cmd"
	echo "$3" >"$u/kind"
	: >"$u/out" && : >"$u/err"
	echo $(($(uptime) + $4)) >"$1/until" # on a busy node the last one starts late
	setsid sh "$1/side.sh" unit "$1" "$2" "$3" </dev/null >/dev/null 2>&1 &
	echo started
}

unit() { # DIR NAME KIND
	u=$1/units/$2
	cd "$u" || return 1 # what the command writes beside itself goes with the folder
	from=$(uptime)
	date -u +%s >"$u/started.tmp" && mv "$u/started.tmp" "$u/started"
	echo "$$ $(start_of $$)" >"$u/pid.tmp" && mv "$u/pid.tmp" "$u/pid"
	# Who ends all units says so before it looks for them: one of the two sees the other.
	[ -e "$1/ended" ] && return 0
	trap : TERM # the command has it, and how it ended is still written down
	if [ "$3" = sample ]; then
		sample "$1" "$2" 2>/dev/null
		return 0
	fi
	{ echo 500 >/proc/$$/oom_score_adj; } 2>/dev/null
	nice -n 5 sh "$u/cmd" </dev/null >"$u/out" 2>"$u/err"
	echo "$? $(($(uptime) - from))" >"$u/exit.tmp" && mv "$u/exit.tmp" "$u/exit"
}

# sample DIR NAME: runs the command about every second. A folder in memory must
# not fill up, so a long file makes it slower.
sample() {
	u=$1/units/$2 f=$1/samples/$2 guard=
	trap 'exit 0' TERM
	command -v timeout >/dev/null && guard="timeout -k 2 30"
	case $(date +%3N) in
	[0-9][0-9][0-9]) form=%Y-%m-%dT%H:%M:%S.%3NZ ;;
	*) form=%Y-%m-%dT%H:%M:%S.000Z ;;
	esac
	while [ -e "$u/cmd" ]; do # not without its folder
		at=$(date -u "+$form")
		$guard sh "$u/cmd" </dev/null >"$u/one" 2>/dev/null
		n=$(wc -c <"$u/one")
		{
			printf '%s %d\n' "$at" "$n"
			cat "$u/one"
			echo
		} >>"$f"
		pause=1
		size=$(wc -c <"$f")
		[ "$size" -gt 67108864 ] && pause=5
		[ "$size" -gt 134217728 ] && pause=20
		sleep $pause
	done
}

# poll DIR MOST [FILE OFFSET]…: beats, prints the state of every unit, and what
# the files have beyond the offsets, MOST bytes in all.
poll() {
	dir=$1 most=$2
	shift 2
	uptime >"$dir/beat.tmp" && mv "$dir/beat.tmp" "$dir/beat"
	[ -e "$dir/ended" ] && echo "ended $(cat "$dir/ended")"
	for u in "$dir"/units/*/; do
		[ -e "${u}cmd" ] || continue
		u=${u%/} state=starting
		if [ -e "$u/exit" ]; then
			state="exit $(cat "$u/exit")"
		elif lead "$u" >/dev/null; then
			state=runs
		elif [ -e "$u/pid" ]; then
			state=gone
			[ -e "$u/exit" ] && state="exit $(cat "$u/exit")"
		fi
		echo "unit ${u##*/} $(cat "$u/kind") $(cat "$u/started" 2>/dev/null || echo 0) $state"
	done
	cd "$dir" || return 1
	for f in units/*/out units/*/err samples/*; do
		[ -f "$f" ] || continue
		from=$(offset_of "$f" "$@")
		n=$(($(wc -c <"$f") - from))
		[ "$n" -gt "$most" ] && n=$most
		[ "$n" -gt 0 ] || continue
		most=$((most - n))
		echo "file $f $from $n"
		tail -c "+$((from + 1))" "$f" | head -c "$n"
		echo
	done
	echo end
}

offset_of() {
	want=$1
	shift
	while [ $# -ge 2 ]; do
		[ "$1" = "$want" ] && {
			echo "$2"
			return
		}
		shift 2
	done
	echo 0
}

stop() { # DIR WHY
	[ -e "$1/ended" ] || echo "$2" >"$1/ended"
	end_units "$1" || echo stuck
	echo end
}

# halt ROOT RUN: ends the units of a run, whoever watches them. Its folder stays: by
# it the watcher sees that they were stopped, and did not break.
halt() {
	root=$(root_folder "$1")
	key=$(sed -n 's/^key //p' "$root/lock" 2>/dev/null)
	if [ -z "$key" ] || [ "$(sed -n 's/^run //p' "$root/lock")" != "$2" ]; then
		echo free
		return 0
	fi
	stop "$root/$key" stop
}

# release ROOT RUN: frees the node. A foreign run is only freed when it is dead.
release() {
	root=$(root_folder "$1")
	key=$(sed -n 's/^key //p' "$root/lock" 2>/dev/null)
	if [ -z "$key" ]; then
		echo free
		return 0
	fi
	dead=$(cat "$root/$key/deadman" 2>/dev/null || echo 0)
	if [ "$(sed -n 's/^run //p' "$root/lock")" != "$2" ] && [ "$(silent "$root/$key")" -le "$dead" ]; then
		echo held
		holder "$root"
		return 0
	fi
	holder "$root"
	remove "$root" "$key"
	echo end
}

verb=$1
shift
"$verb" "$@"
