package profiles

// ProfileSchema is the value of the schema key of every profile that this package reads.
const ProfileSchema = "rackproof/profile/1"

// Profile is what a healthy machine of one model looks like. Every limit is optional: where it is nil the check
// records and does not judge. The unit tag of a limit is the unit it is documented in and fixes its dimension;
// "text" are words as the tool prints them, "version" a dotted version number, "firmware" a version as a vendor writes it.
type Profile struct {
	Schema  string   `yaml:"schema" required:"true"`
	Name    string   `yaml:"name" required:"true"`
	Title   string   `yaml:"title,omitempty"`
	Extends []string `yaml:"extends,omitempty"`
	Lineage []string `yaml:"lineage,omitempty"` // of a resolved profile: what it was made of, first laid first; such a file extends nothing

	Match   Match   `yaml:"match,omitempty"`
	CPU     CPU     `yaml:"cpu,omitempty"`
	Memory  Memory  `yaml:"memory,omitempty"`
	GPU     GPU     `yaml:"gpu,omitempty"`
	NVLink  NVLink  `yaml:"nvlink,omitempty"`
	PCIe    PCIe    `yaml:"pcie,omitempty"`
	NVMe    NVMe    `yaml:"nvme,omitempty"`
	NIC     NIC     `yaml:"nic,omitempty"`
	PSU     PSU     `yaml:"psu,omitempty"`
	Air     Air     `yaml:"air,omitempty"`
	Outlier Outlier `yaml:"outlier,omitempty"`
	GDS     GDS     `yaml:"gds,omitempty"`
	IB      IB      `yaml:"ib,omitempty"`
	RAID    RAID    `yaml:"raid,omitempty"`
	Power   Power   `yaml:"power,omitempty"`
	Load    Load    `yaml:"load,omitempty"`

	Filesystem Filesystem `yaml:"filesystem,omitempty"`
	Containers Containers `yaml:"containers,omitempty"`
	Service    Service    `yaml:"service,omitempty"`

	Minutes  Minutes              `yaml:"minutes,omitempty"`
	BIOS     map[string]BIOSSet   `yaml:"bios,omitempty" keys:"burnin,delivery"` // "burnin" and "delivery"
	Firmware map[string]Firmware  `yaml:"firmware,omitempty"`                    // by component: BMC, BIOS, CPLD …
	Checks   map[string]CheckNote `yaml:"checks,omitempty" keys:"check"`         // by check name

	Advice      map[string][]Rung   `yaml:"advice,omitempty"` // ladder by class of part, see [Catalogue]
	XID         map[int]XIDEntry    `yaml:"xid,omitempty"`
	XIDDefault  XIDClass            `yaml:"xid_default,omitempty" enum:"damage,reset,wear,driver,application,info,unknown"`                                // class of an XID that the catalogue does not hold
	XIDVerdicts map[XIDClass]string `yaml:"xid_verdicts,omitempty" keys:"damage,reset,wear,driver,application,info,unknown" enum:"pass,warn,unknown,fail"` // verdict of a finding by class

	SXID         map[int]SXIDEntry          `yaml:"sxid,omitempty"`
	ClockReasons map[string]ClockReasonRule `yaml:"clock_reasons,omitempty"` // why a GPU may run slower, by nvidia-smi's name of the reason

	Kernel     map[string]KernelRule `yaml:"kernel,omitempty"`                                                                    // what messages of the kernel mean, by a name of ours
	Events     map[string]EventRule  `yaml:"events,omitempty"`                                                                    // what a BMC's event log says, see [Catalogue]
	EventsElse map[string]string     `yaml:"events_else,omitempty" keys:"critical,warning,ok,none" enum:"fail,warn,unknown,pass"` // verdict by severity of an entry that no rule fits

	bytes []byte // the resolved form, set by the loader
}

