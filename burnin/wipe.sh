# Erases one disk: POSIX sh as root, needs od, dd, awk; NVMe needs nvme-cli. The disk is
# found by its serial number, refused where anybody has it, and erased as well as level
# asks. Marks are planted before, and looked for after: an erasure is never believed
# because a tool ended with 0. Every line that counts begins with #wipe.
#
# given: serial level seed planted pause, and where to look: dev sys proc kind din dout
say() { echo "#wipe $*"; }
now() { date -u +%Y-%m-%dT%H:%M:%SZ; }
refuse() {
	say "refused $*"
	exit 1
}
fail() {
	say "failed $*"
	exit 1
}
open() { # begun, and neither erased nor at fault as far as is known
	say "open $*"
	exit 1
}
# declined WHAT: the drive itself said no, or the tool did not come to ask it.
declined() {
	said=$(tr '\n' ' ' <tool.out)
	case $said in
	*"NVMe status"*) fail "$name refused to be $1: $said" ;;
	*) open "nvme did not get $name $1: $said" ;;
	esac
}

# serial_of NAME: as the kernel or udev has it.
serial_of() {
	case $1 in
	nvme*) read -r s <"$sys/block/$1/device/serial" && echo "$s" ;;
	*) lsblk -dno SERIAL "$dev/$1" | tr -d ' ' ;; # nothing without lsblk
	esac 2>/dev/null
}

find_disk() {
	name=
	for b in "$sys"/block/nvme*n* "$sys"/block/sd*; do
		n=${b##*/}
		case $n in *c[0-9]*) continue ;; esac # a path of a multipath namespace
		[ -e "$b/dev" ] && [ "$(serial_of "$n")" = "$serial" ] || continue
		[ -z "$name" ] || refuse "it shows as $name and as $n: with several namespaces or paths it is not known what is erased"
		name=$n
	done
	[ -n "$name" ] || refuse "no disk of this serial number is on the host"
	d=$dev/$name b=$sys/block/$name c=$dev/$name
	case $name in nvme*) [ ! -e "$dev/${name%n*}" ] || c=$dev/${name%n*} ;; esac
}

no_pool() { # NAME NODE: ZFS holds its disks without saying so
	command -v blkid >/dev/null || refuse "ZFS is loaded, and without blkid it is not known whether $1 belongs to a pool: unload the zfs module"
	! blkid -p "$2" 2>/dev/null | grep -q zfs_member || refuse "$1 belongs to a ZFS pool: export it first, and unload the zfs module"
}

# unused: ends where anybody has the disk or a partition of it.
unused() {
	[ "$kind" "$d" ] || refuse "there is no $d"
	read -r ro <"$b/ro" && [ "$ro" = 0 ] || refuse "$name is read-only"
	for p in "$b" "$b/$name"*; do
		[ -e "$p/dev" ] || continue
		n=${p##*/} node=$dev/${p##*/}
		for h in "$p"/holders/*; do [ ! -e "$h" ] || refuse "$n is held by ${h##*/}: stop that first"; done
		read -r number <"$p/dev" || refuse "$n: its number cannot be read"
		at=$(cat "$proc"/[0-9]*/mountinfo 2>/dev/null | awk -v n="$number" -v d="$node" '{ for (i = 7; i <= NF; i++) if ($3 == n || $i == d) { print $5; exit } } END { if (!NR) print "(not known)" }')
		[ -z "$at" ] || refuse "$n is mounted at $at"
		awk -v d="$node" '$1 == d { exit 1 }' "$proc/swaps" || refuse "$n is swap, or $proc/swaps cannot be read"
		! ls -l "$proc"/[0-9]*/fd 2>/dev/null | grep -q -- "-> $node\$" || refuse "$n is open in another program"
		[ ! -e "$sys/module/zfs" ] || no_pool "$n" "$node"
	done
	read -r sectors <"$b/size" && [ "$sectors" -ge 8192 ] || refuse "$name has no size that could be erased"
	bytes=$((sectors * 512))
}

# number FILE OFFSET BYTES: little-endian, as in the data structures of NVMe.
number() { od -An "-tu$3" "-j$2" "-N$3" "$1" | tr -d ' \n'; }

