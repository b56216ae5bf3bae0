package burnin

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

const nvmeWriteName = "nvme-write"

// NVMeWrite is the output of the load nvme-write: what it found on the disks that it was
// to write, then fio's JSON.
var NVMeWrite = Probe[WriteLog]{
	Spec:  ProbeSpec{Name: nvmeWriteName, Tool: "fio"},
	Parse: parseNVMeWrite,
}

// WriteLog is what was written, or why nothing was.
type WriteLog struct {
	Fio     FioLog
	Disks   map[string]string // device by serial number, of what was proven empty
	Refused string            // why nothing was written, with the disk; "" = it was
}

var (
	writeDisk    = regexp.MustCompile(`^#nvme-write disk (nvme\d+n\d+) (.+)$`)
	writeRefused = regexp.MustCompile(`^#nvme-write refused (.+)$`)
)

func parseNVMeWrite(e *Evidence) (WriteLog, error) {
	body, _ := e.Body()
	l := WriteLog{Disks: map[string]string{}}
	for _, line := range lines(body) {
		if m := writeRefused.FindStringSubmatch(line); m != nil {
			l.Refused = m[1]
			return l, nil
		}
		if m := writeDisk.FindStringSubmatch(line); m != nil {
			l.Disks[m[2]] = m[1]
		}
	}
	fio, err := parseFio(e)
	l.Fio = fio
	return l, err
}

// writer is where the script finds what it asks: the node's own folders, or a test's.
type writer struct{ dev, sys, proc, kind string }

func (w writer) vars() string {
	return fmt.Sprintf("dev=%s sys=%s proc=%s kind=%s\n", shellQuote(w.dev), shellQuote(w.sys), shellQuote(w.proc), w.kind)
}

// nodeWriter writes to block devices of the node.
func nodeWriter() writer { return writer{dev: "/dev", sys: "/sys", proc: "/proc", kind: "-b"} }

// nvmeWrite makes the command that writes to the disks of a consent, and to no other. A
// disk is bound by its serial number and looked at again in the same command, right
// before it is written: one that is missing, or holds anything, keeps all from being
// written. The first and the last MiB, where tables and signatures stand, stay as they
// are, so that the disk is as empty afterwards as it was.
func nvmeWrite(c Consent) func(*profiles.Profile, time.Duration) string {
	return func(_ *profiles.Profile, d time.Duration) string {
		switch {
		case c.Refused != "":
			return "echo " + shellQuote("#nvme-write refused "+c.Refused) + "; exit 1"
		case len(c.Disks) == 0:
			return `echo "#nvme-write refused no disk was named"; exit 1`
		}
		return nodeWriter().command(c.Disks, d)
	}
}

func (w writer) command(serials []string, d time.Duration) string {
	quoted := make([]string, len(serials))
	for i, s := range serials {
		quoted[i] = shellQuote(s)
	}
	return "set -- " + strings.Join(quoted, " ") + "\n" + w.vars() + nvmeWriteScript + fmt.Sprintf(`
exec timeout -k 10 %d fio --output-format=json --rw=write --direct=1 --ioengine=libaio --bs=128k --iodepth=32 --offset=1m --verify=crc32c --do_verify=1 "$@"`, seconds(d))
}

// nvmeWriteScript proves every disk empty, or ends. blkid ends with 2 where it finds
// nothing at all, and says nothing then; any word of it, or of wipefs, is a no.
const nvmeWriteScript = `most=137438953472 # bytes of each disk that are written
refuse() {
	echo "#nvme-write refused $*; nothing was written"
	exit 1
}
bytes_at() { dd if="$1" bs=512 skip="$2" count=2048 2>/dev/null; }
blank() { [ "$(bytes_at "$1" "$2" | wc -c)" -eq 1048576 ] && [ "$(bytes_at "$1" "$2" | tr -d '\000' | wc -c)" -eq 0 ]; }
empty() { # NAME SERIAL: whether nothing is on the disk, and nobody has it
	b=$sys/block/$1 d=$dev/$1 who="disk $2 ($1)"
	[ "$kind" "$d" ] || refuse "$who: there is no $d"
	read -r ro <"$b/ro" && [ "$ro" = 0 ] || refuse "$who is read-only"
	for p in "$b/$1"p*; do [ ! -e "$p" ] || refuse "$who has partition ${p##*/}"; done
	for h in "$b"/holders/*; do [ ! -e "$h" ] || refuse "$who is held by ${h##*/}"; done
	read -r number <"$b/dev" || refuse "$who: its number cannot be read"
	at=$(cat "$proc"/[0-9]*/mountinfo 2>/dev/null | awk -v n="$number" -v d="$d" '{ for (i = 7; i <= NF; i++) if ($3 == n || $i == d) { print $5; exit } } END { if (!NR) print "(not known)" }')
	[ -z "$at" ] || refuse "$who is mounted at $at"
	! awk -v d="$d" '$1 == d { found = 1 } END { exit !found }' "$proc/swaps" || refuse "$who is swap"
	! ls -l "$proc"/[0-9]*/fd 2>/dev/null | grep -q -- "-> $d\$" || refuse "$who is open in another program"
	found=$(blkid -p "$d" 2>&1)
	[ $? = 2 ] && [ -z "$found" ] || refuse "$who is not empty, blkid says: $(echo $found)"
	found=$(wipefs -n "$d" 2>&1) && [ -z "$found" ] || refuse "$who is not empty, wipefs says: $(echo $found)"
	read -r sectors <"$b/size" && [ "$sectors" -gt 8192 ] || refuse "$who is too small"
	blank "$d" 0 || refuse "$who holds data in its first MiB"
	blank "$d" $((sectors - 2048)) || refuse "$who holds data in its last MiB"
}
[ "$(id -u)" = 0 ] || refuse "only root can prove a disk empty"
for t in blkid wipefs fio timeout awk; do
	command -v "$t" >/dev/null 2>&1 || refuse "$t is not on the node"
done
for serial; do
	name=
	for b in "$sys"/block/nvme*n*; do
		n=${b##*/}
		case $n in *c[0-9]*) continue ;; esac
		read -r s <"$b/device/serial" 2>/dev/null && [ "$s" = "$serial" ] || continue
		[ -z "$name" ] || refuse "disk $serial has more than one namespace: $name and $n"
		name=$n
	done
	[ -n "$name" ] || refuse "no NVMe drive has serial $serial"
	empty "$name" "$serial"
	bytes=$((sectors * 512 - 2097152))
	[ "$bytes" -le "$most" ] || bytes=$most
	echo "#nvme-write disk $name $serial"
	shift
	set -- "$@" "--name=$name" "--filename=$dev/$name" "--size=$((bytes / 131072 * 131072))"
done`