// Match names the machines for which a profile is proposed: globs (path.Match, letter case not counted) over the
// SMBIOS or Redfish product, board and chassis names, any of which fits, and over the PCI ids of its GPUs, all of
// which must: one chassis is sold with several boards of GPUs. Counts never match: a machine with a missing part
// must still find the profile that misses it, and one that shows no GPU at all is known by its name alone.
type Match struct {
	Product []string `yaml:"product,omitempty"`
	Board   []string `yaml:"board,omitempty"`
	Chassis []string `yaml:"chassis,omitempty"`
	GPU     []string `yaml:"gpu,omitempty"` // "10de:2330"
}

// CPU are the limits of the processors.
type CPU struct {
	Sockets *Limit `yaml:"sockets,omitempty" unit:"count"`
	Model   *Limit `yaml:"model,omitempty" unit:"text"` // globs over the model name of lscpu
}

// Memory are the limits of the main memory.
type Memory struct {
	Total             *Limit `yaml:"total,omitempty" unit:"GiB"`
	DIMMs             *Limit `yaml:"dimms,omitempty" unit:"count"` // populated
	DIMMSize          *Limit `yaml:"dimm_size,omitempty" unit:"GiB"`
	Speed             *Limit `yaml:"speed,omitempty" unit:"MT/s"`            // configured, not rated
	ErrorCorrection   *Limit `yaml:"error_correction,omitempty" unit:"text"` // SMBIOS type 16
	Corrected         *Limit `yaml:"corrected,omitempty" unit:"count"`       // change over the run
	Uncorrected       *Limit `yaml:"uncorrected,omitempty" unit:"count"`     // absolute
	StressErrors      *Limit `yaml:"stress_errors,omitempty" unit:"count"`   // differences that a memory load found
	ChannelsPerSocket *Limit `yaml:"channels_per_socket,omitempty" unit:"count"`

	BandwidthShare     *Limit `yaml:"bandwidth_share,omitempty" unit:"%"`          // STREAM's triad, of channels times transfers times 8 bytes
	RatedSpeeds        *Limit `yaml:"rated_speeds,omitempty" unit:"count"`         // how many different ones
	SpeedTwoPerChannel *Limit `yaml:"speed_two_per_channel,omitempty" unit:"MT/s"` // what the processor's maker states where two modules share a channel; explains a speed, judges none
}