# capabilities: what the controller says that it can; before anything is written.
capabilities() {
	oacs=0 fna=0 sanicap=0 spaces=1 spare=0 model=$(tr -s ' ' <"$b/device/model" 2>/dev/null)
	case $name in
	nvme*)
		command -v nvme >/dev/null || refuse "nvme is not on the host: it is in the package nvme-cli"
		nvme id-ctrl "$c" -b >id-ctrl 2>id-ctrl.err && [ "$(wc -c <id-ctrl)" -eq 4096 ] || refuse "its capabilities cannot be read: $(tr '\n' ' ' <id-ctrl.err)"
		own=$(dd if=id-ctrl bs=1 skip=4 count=20 2>/dev/null | tr -d ' \000')
		[ "$own" = "$serial" ] || refuse "the controller behind $name says that its serial number is $own"
		oacs=$(number id-ctrl 256 2) fna=$(number id-ctrl 524 1) sanicap=$(number id-ctrl 328 4) spaces=$(number id-ctrl 516 4)
		spare=$(dd if=id-ctrl bs=1 skip=296 count=16 2>/dev/null | tr -d '\000' | wc -c)
		;;
	esac
	say "disk $name $bytes $model"
	say "can oacs=$oacs fna=$fna sanicap=$sanicap namespaces=$spaces"
}

marks=64
place() { echo $(((bytes / 4096 - 1) * $1 / (marks - 1))); } # of a mark, in blocks of 4 KiB
mark() { yes "rackproof $seed $1" | head -c 4096; }
block() { dd if="$d" bs=4096 skip="$(place "$1")" count=1 $din 2>/dev/null; }

plant() {
	i=0
	while [ $i -lt $marks ]; do
		mark $i >mark
		dd if=mark of="$d" bs=4096 seek="$(place $i)" count=1 conv=notrunc,fsync $dout 2>dd.err || fail "$name takes no write at block $(place $i): $(tail -n 1 dd.err)"
		block $i | cmp -s - mark || fail "$name does not give back what was written at block $(place $i)"
		i=$((i + 1))
	done
	say "planted $marks $(now)"
}

# look: how many marks can still be read, how many blocks are zero.
look() {
	i=0 left=0 zero=0
	while [ $i -lt $marks ]; do
		block $i >seen
		[ "$(wc -c <seen)" -eq 4096 ] || fail "$name cannot be read at block $(place $i) since it was erased"
		if grep -a -q -F "rackproof $seed $i" seen; then
			left=$((left + 1))
		elif [ "$(tr -d '\000' <seen | wc -c)" -eq 0 ]; then
			zero=$((zero + 1))
		fi
		i=$((i + 1))
	done
}

# state: of the last sanitize operation: its progress, then 0 none, 1 or 4 done, 2 under way, 3 failed.
state() {
	nvme sanitize-log "$c" -b >log 2>log.err && [ "$(wc -c <log)" -ge 20 ] || return 1
	progress=$(number log 0 2) status=$(number log 2 2)
	state=$((status % 8)) untouched=$((status / 256 % 2))
}

wait_sanitized() {
	told= missed=0
	while :; do
		if ! state; then
			missed=$((missed + 1))
			[ $missed -lt 30 ] || open "$name does not tell how far it is: $(tr '\n' ' ' <log.err)"
		elif [ $state = 2 ]; then
			missed=0 share=$((progress * 100 / 65536))
			[ "$share" = "$told" ] || say "progress $share"
			told=$share
		else
			break
		fi
		sleep "$pause"
	done
	say "status $status"
	case $state in
	1 | 4) ;;
	*) fail "$name ended its sanitize operation with status $status: it takes nothing but another one, and is to be destroyed if that fails too" ;;
	esac
}

sanitize() {
	case $1 in
	sanitize-block) action=2 ;;
	sanitize-crypto) action=4 ;;
	sanitize-overwrite) action=3 ;;
	esac
	nvme sanitize "$c" --sanact=$action >tool.out 2>&1 || declined sanitized
	wait_sanitized
}

