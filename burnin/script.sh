#!/bin/sh
# Collects evidence of this machine for rackproof and judges nothing. Run it as
# root. It reads only, and writes one file beside itself: HOST.tar.gz, which
# `rackproof judge` reads elsewhere. Made by: rackproof capture --script
set -u
umask 077
LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/usr/local/cuda/bin
export LC_ALL PATH
for t in sha256sum tar mktemp; do
	command -v $t >/dev/null || { echo "$0: needs $t" >&2; exit 1; }
done
host=$(uname -n | tr -c 'A-Za-z0-9._\n-' _)
boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
dir=$work/$host
mkdir -p "$dir/before"
began=$(date -u +%Y-%m-%dT%H:%M:%SZ)

now() { date -u +%Y-%m-%dT%H:%M:%SZ; }
uptime() { read -r up _ </proc/uptime && echo "${up%.*}"; }
hash() { sum=$(sha256sum <"$1") && echo "${sum%% *}"; }

# probe NAME INSTANCE TOOL SECONDS COMMAND COMMAND-AS-JSON
probe() {
	f=$dir/before/$1${2:+@$2} instance= ended=exit
	[ -n "$2" ] && instance="\"instance\": \"$2\", "
	echo "$1${2:+ $2}" >&2
	at=$(now) from=$(uptime)
	: >"$f.out" && : >"$f.err"
	if [ -n "$3" ] && ! command -v "$3" >/dev/null 2>&1; then
		ended=no_tool rc=null
	else
		guard=
		command -v timeout >/dev/null && guard="timeout -k 2 $4"
		$guard /bin/sh -c "{ $5
}; rc=\$?; printf '\\n#rackproof-end %s\\n' \"\$rc\"; exit \$rc" </dev/null >"$f.out" 2>"$f.err"
		rc=$?
		if ! tail -n 1 "$f.out" | grep -q '^#rackproof-end '; then
			case $rc in
			124 | 137) ended=timeout rc=null ;;
			esac
			[ "$rc" != null ] && [ "$rc" -gt 128 ] && ended=signal rc=null
		fi
	fi
	printf '{"probe": "%s", %s"phase": "before", "command": %s, "source": "script", "started": "%s", "node_clock": "%s", "boot_id": "%s", "seconds": %s, "exit": %s, "ended": "%s", "sha256_out": "%s", "sha256_err": "%s"}\n' \
		"$1" "$instance" "$6" "$at" "$at" "$boot" $(($(uptime) - from)) "$rc" "$ended" "$(hash "$f.out")" "$(hash "$f.err")" >"$f.json"
}