// GPU are the limits of every GPU, and how many there are.
type GPU struct {
	Count   *Limit `yaml:"count,omitempty" unit:"count"`
	Product *Limit `yaml:"product,omitempty" unit:"text"`
	PCIID   *Limit `yaml:"pci_id,omitempty" unit:"text"`   // vendor:device in lower-case hex, "10de:2330"
	Form    string `yaml:"form,omitempty" enum:"sxm,pcie"` // "sxm" or "pcie": which advice ladder applies

	Memory    *Limit `yaml:"memory,omitempty" unit:"MiB"` // FB total of nvidia-smi
	BAR1      *Limit `yaml:"bar1,omitempty" unit:"MiB"`
	ECCMode   *Limit `yaml:"ecc_mode,omitempty" unit:"text"`   // current and pending
	MIG       *Limit `yaml:"mig,omitempty" unit:"text"`        // nil where the GPU has no MIG
	MIGLayout *Limit `yaml:"mig_layout,omitempty" unit:"text"` // instances of every GPU where MIG is wanted: "7x 1g.10gb"
	// MIGLeave asks for a trial: the layout is made on every GPU behind all that is measured, with MIG found off
	// (mig: Disabled), and removed again or left. Without it the layout is to be there already. Only with a
	// person's consent.
	MIGLeave  MIGLeave `yaml:"mig_leave,omitempty" enum:"removed,left"`
	License   *Limit   `yaml:"vgpu_license,omitempty" unit:"text"` // License Status of the vGPU product: "Licensed"
	DriverMin *Limit   `yaml:"driver_min,omitempty" unit:"version"`
	Power     *Limit   `yaml:"power,omitempty" unit:"W"` // the highest power limit the part may have: its TDP

	Margin            *Limit `yaml:"margin,omitempty" unit:"C"`             // to the nearest slowdown (T.Limit), under load
	MemoryTemperature *Limit `yaml:"memory_temperature,omitempty" unit:"C"` // under load, where the GPU states no limit of its own
	SMClock           *Limit `yaml:"sm_clock,omitempty" unit:"MHz"`         // the highest that the part may run at
	MemoryClock       *Limit `yaml:"memory_clock,omitempty" unit:"MHz"`     // the highest that the part may run at
	FreeClock         *Limit `yaml:"free_clock,omitempty" unit:"%"`         // of the highest SM clock, reached under load while the GPU names no reason to run slower

	UncorrectedVolatile   *Limit `yaml:"uncorrected_volatile,omitempty" unit:"count"`   // absolute
	UncorrectedAggregate  *Limit `yaml:"uncorrected_aggregate,omitempty" unit:"count"`  // absolute, lifetime
	CorrectedVolatile     *Limit `yaml:"corrected_volatile,omitempty" unit:"count"`     // change over the run
	SRAMThresholdExceeded *Limit `yaml:"sram_threshold_exceeded,omitempty" unit:"text"` // "No"
	RemapPending          *Limit `yaml:"remap_pending,omitempty" unit:"text"`           // "No"
	RemapFailure          *Limit `yaml:"remap_failure,omitempty" unit:"text"`           // "No"
	RemappedUncorrectable *Limit `yaml:"remapped_uncorrectable,omitempty" unit:"count"` // lifetime, of new parts
	RemappedCorrectable   *Limit `yaml:"remapped_correctable,omitempty" unit:"count"`   // lifetime, of new parts
	RetiredDBE            *Limit `yaml:"retired_double_bit,omitempty" unit:"count"`     // pages; N/A since Ampere

	Copy     GPUCopy    `yaml:"copy,omitempty"`
	Compute  GPUCompute `yaml:"compute,omitempty"`
	NCCL     NCCL       `yaml:"nccl,omitempty"`
	DCGM     DCGM       `yaml:"dcgm,omitempty"`
	Siblings *Limit     `yaml:"siblings,omitempty" unit:"%"` // how far below the median of its siblings a GPU may measure before that is remarked
}

// MIGLeave is how the trial of a MIG layout leaves the GPUs.
type MIGLeave string

// The ways: as they were found, or with the layout.
const (
	MIGRemoved MIGLeave = "removed"
	MIGLeft    MIGLeave = "left"
)

// GPUCopy are the rates of nvbandwidth's copy engine tests, in one direction, of every GPU and of every pair.
type GPUCopy struct {
	HostToDevice *Limit `yaml:"host_to_device,omitempty" unit:"GB/s"`
	DeviceToHost *Limit `yaml:"device_to_host,omitempty" unit:"GB/s"`
	Peer         *Limit `yaml:"peer,omitempty" unit:"GB/s"`  // one GPU reads another
	Local        *Limit `yaml:"local,omitempty" unit:"GB/s"` // within a GPU's memory; what is read and what is written both count
}

// GPUCompute are the limits of arithmetic under load, as gpu_burn shows it.
type GPUCompute struct {
	Rate    *Limit `yaml:"rate,omitempty" unit:"GFLOP/s"`  // of every GPU
	Errors  *Limit `yaml:"errors,omitempty" unit:"count"`  // results that were wrong
	Reports *Limit `yaml:"reports,omitempty" unit:"count"` // how often a GPU must have told progress
}

// NCCL is the all-reduce over all GPUs of a machine, at one size.
type NCCL struct {
	Size  *Limit `yaml:"size,omitempty" unit:"GiB"` // of the message that is measured
	Bus   *Limit `yaml:"bus,omitempty" unit:"GB/s"` // bus bandwidth at that size
	Wrong *Limit `yaml:"wrong,omitempty" unit:"count"`
}