format() {
	nvme id-ns "$d" -b >id-ns 2>tool.out && [ "$(wc -c <id-ns)" -eq 4096 ] || open "the format of $name cannot be read: $(tr '\n' ' ' <tool.out)"
	flbas=$(number id-ns 26 1)
	nvme format "$d" --ses=1 --lbaf=$((flbas % 16 + flbas / 32 % 4 * 16)) --force --timeout=14400000 >tool.out 2>&1 || declined formatted
}

overwrite() {
	at=0 told= # in GiB
	while [ $((at * 1073741824)) -lt "$bytes" ]; do
		left=$((bytes - at * 1073741824)) unit=4194304
		[ $left -lt 1073741824 ] || left=1073741824
		while [ $((left % unit)) -ne 0 ]; do unit=$((unit / 2)); done
		dd if=/dev/zero of="$d" bs=$unit seek=$((at * (1073741824 / unit))) count=$((left / unit)) conv=notrunc,fsync $dout 2>dd.err || fail "$name takes no write in its GiB $at: $(tail -n 1 dd.err)"
		at=$((at + 1)) share=$((at * 100 / (bytes / 1073741824 + 1)))
		[ "$share" = "$told" ] || say "progress $share"
		told=$share
	done
}

# method: the best that the disk can and the level allows.
choose() {
	method=
	if [ $((sanicap / 2 % 2)) = 1 ]; then
		method=sanitize-block
	elif [ $((sanicap % 2)) = 1 ]; then
		method=sanitize-crypto
	elif [ $((sanicap / 4 % 2)) = 1 ]; then
		method=sanitize-overwrite
	elif [ "$level" = purge ]; then
		refuse "$name has no sanitize command, so level purge cannot be reached: agree on level clear in the batch (wipe: {level: clear}), or destroy it"
	elif [ $((oacs / 2 % 2)) = 1 ] && [ "$spare" = 0 ]; then
		method=format
	else
		method=overwrite
	fi
	case $method in format | overwrite) only_namespace ;; esac
}

# only_namespace: what erases a namespace leaves those that the host does not see. Only a
# drive that manages namespaces has such.
only_namespace() {
	[ $((oacs / 8 % 2)) = 1 ] || return 0
	nvme list-ns "$c" --all >spaces 2>spaces.err || refuse "it is not known whether $name has namespaces that the host does not see: $(tr '\n' ' ' <spaces.err)"
	[ "$(grep -c ']:' spaces)" = 1 ] || refuse "$name has namespaces that the host does not see, and no sanitize command that would reach them: attach or delete them first"
}

done_with() {
	look
	say "looked $marks left=$left zero=$zero"
	[ $left = 0 ] || return 1
	[ $method != overwrite ] || [ $zero = $marks ] || fail "$name does not show zeroes after they were written"
	say "done $(now)"
	exit 0
}

[ "$(id -u)" = 0 ] || refuse "only root can erase a disk"
for t in od dd awk yes head grep cmp; do
	command -v "$t" >/dev/null 2>&1 || refuse "$t is not on the host"
done
find_disk
unused
capabilities
choose
case $method in
sanitize*)
	state || refuse "the state of its sanitize operations cannot be read: $(tr '\n' ' ' <log.err)"
	if [ $state = 2 ]; then
		say "found a sanitize operation under way"
		wait_sanitized
	fi
	# Marks of ours were written before: a disk that says that nothing was written since its
	# last sanitize operation has had that one since.
	if [ "$planted" = yes ] && [ $untouched = 1 ] && { [ $state = 1 ] || [ $state = 4 ]; }; then
		say "marked by an earlier process"
		say "method $method"
		say "status $status"
		done_with || true
	fi
	;;
esac
plant
say "method $method"
[ "$(serial_of "$name")" = "$serial" ] || fail "another disk is at $name than a moment ago; nothing but marks was written"
say "begun $(now)"
case $method in
sanitize*) sanitize "$method" ;;
format) format ;;
overwrite) overwrite ;;
esac
done_with || fail "$left of $marks marks can still be read: $name was not erased"
