# What the trial of a MIG layout runs on the node: POSIX sh, as root. It puts every GPU
# back as it was found (MIG off, no instances) by itself, whoever ends it, and does so in
# a session of its own, so that the end of all loads does not end that. What it has
# changed stands in $state until it is put back: a trial that finds there what another
# one left puts that back first.
#
# variables before it: state want count leave seconds; $PPID waits for us
say() { echo "#mig-trial $*"; }
uptime() { read -r up _ </proc/uptime && echo "${up%.*}"; }
start_of() {
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	# shellcheck disable=SC2086 # fields behind the name
	set -- ${stat##*) }
	[ "$1" != Z ] && [ "$1" != X ] && echo "${20}"
}

refuse() {
	say "refused $*"
	[ -z "$ours" ] || [ -s "$state/changed" ] || rm -rf "$state"
	exit 1
}

# step GPU NAME COMMAND…: the command, all that it prints, and how it ended.
step() {
	gpu=$1 name=$2
	shift 2
	say "run $gpu $name $*"
	timeout -k 5 120 "$@" 2>&1 </dev/null
	rc=$?
	printf '\n#mig-trial rc %d\n' $rc
	return $rc
}

# is GPU WORD: whether MIG is so, and stays so after a reset.
is() {
	got=$(step "$1" mode nvidia-smi -i "$1" --query-gpu=mig.mode.current,mig.mode.pending --format=csv,noheader)
	printf '%s\n' "$got"
	case $got in *"
$2, $2
"*) return 0 ;; esac
	return 1
}

# holders GPU: who has a device file of NVIDIA open, which is what refuses a reset.
holders() {
	for p in $(ls -l /proc/[0-9]*/fd 2>/dev/null | awk -F/ '/^\/proc\// { p = $3 } / -> \/dev\/nvidia/ && p != last { print last = p }'); do
		say "holder $1 $p $(cat "/proc/$p/comm" 2>/dev/null)"
	done
	[ ! -d /sys/module/nvidia_drm ] || say "holder $1 - kernel module nvidia_drm"
}

set_mode() { # GPU 1|0
	case $2 in 1) word=Enabled ;; *) word=Disabled ;; esac
	step "$1" "mode-$2" nvidia-smi -i "$1" -mig "$2"
	is "$1" $word && return 0
	step "$1" reset nvidia-smi --gpu-reset -i "$1"
	is "$1" $word && return 0
	holders "$1"
	return 1
}

put_back() { # GPU
	step "$1" destroy-compute nvidia-smi mig -i "$1" -dci
	step "$1" destroy nvidia-smi mig -i "$1" -dgi
	set_mode "$1" 0 || return 1
	grep -vx "$1" "$state/changed" >"$state/changed.new"
	mv "$state/changed.new" "$state/changed"
}

all_back() {
	for g in $(cat "$state/changed" 2>/dev/null); do put_back "$g"; done
}

all() { step all "$1" nvidia-smi --query-gpu=index,uuid,pci.bus_id,mig.mode.current,mig.mode.pending --format=csv,noheader; }

# finish says how all GPUs are left.
finish() {
	all after-modes
	step all after-list nvidia-smi -L
	[ -s "$state/changed" ] || rm -rf "$state"
	say end
}

cut() {
	trap '' TERM INT HUP
	say "cut $*"
	all_back
	finish
	exit 143
}

waited() { [ "$(start_of "$parent")" = "$parent_start" ] || cut "nobody waits for it any more"; }

instances() { # GPU, of a list on stdin: the unique id of each
	awk -v gpu="$1" '/^GPU / { on = index($0, gpu) > 0 } on && /^ +MIG / { sub(/.*UUID: /, ""); sub(/\).*/, ""); print }'
}

# try GPU: the layout is made, listed, and each instance used.
try() {
	set_mode "$1" 1 || return 1
	step "$1" create nvidia-smi mig -i "$1" -cgi "$want" -C
	list=$(step "$1" list nvidia-smi -L)
	printf '%s\n' "$list"
	n=0
	for m in $(printf '%s\n' "$list" | instances "$1"); do
		n=$((n + 1))
		waited
		if command -v nvbandwidth >/dev/null 2>&1; then
			step "$1" "cuda@$m" env "CUDA_VISIBLE_DEVICES=$m" nvbandwidth -j -d -t device_local_copy
		fi
	done
	[ "$n" = "$count" ]
}

cd / || exit 1
ours='' parent=$PPID
parent_start=$(start_of "$parent")
end=$(($(uptime) + seconds))
{ echo 0 >/proc/$$/oom_score_adj; } 2>/dev/null
for t in nvidia-smi timeout awk; do
	command -v $t >/dev/null 2>&1 || refuse "$t is not on the node"
done
[ "$(id -u)" = 0 ] || refuse "only root can switch MIG"

tries=0
until mkdir -m 700 "$state" 2>/dev/null; do
	pid='' began=''
	{ read -r pid began <"$state/owner"; } 2>/dev/null
	[ -n "$pid" ] && [ "$(start_of "$pid")" = "$began" ] || break # it died
	tries=$((tries + 1))
	[ $tries -lt 300 ] || refuse "process $pid still puts back what an earlier trial changed"
	sleep 1
done
[ -d "$state" ] || refuse "there can be no $state"
ours=yes
echo "$$ $(start_of $$)" >"$state/owner"
trap 'cut "it was ended"' TERM INT HUP
if [ -s "$state/changed" ]; then
	say "earlier trial left changed: $(tr '\n' ' ' <"$state/changed")"
	all_back
fi

work=$(step all work nvidia-smi --query-compute-apps=pid,process_name --format=csv,noheader)
rc=$?
printf '%s\n' "$work"
work=$(printf '%s\n' "$work" | grep -v '^#mig-trial' | tr -s '\n' ' ')
[ $rc = 0 ] || refuse "nvidia-smi does not say whether somebody works on the GPUs"
case $work in *[!\ ]*) refuse "somebody works on the GPUs: $work" ;; esac
modes=$(all before-modes)
rc=$?
printf '%s\n' "$modes"
[ $rc = 0 ] || refuse "nvidia-smi does not list the GPUs"
gpus=''
while IFS=', ' read -r i uuid _ now next; do
	case $i in '#mig-trial' | '') continue ;; esac
	[ "$now, $next" = "Disabled, Disabled" ] || refuse "MIG of GPU $i ($uuid) is $now, and $next after the next reset: only what is found off can be put back"
	gpus="$gpus $uuid"
done <<END
$modes
END
[ -n "$gpus" ] || refuse "nvidia-smi lists no GPU"

for g in $gpus; do
	waited
	[ "$(uptime)" -lt "$end" ] || {
		say "late $g"
		continue
	}
	echo "$g" >>"$state/changed"
	if try "$g" && [ "$leave" = left ]; then continue; fi
	put_back "$g"
done
trap '' TERM INT HUP
[ "$leave" != left ] || {
	for g in $(cat "$state/changed"); do say "leaves $g"; done
	: >"$state/changed"
}
finish