// DCGM is how NVIDIA's own diagnostic is run, and which of its tests must have run.
type DCGM struct {
	Level *Limit `yaml:"level,omitempty" unit:"count"` // of dcgmi diag -r
	Tests *Limit `yaml:"tests,omitempty" unit:"text"`  // by the names of DCGM 4: software, memory, pcie …
}

// NVLink are the limits of the GPU fabric. All are nil where the machine has none. Rate is the raw signalling
// rate that nvidia-smi prints per link and direction; Headline is the data-sheet figure with the arithmetic that
// joins the two, for print only.
type NVLink struct {
	Links    *Limit `yaml:"links,omitempty" unit:"count"` // active, per GPU
	Rate     *Limit `yaml:"rate,omitempty" unit:"GB/s"`
	Headline string `yaml:"headline,omitempty"`

	ReplayErrors   *Limit `yaml:"replay_errors,omitempty" unit:"count"`   // change over the run, per link
	RecoveryErrors *Limit `yaml:"recovery_errors,omitempty" unit:"count"` // change over the run, per link
	CRCErrors      *Limit `yaml:"crc_errors,omitempty" unit:"count"`      // change over the run, per link

	Topology *Limit `yaml:"topology,omitempty" unit:"text"` // cell of every pair in topo -m, "NV18"
	Fabric   Fabric `yaml:"fabric,omitempty"`
}

// Fabric is what nvidia-smi -q must print of the NVSwitch fabric.
type Fabric struct {
	State  *Limit `yaml:"state,omitempty" unit:"text"`  // "Completed"
	Status *Limit `yaml:"status,omitempty" unit:"text"` // "Success"
}

// PCIe are the limits of links by class of device, and of the error counters of all of them.
type PCIe struct {
	GPU  PCIeClass `yaml:"gpu,omitempty"`
	NVMe PCIeClass `yaml:"nvme,omitempty"`
	NIC  PCIeClass `yaml:"nic,omitempty"`

	CorrectedErrors *Limit `yaml:"corrected_errors,omitempty" unit:"count"` // AER, change over the run
	NonFatalErrors  *Limit `yaml:"non_fatal_errors,omitempty" unit:"count"` // AER, absolute
	FatalErrors     *Limit `yaml:"fatal_errors,omitempty" unit:"count"`     // AER, absolute
	Replays         *Limit `yaml:"replays,omitempty" unit:"count"`          // GPU replay counter, change over the run

	ACS   *Limit `yaml:"acs,omitempty" unit:"text"`   // of the bridges above GPUs and adapters: "off", or "redirect" where one sends peer traffic to the root
	IOMMU *Limit `yaml:"iommu,omitempty" unit:"text"` // "off", "pass-through" or "on"
}

// PCIeClass are the limits of one class of device: of its own link, and of every link between it and the root
// port. Width always holds; speed only in samples that show the part busy, as BusyUtilisation or BusyBytes say.
type PCIeClass struct {
	Width           *Limit `yaml:"width,omitempty" unit:"lanes"`
	Speed           *Limit `yaml:"speed,omitempty" unit:"GT/s"`
	UplinkWidth     *Limit `yaml:"uplink_width,omitempty" unit:"lanes"`
	UplinkSpeed     *Limit `yaml:"uplink_speed,omitempty" unit:"GT/s"`
	BusyUtilisation *Limit `yaml:"busy_utilisation,omitempty" unit:"%"`
	BusyBytes       *Limit `yaml:"busy_bytes,omitempty" unit:"MB/s"` // moved over the link around the sample
}

