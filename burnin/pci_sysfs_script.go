package burnin

// pciSysfsScript prints the state of every GPU, NVMe drive and network adapter and
// of every bridge above it, one record a line, fields parted by tabs. It uses
// nothing but what a POSIX shell has built in (no process is started for a value,
// so that a sample of a hundred devices takes milliseconds), never writes, and ends
// with a mark of its own that counts the devices.
//
//	dev  ADDRESS KEY=VALUE …        one device; parent=- at the root complex
//	aer  ADDRESS SEVERITY NAME N    one error counter (absent: the kernel keeps none)
//	net  ADDRESS NAME MAC RX TX     one network port, bytes
//	port ADDRESS NAME STATE SPEED DOWNS  its link: operstate, Mb/s, how often it was lost since boot
//	ib   ADDRESS NAME RX TX         one InfiniBand or RoCE port, in units of four bytes
//	rootaer ADDRESS COR NONFATAL FATAL  errors that a root port was told of by all below it
//	nvme ADDRESS NAME STATE SERIAL MODEL
//	temp ADDRESS NAME MILLIDEGREES  composite temperature of an NVMe drive, °C / 1000
//	blk  ADDRESS NAME SECTORS RD WR one namespace, in sectors of 512 bytes
//	slot ADDRESS NAME               a physical slot; the address has no function
//
// The first argument of the line is what "yes" turns on: the error counters, which
// a sample does without: it has those of the root ports, one small file a kind.
const pciSysfsScript = `
tab=$(printf '\t')
val() { v=; [ -r "$1" ] && read -r v 2>/dev/null <"$1"; v=${v%"${v##*[! ]}"}; }
errs() {
  for s in correctable nonfatal fatal; do
    [ -r "$2/aer_dev_$s" ] || continue
    while read -r name n; do
      [ -n "$n" ] && echo "aer$tab$1$tab$s$tab$name$tab$n"
    done 2>/dev/null <"$2/aer_dev_$s"
  done
}
ports() {
  for p in "$2"/net/* "$2"/virtio*/net/*; do
    [ -d "$p" ] || continue
    val "$p/address"; mac=$v; val "$p/statistics/rx_bytes"; rx=$v; val "$p/statistics/tx_bytes"
    echo "net$tab$1$tab${p##*/}$tab$mac$tab$rx$tab$v"
    val "$p/operstate"; state=$v; val "$p/speed"; speed=$v; val "$p/carrier_down_count"
    echo "port$tab$1$tab${p##*/}$tab$state$tab$speed$tab$v"
  done
  for p in "$2"/infiniband/*/ports/*; do
    [ -d "$p" ] || continue
    val "$p/counters/port_rcv_data"; rx=$v; val "$p/counters/port_xmit_data"
    c=${p%/ports/*}
    echo "ib$tab$1$tab${c##*/}/${p##*/}$tab$rx$tab$v"
  done
}
drives() {
  for c in "$2"/nvme/nvme*; do
    [ -d "$c" ] || continue
    val "$c/state"; state=$v; val "$c/serial"; serial=$v; val "$c/model"
    echo "nvme$tab$1$tab${c##*/}$tab$state$tab$serial$tab$v"
    for t in "$c"/hwmon*/temp1_input "$2"/hwmon/hwmon*/temp1_input; do
      val "$t"; if [ -n "$v" ]; then echo "temp$tab$1$tab${c##*/}$tab$v"; break; fi
    done
    for b in "$c"/nvme*n*; do
      [ -r "$b/stat" ] || continue
      n=${b##*/}
      stat "$1" "$n" "$b"
      case $n in *c*n*) h=${n%c*}n${n##*n}; [ -r "/sys/block/$h/stat" ] && stat "$1" "$h" "/sys/block/$h";; esac
    done
  done
}
stat() {
  val "$3/size"; size=$v
  read -r _ _ rd _ _ _ wr _ 2>/dev/null <"$3/stat" && echo "blk$tab$1$tab$2$tab$size$tab$rd$tab$wr"
}
show() {
  a=${1##*/}
  case $seen in *" $a "*) return;; esac
  seen="$seen$a "; count=$((count + 1))
  up=${1%/*}; up=${up##*/}
  case $up in *:*:*.*) ;; *) up=-;; esac
  line="dev$tab$a${tab}parent=$up"
  for f in class vendor device current_link_speed current_link_width max_link_speed max_link_width numa_node; do
    val "$1/$f"; [ -n "$v" ] && line="$line$tab$f=$v"
  done
  if [ -e "$1/physfn" ]; then line="$line${tab}virtual=1"; fi
  if [ -d "$1/driver" ]; then
    here=$PWD; cd -P "$1/driver" 2>/dev/null && line="$line${tab}driver=${PWD##*/}"; cd "$here" || :
  fi
  echo "$line"
  if [ "$want" = yes ]; then errs "$a" "$1"; fi
  if [ -r "$1/aer_rootport_total_err_cor" ]; then
    val "$1/aer_rootport_total_err_cor"; cor=$v; val "$1/aer_rootport_total_err_nonfatal"; non=$v; val "$1/aer_rootport_total_err_fatal"
    echo "rootaer$tab$a$tab$cor$tab$non$tab$v"
  fi
  ports "$a" "$1"; drives "$a" "$1"
  if [ "$up" != - ]; then show "${1%/*}"; fi
}
seen=' '; count=0
cd /
if [ -d /sys/bus/pci/devices ]; then echo "#rackproof-pci-sysfs 1"; else echo "this host shows no PCI bus under /sys" >&2; fi
for d in /sys/bus/pci/devices/*; do
  [ -d "$d" ] || continue
  val "$d/class"
  case $v in 0x0300*|0x0302*|0x0108*|0x0200*|0x0207*) ;; *) continue;; esac
  cd -P "$d" 2>/dev/null || continue
  p=$PWD; cd /
  show "$p"
done
for s in /sys/bus/pci/slots/*; do
  val "$s/address"; [ -n "$v" ] && echo "slot$tab$v$tab${s##*/}"
done
echo "#rackproof-pci-sysfs-end $count"
`