// NVMe are the limits of every NVMe drive, and how many there are.
type NVMe struct {
	Count           *Limit `yaml:"count,omitempty" unit:"count"`
	CapacityMin     *Limit `yaml:"capacity_min,omitempty" unit:"TB"`
	Spare           *Limit `yaml:"spare,omitempty" unit:"%"`                 // margin of available spare over its threshold
	CriticalWarning *Limit `yaml:"critical_warning,omitempty" unit:"count"`  // the bit field; 0 is healthy
	MediaErrors     *Limit `yaml:"media_errors,omitempty" unit:"count"`      // absolute
	Temperature     *Limit `yaml:"temperature,omitempty" unit:"C"`           // composite
	HotMinutes      *Limit `yaml:"hot_minutes,omitempty" unit:"count"`       // change over the run, minutes above its own warning temperature
	ErrorLogEntries *Limit `yaml:"error_log_entries,omitempty" unit:"count"` // change over the run
	PercentUsed     *Limit `yaml:"percent_used,omitempty" unit:"%"`          // of new parts
	ReadRate        *Limit `yaml:"read_rate,omitempty" unit:"MB/s"`          // under load, random reads of 128 KiB
	ReadIOPS        *Limit `yaml:"read_iops,omitempty" unit:"IOPS"`          // of the same reads
	WriteRate       *Limit `yaml:"write_rate,omitempty" unit:"MB/s"`         // one pass of writes of 128 KiB, only where the spec has disks written
	PowerOnHours    *Limit `yaml:"power_on_hours,omitempty" unit:"h"`        // of new parts
	DataWritten     *Limit `yaml:"data_written,omitempty" unit:"TB"`         // of new parts
}

// NIC are the limits of the network adapters that Models names, or of all.
type NIC struct {
	Count   *Limit `yaml:"count,omitempty" unit:"count"`     // adapters, not ports
	Models  *Limit `yaml:"models,omitempty" unit:"text"`     // "15b3:1021" or a name; other adapters do not count
	LinksUp *Limit `yaml:"links_up,omitempty" unit:"count"`  // ports with a link
	Speed   *Limit `yaml:"port_speed,omitempty" unit:"Gb/s"` // of each port that has a link
	Flaps   *Limit `yaml:"flaps,omitempty" unit:"count"`     // links lost over the run, per port
	Errors  *Limit `yaml:"errors,omitempty" unit:"count"`    // frames that came broken over the run, per port
}

// PSU are the limits of the power supplies.
type PSU struct {
	Count *Limit `yaml:"count,omitempty" unit:"count"`
}

// Air are the limits of what the BMC measures beside its own limits of each sensor.
type Air struct {
	Inlet *Limit `yaml:"inlet,omitempty" unit:"C"` // of the air that the machine takes in
	Fan   *Limit `yaml:"fan,omitempty" unit:"rpm"` // of every fan that is there; where fans are told in percent, its number
}

// Outlier says when a part stands out among its siblings, and a machine in its batch: by more than Spreads times the
// spread (1.4826 times the median deviation) from the median, and by no less than what the other limits say.
type Outlier struct {
	Parts   *Limit `yaml:"parts,omitempty" unit:"count"`   // how many siblings are compared, at least
	Spreads *Limit `yaml:"spreads,omitempty" unit:"count"` // how many spreads from the median one may be

	Temperature *Limit `yaml:"temperature,omitempty" unit:"C"` // least difference that is told
	Power       *Limit `yaml:"power,omitempty" unit:"%"`       // of the median
	Clock       *Limit `yaml:"clock,omitempty" unit:"%"`       // of the median
	Rate        *Limit `yaml:"rate,omitempty" unit:"%"`        // of the median, what a part copies, computes or reads
	Errors      *Limit `yaml:"errors,omitempty" unit:"count"`  // corrected errors of a module
}

// GDS are the limits of GPUDirect Storage as gdscheck -p prints them, and of what gdsio reads.
type GDS struct {
	Mode          *Limit `yaml:"mode,omitempty" unit:"text"`           // "nvfs" or "p2pdma": a direct path by driver or by kernel
	Filesystems   *Limit `yaml:"filesystems,omitempty" unit:"text"`    // rows of gdscheck that must read Supported
	CompatAllowed *Limit `yaml:"compat_allowed,omitempty" unit:"text"` // properties.allow_compat_mode or use_compat_mode
	IOMMU         *Limit `yaml:"iommu,omitempty" unit:"text"`          // "disabled"

	File string `yaml:"file,omitempty"`              // that gdsio reads, on the filesystem to be proven; nothing is read without one
	Read *Limit `yaml:"read,omitempty" unit:"GiB/s"` // by one GPU, past main memory
}

// IB are the limits of InfiniBand. A server may have slower ports of the same adapters for storage: Ports says how
// many must be active at Rate, and what is beyond them may be slow or down.
type IB struct {
	Ports        *Limit `yaml:"ports,omitempty" unit:"count"`         // active, at Rate
	Rate         *Limit `yaml:"rate,omitempty" unit:"Gb/s"`           // of each of them
	LinkDowned   *Limit `yaml:"link_downed,omitempty" unit:"count"`   // change over the run, per port
	SymbolErrors *Limit `yaml:"symbol_errors,omitempty" unit:"count"` // change over the run, per port
	Bandwidth    *Limit `yaml:"bandwidth,omitempty" unit:"Gb/s"`      // that a pair of ports moves one way
	Loopback     bool   `yaml:"loopback,omitempty"`                   // without a partner, neighbouring ports of one machine are paired
}

// RAID are the limits of disk arrays, of the kernel and of controllers. An array that is degraded fails without any.
type RAID struct {
	Arrays *Limit `yaml:"arrays,omitempty" unit:"count"`
}

// Filesystem is what of parallel filesystems must be mounted.
type Filesystem struct {
	Mounts *Limit `yaml:"mounts,omitempty" unit:"text"` // every one of these paths
	Types  *Limit `yaml:"types,omitempty" unit:"text"`  // "lustre", "gpfs" …: any of these, as /proc/mounts names them
}

// Containers is by what containers must see every GPU.
type Containers struct {
	Seen *Limit `yaml:"seen_by,omitempty" unit:"text"` // every one of "cdi", "container-cli", "kubernetes"
}

// Service is an inference service that the machine must answer as. Nothing is asked without URL.
type Service struct {
	URL   string `yaml:"url,omitempty"`               // asked on the node: http://127.0.0.1:8000/v1/models, or …/v2/health/ready
	Model *Limit `yaml:"model,omitempty" unit:"text"` // that it must list, any of these
}

// Power is what a rack's budget is planned with.
type Power struct {
	LoadedWatts *Limit `yaml:"loaded_watts,omitempty" unit:"W"` // drawn by the whole machine under load
}

// Load is how the machine is loaded and watched.
type Load struct {
	MemoryShare *Limit `yaml:"memory_share,omitempty" unit:"%"` // of the memory that is free, what a load may take; nil takes none
	Ramp        *Limit `yaml:"ramp,omitempty" unit:"s"`         // between the starts of two loads; nil starts all at once
	Silence     *Limit `yaml:"silence,omitempty" unit:"s"`      // longest time without a readable sample

	// Order names the programs to prefer where several keep the same parts busy. Those it does not name come
	// behind, in rackproof's own order; of each class of part the first that is on the node is run.
	Order []string `yaml:"order,omitempty" enum:"stress-ng,cpu-loop,memory-stress,stress-ng-memory,fio,nvme-read,gpu-burn,gpu-fryer,dcgm-load,nvbandwidth-load"`
}

// Minutes are expectations that plans print and progress is told by. They judge nothing. Zero is not known.
type Minutes struct {
	POST   int `yaml:"post,omitempty"`    // from power on to the boot loader
	BurnIn int `yaml:"burn_in,omitempty"` // all checks without the soak
}

// BIOSSet is one named set of BIOS wishes: intents, which a table per vendor turns into attributes, and raw
// attributes (strings, numbers and booleans) for what has no intent.
type BIOSSet struct {
	Required   bool              `yaml:"required,omitempty"` // a wish that the board does not know is a failure
	Intents    map[string]string `yaml:"intents,omitempty"`
	Attributes map[string]any    `yaml:"attributes,omitempty"`
}

// CheckNote says where a check does not fit this model. The reason is printed.
type CheckNote struct {
	NotApplicable string `yaml:"not_applicable" required:"true"`
}
